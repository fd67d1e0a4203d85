// Runs the cases of a file and says of each whether it is equal to its recording, differs on purpose, or failed.
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { AgentCase } from "./agentScenario.ts"
import { checkDifferingAgent } from "./agentDifferences.ts"
import { type Difference, firstAgentDifference, firstDifference } from "./compare.ts"
import { checkDiffering } from "./differences.ts"
import { play } from "./play.ts"
import { playAgent } from "./playAgent.ts"
import { LoopCase } from "./scenario.ts"

export interface Verdict {
  readonly _tag: "Equal" | "Differs" | "Failed"
  readonly id: string
  readonly title: string
  /** What is wrong in a case that failed. */
  readonly what: string
}

/** A file whose content is no list of cases. */
export class BadCases extends Schema.TaggedError<BadCases>()("BadCases", { message: Schema.String }) {}

const decodeJson = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Json))
const decodeLoopCase = Schema.decodeUnknownEffect(LoopCase)
const decodeAgentCase = Schema.decodeUnknownEffect(AgentCase)

const decodeCase = (line: string) =>
  Effect.flatMap(decodeJson(line), (json): Effect.Effect<LoopCase | AgentCase, Schema.SchemaError> =>
    Predicate.hasProperty(json, "scenario") && Predicate.hasProperty(json.scenario, "commands")
      ? decodeAgentCase(json)
      : decodeLoopCase(json)
  )

/** Reads the cases of a file, one a line. */
export const parse = (file: string, text: string) =>
  Effect.forEach(
    text.split("\n").flatMap((line, index) => (line.trim() === "" ? [] : [{ line, number: index + 1 }])),
    ({ line, number }) =>
      Effect.mapError(
        decodeCase(line),
        (error) => new BadCases({ message: `${file}, line ${number}: ${error.message.replaceAll(/\n */g, " ")}` })
      )
  )

export const runCase = Effect.fnUntraced(function* (of: LoopCase | AgentCase) {
  const { id, title, differs } = of
  const what = yield* isAgentCase(of) ? judgeAgent(of) : judgeLoop(of)
  const verdict = (_tag: Verdict["_tag"]): Verdict => ({ _tag, id, title, what: what ?? "" })
  return verdict(what !== undefined ? "Failed" : differs === undefined ? "Equal" : "Differs")
})

const isAgentCase = (of: LoopCase | AgentCase): of is AgentCase => "commands" in of.scenario

const NO_END = "the run does not end"

/** What is wrong in a case, if something is. */
const judgeLoop = Effect.fnUntraced(function* (of: LoopCase) {
  const { recording, violation } = yield* play(of.scenario)
  if (recording === undefined) return NO_END
  if (violation !== undefined) return violation.message
  return of.differs === undefined ? describe(firstDifference(of.expected, recording)) : checkDiffering(of, recording)
})

const judgeAgent = Effect.fnUntraced(function* (of: AgentCase) {
  const { recording, violation } = yield* playAgent(of.scenario)
  if (recording === undefined) return NO_END
  if (violation !== undefined) return violation.message
  return of.differs === undefined
    ? describe(firstAgentDifference(of.expected, recording))
    : yield* checkDifferingAgent(of, recording)
})

const describe = (difference: Difference | undefined): string | undefined =>
  difference && `${difference.path}: wanted ${difference.wanted}, got ${difference.got}`

/** The last line of a report. */
export const summarise = (verdicts: ReadonlyArray<Verdict>): string => {
  const count = (tag: Verdict["_tag"]) => verdicts.filter(({ _tag }) => _tag === tag).length
  return `${count("Equal")} of ${verdicts.length} equal, ${count("Differs")} differ on purpose, ${count("Failed")} failed`
}
