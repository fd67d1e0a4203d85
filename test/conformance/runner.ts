// Runs the cases of a file and says of each whether it is equal to its recording, differs on purpose, or failed.
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { firstDifference } from "./compare.ts"
import { checkDiffering } from "./differences.ts"
import { play } from "./play.ts"
import { AgentCase, LoopCase } from "./scenario.ts"

export interface Verdict {
  readonly _tag: "Equal" | "Differs" | "Failed" | "Skipped"
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
  const verdict = (_tag: Verdict["_tag"], what = ""): Verdict => ({ _tag, id: of.id, title: of.title, what })
  if (!("expected" in of)) return verdict("Skipped")
  const { recording, violation } = yield* play(of.scenario)
  if (recording === undefined) return verdict("Failed", "the run does not end")
  if (violation !== undefined) return verdict("Failed", violation.message)
  if (of.differs !== undefined) {
    const wrong = checkDiffering(of, recording)
    return wrong === undefined ? verdict("Differs") : verdict("Failed", wrong)
  }
  const difference = firstDifference(of.expected, recording)
  if (difference === undefined) return verdict("Equal")
  return verdict("Failed", `${difference.path}: wanted ${difference.wanted}, got ${difference.got}`)
})

/** The last line of a report. */
export const summarise = (verdicts: ReadonlyArray<Verdict>): string => {
  const count = (tag: Verdict["_tag"]) => verdicts.filter(({ _tag }) => _tag === tag).length
  const run = verdicts.length - count("Skipped")
  return `${count("Equal")} of ${run} equal, ${count("Differs")} differ on purpose, ${count("Failed")} failed`
}
