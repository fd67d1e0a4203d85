// What must hold in an agent case that differs from its recording on purpose (FORMAT.md, section 8). That its runs end and
// obey the grammar is asked of every case, so each check here asks only for what its item of section 9 promises.
import * as Effect from "effect/Effect"
import type { AgentCase, AgentRecording } from "./agentScenario.ts"
import { type Difference, firstAgentDifference } from "./compare.ts"
import { nullsAreNoValues } from "./differences.ts"
import { playAgent } from "./playAgent.ts"
import { isMembers, type Members, type Run, runsOf } from "./runs.ts"

/** What is wrong, if something is. */
type Check = (of: AgentCase, got: AgentRecording) => Effect.Effect<string | undefined>

const describe = (what: string, difference: Difference | undefined): string | undefined =>
  difference && `${what}: ${difference.path} is ${difference.got}, not ${difference.wanted}`

type Part = Parameters<typeof firstAgentDifference>[0]

const compare = (what: string, wanted: Part, got: Part): string | undefined =>
  describe(what, firstAgentDifference(withoutTails(wanted), withoutTails(got)))

/**
 * Leaves of a message that ends a failed or aborted run only that it does: how it looks is for the items to say, and it
 * comes again in the requests of later runs.
 */
const withoutTails = <A>(value: A): A =>
  JSON.parse(JSON.stringify(value), (_, inner: unknown) => (isTail(inner) ? { role: "assistant" } : inner)) as A

const isTail = (value: unknown): value is Members =>
  isMembers(value) && (value["stopReason"] === "error" || value["stopReason"] === "aborted")

/** Holds each run against the recorded one, and what is left in the end. */
const compareRuns = (
  { expected }: AgentCase,
  got: AgentRecording,
  check: (wanted: Run, got: Run) => string | undefined
): string | undefined => {
  const wanted = runsOf(expected)
  const runs = runsOf(got)
  if (runs.length !== wanted.length) return `there are ${runs.length} runs, not ${wanted.length}`
  for (const [index, run] of runs.entries()) {
    const wrong = check(wanted[index]!, run)
    if (wrong !== undefined) return `run ${index}: ${wrong}`
  }
  return compare("in the end", { final: expected.final }, { final: got.final })
}

// ---------------------------------------------------------------------------------------------------------------------
// 9.2 No request after an abort
// ---------------------------------------------------------------------------------------------------------------------

/** Where a request was recorded after the abort, it is the last one of its run. */
const noRequestAfterAbort: Check = (of, got) =>
  Effect.sync(() =>
    compareRuns(of, got, (wanted, { requests }) => {
      const isAborted = wanted.last?.["stopReason"] === "aborted"
      if (isAborted && requests.length >= wanted.requests.length) return "a request was made after the abort"
      return compare(
        "the requests",
        { requests: wanted.requests.slice(0, isAborted ? requests.length : undefined) },
        { requests }
      )
    })
  )

// ---------------------------------------------------------------------------------------------------------------------
// 9.3 A failure keeps the grammar and what was streamed
// ---------------------------------------------------------------------------------------------------------------------

/** In the recordings the `agent_end` of a failed run has the failure alone, whatever the run had told before. */
const failureIsTold: Check = (of, got) =>
  Effect.sync(() =>
    compareRuns(of, got, (wanted, run) =>
      wanted.newMessages.length === 1 && isTail(wanted.last)
        ? checkFailure(wanted, run)
        : compare("the events", { events: wanted.events }, { events: run.events })
    )
  )

const checkFailure = (wanted: Run, got: Run): string | undefined => {
  const begin = wanted.events.findLastIndex((event) => event["type"] === "message_start")
  const events = wanted.events.slice(0, begin)
  const early = compare("before the failure", { events }, { events: got.events.slice(0, begin) })
  if (early !== undefined) return early
  const { last = {} } = got
  const { stopReason, errorMessage } = wanted.last!
  if (last["stopReason"] !== stopReason) return "the last message tells of no failure"
  if (stopReason === "error" && last["errorMessage"] !== errorMessage) {
    return `the error is told as ${JSON.stringify(last["errorMessage"])}`
  }
  const open = events.at(-1)
  const streamed = open?.["type"] === "message_update" ? (open["message"] as Members)["content"] : []
  if (JSON.stringify(last["content"]) !== JSON.stringify(streamed)) return "what was streamed is lost"
  const told = got.events.flatMap((event) => (event["type"] === "message_end" ? [event["message"]] : []))
  return JSON.stringify(got.newMessages) === JSON.stringify(told) ? undefined : "agent_end has not all messages"
}

// ---------------------------------------------------------------------------------------------------------------------
// 9.11 Listeners that die
// ---------------------------------------------------------------------------------------------------------------------

/** The run is as it would be without the listener, which was called all the same. */
const dyingListenerChangesNothing: Check = Effect.fnUntraced(function* ({ scenario }, got) {
  const isDying = (command: AgentCase["scenario"]["commands"][number]) =>
    command.do === "subscribe" && command.throwOn !== undefined
  const commands = scenario.commands.filter((command) => !isDying(command))
  const { recording } = yield* playAgent({ ...scenario, commands })
  if (recording === undefined) return "without the listener the run does not end"
  if (got.listeners === undefined || got.listeners.length === 0) return "the listener was not called"
  const renumbered = got.outcomes.map((outcome) => {
    const before = scenario.commands.slice(0, outcome["command"] as number | undefined)
    return { ...outcome, command: before.filter((command) => !isDying(command)).length }
  })
  const { listeners: _, ...rest } = got
  return compare("with the listener", recording, { ...rest, outcomes: renumbered })
})

// ---------------------------------------------------------------------------------------------------------------------
// All of them
// ---------------------------------------------------------------------------------------------------------------------

const checks: Record<string, Check> = {
  "9.2": noRequestAfterAbort,
  "9.3": failureIsTold,
  "9.7": (of, got) => Effect.sync(() => nullsAreNoValues(of, got)),
  "9.11": dyingListenerChangesNothing
}

/** What is wrong in a case that differs on purpose. */
export const checkDifferingAgent = Effect.fnUntraced(function* (of: AgentCase, got: AgentRecording) {
  const aligned = of.differs?.includes("9.2") === true ? yield* playAligned(of, got) : got
  if (aligned === undefined) return "without the turns that nobody asks for the run does not end"
  for (const item of of.differs ?? []) {
    const check = checks[item]
    if (check === undefined) return `there is no check for what item ${item} promises`
    const wrong = yield* check(of, aligned)
    if (wrong !== undefined) return `item ${item}: ${wrong}`
  }
  return undefined
})

/**
 * A request that was recorded after an abort has used up a turn of the script, which here would answer the next request:
 * plays the case without these turns, so that other runs can be as recorded.
 */
const playAligned = Effect.fnUntraced(function* (of: AgentCase, got: AgentRecording) {
  const runs = runsOf(got)
  const unasked = new Set(
    runsOf(of.expected).flatMap(({ requests }, index) => requests.slice(runs[index]?.requests.length))
  )
  const { scenario, expected } = of
  const turns = scenario.provider.turns.filter((_, index) => !unasked.has(expected.requests[index]!))
  const { recording } = yield* playAgent({ ...scenario, provider: { turns } })
  return recording
})
