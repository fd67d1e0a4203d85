/**
 * The trace checker on a run: each step looks at one event, in the state that the events before it have left. Its cost does
 * not grow with the length of the run.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { AgentEvent, AssistantMessageEvent } from "../../AgentEvent.ts"
import { AssistantMessage, type Message, type Usage } from "../../Message.ts"
import * as Batch from "./batch.ts"
import { endMessage, retry, startMessage, updateMessage } from "./messages.ts"
import * as Response from "./response.ts"
import { broken, type Checked, demand, demandEqual } from "./rules.ts"
import { inTurn, type Of, type Phase, type State, to, type Told, type Turn } from "./state.ts"

export const step = (state: State, event: AgentEvent): Checked<State> =>
  Result.gen(function* () {
    yield* demandShape(state, event)
    yield* demandPlace(state.phase, event)
    return { ...(yield* next(state, event)), index: state.index + 1 }
  })

export const end = (state: State): Checked<void> =>
  demand(state.phase._tag === "After", "run-unfinished", "the events end here without agent_end")

// ---------------------------------------------------------------------------------------------------------------------
// Every event
// ---------------------------------------------------------------------------------------------------------------------

const demandPlace = ({ _tag }: Phase, event: AgentEvent): Checked<void> => {
  if (_tag === "After") return broken("run-end", `${event.type} comes after agent_end`)
  const isFirst = event.type === "agent_start"
  if ((_tag === "Before") !== isFirst) {
    return broken("run-start", isFirst ? "agent_start comes again" : `${event.type} comes before agent_start`)
  }
  const isOutside = isFirst || event.type === "turn_start" || event.type === "agent_end"
  return demand(_tag !== "BetweenTurns" || isOutside, "turn-start", `${event.type} comes outside of a turn`)
}

const decode = Schema.decodeUnknownResult(AgentEvent)

/** An update without the content of its message, which may be long. */
const decodeUpdate = Schema.decodeUnknownResult(
  Schema.Struct({
    type: Schema.tag("message_update"),
    message: Schema.Struct({ ...AssistantMessage.fields, content: Schema.Array(Schema.Unknown) }),
    assistantMessageEvent: AssistantMessageEvent
  })
)

const demandShape = ({ phase }: State, event: AgentEvent): Checked<void> => {
  if (event.type !== "message_update") return demandDecoded(decode(event))
  return Result.flatMap(demandDecoded(decodeUpdate(event)), () =>
    phase._tag !== "Response" || Response.isWhole(phase.response, event.assistantMessageEvent)
      ? demandDecoded(decode(event))
      : Result.succeed(undefined)
  )
}

const demandDecoded = (decoded: Result.Result<unknown, Schema.SchemaError>): Checked<void> =>
  Result.match(decoded, {
    onSuccess: () => Result.succeed(undefined),
    onFailure: ({ message }) => broken("shape", message.replaceAll(/\n */g, " "))
  })

const next = (state: State, event: AgentEvent): Checked<State> => {
  switch (event.type) {
    case "agent_start":
      return to(state, { _tag: "BetweenTurns" })
    case "turn_start":
      return startTurn(state)
    case "message_start":
      return startMessage(state, event.message)
    case "message_update":
      return updateMessage(state, event)
    case "message_end":
      return endMessage(state, event.message)
    case "tool_execution_start":
      return inBatch(state, event.type, (batch) => Batch.start(batch, event))
    case "tool_execution_update":
      return inBatch(state, event.type, (batch) => Batch.update(batch, event))
    case "tool_execution_end":
      return inBatch(state, event.type, (batch) => Batch.end(batch, event))
    case "retry":
      return retry(state, event)
    case "turn_end":
      return endTurn(state, event)
    case "agent_end":
      return endRun(state, event)
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Batches
// ---------------------------------------------------------------------------------------------------------------------

const inBatch = (state: State, type: string, check: (batch: Batch.Batch) => Checked<Batch.Batch>): Checked<State> => {
  const { phase } = state
  if (phase._tag !== "Batch" || phase.turn.batch.calls.length === 0) {
    return broken("batch-place", `${type} comes where no batch of tool calls is`)
  }
  if (phase.turn.batch.open !== undefined) return broken("message-pair", `${type} comes within a message`)
  return Result.map(check(phase.turn.batch), (batch) => inTurn(state, { ...phase.turn, batch }))
}

// ---------------------------------------------------------------------------------------------------------------------
// Turns
// ---------------------------------------------------------------------------------------------------------------------

const hasFailed = ({ response }: Turn): boolean => response.stopReason === "error" || response.stopReason === "aborted"

const wantsToGoOn = ({ batch }: Turn): boolean => batch.calls.length > 0 && !Batch.isTerminated(batch)

const startTurn = (state: State): Checked<State> => {
  const { phase, last } = state
  if (phase._tag !== "BetweenTurns") return broken("turn-order", "a turn starts before the one before it has ended")
  if (last !== undefined && hasFailed(last)) {
    return broken(
      "turn-after-failure",
      `a turn comes after a response with the stop reason ${last.response.stopReason}`
    )
  }
  return to(state, { _tag: "Messages", hasCause: last === undefined || wantsToGoOn(last) })
}

const endTurn = (state: State, event: Of<"turn_end">): Checked<State> =>
  Result.gen(function* () {
    const { phase } = state
    if (phase._tag !== "Batch" || phase.turn.batch.open !== undefined) {
      return yield* broken("turn-order", "the turn ends before its response, or within a message")
    }
    const { turn } = phase
    yield* Batch.demandFinished(turn.batch, "turn_end")
    yield* demandEqual(turn.response, event.message, "turn-end", "its message")
    yield* demandEqual(Batch.results(turn.batch), event.toolResults, "turn-end", "the list of its results")
    return { ...state, last: turn, phase: { _tag: "BetweenTurns" } }
  })

// ---------------------------------------------------------------------------------------------------------------------
// Runs
// ---------------------------------------------------------------------------------------------------------------------

const endRun = (state: State, event: Of<"agent_end">): Checked<State> =>
  Result.gen(function* () {
    const { phase, last } = state
    if (phase._tag !== "BetweenTurns" || last === undefined) {
      return yield* broken("turn-order", "the run ends before its turn has ended, or without a turn")
    }
    yield* demandEqual(messagesOf(state.told), event.messages, "end-messages", "the list of messages")
    yield* demandUsage(state.usage, event.usage)
    yield* demandReason(last, event.reason)
    return { ...state, phase: { _tag: "After" } }
  })

const messagesOf = (told: Told): ReadonlyArray<Message> => {
  const messages: Array<Message> = []
  for (let at = told; at !== undefined; at = at.before) messages.push(at.message)
  return messages.toReversed()
}

/** Sums of fractions depend on their order: costs are equal if they differ by less than a millionth of a dollar. */
const demandUsage = ({ cost: wanted, ...counts }: Usage, { cost: given, ...givenCounts }: Usage): Checked<void> => {
  const isCost =
    Math.abs((wanted?.total ?? 0) - (given?.total ?? 0)) < 1e-6 && (wanted === undefined) === (given === undefined)
  return isCost
    ? demandEqual(counts, givenCounts, "end-usage", "the usage")
    : broken("end-usage", "the cost is not the sum")
}

const demandReason = (last: Turn, reason: Of<"agent_end">["reason"]): Checked<void> => {
  const possible = possibleReasons(last)
  return demand(possible.includes(reason), "end-reason", `it is ${reason}, and can only be ${possible.join(" or ")}`)
}

const possibleReasons = (last: Turn): ReadonlyArray<Of<"agent_end">["reason"]> => {
  if (last.response.stopReason === "error") return ["error"]
  if (last.response.stopReason === "aborted") return ["aborted"]
  if (wantsToGoOn(last)) return ["stopped", "limit", "aborted"]
  return [last.batch.calls.length === 0 ? "completed" : "terminated", "stopped", "aborted"]
}
