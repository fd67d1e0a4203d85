/**
 * The state of the trace checker between two events: where the run is in the grammar, and what its end will be held
 * against. A step looks at one event; its cost does not grow with the length of the run.
 */
import * as HashSet from "effect/HashSet"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { AgentEvent, AssistantMessageEvent } from "../../AgentEvent.ts"
import { addUsage, AssistantMessage, emptyUsage, type Message, type Usage } from "../../Message.ts"
import * as Batch from "./batch.ts"
import * as Response from "./response.ts"
import { broken, type Checked, demand, demandEqual } from "./rules.ts"

type Of<Type extends AgentEvent["type"]> = Extract<AgentEvent, { type: Type }>

/** A turn that is over. */
interface Turn {
  readonly response: AssistantMessage
  readonly batch: Batch.Batch
}

type Phase =
  | { readonly _tag: "Before" }
  | { readonly _tag: "BetweenTurns" }
  /** Before the response of a turn; `hasCause` says whether it is known why the turn came. */
  | { readonly _tag: "Messages"; readonly hasCause: boolean }
  | { readonly _tag: "Message"; readonly message: Message }
  | {
      readonly _tag: "Response"
      readonly response: Response.Response
      readonly hasCause: boolean
      readonly attempt: number
    }
  | { readonly _tag: "Retrying"; readonly attempt: number }
  | { readonly _tag: "Batch"; readonly turn: Turn }
  | { readonly _tag: "After" }

type In<Tag extends Phase["_tag"]> = Extract<Phase, { _tag: Tag }>

/** What the messages of a run are kept in: a list to which each step adds at a cost that does not grow. */
type Told = { readonly message: Message; readonly before: Told } | undefined

export interface State {
  readonly index: number
  readonly phase: Phase
  readonly told: Told
  readonly callIds: HashSet.HashSet<string>
  readonly usage: Usage
  /** The last turn that is over. */
  readonly last: Turn | undefined
}

export const initial = (history: ReadonlyArray<Message>): State => ({
  index: 0,
  phase: { _tag: "Before" },
  told: undefined,
  callIds: HashSet.fromIterable(history.flatMap((message) => (message.role === "assistant" ? callIdsOf(message) : []))),
  usage: emptyUsage,
  last: undefined
})

const callIdsOf = (message: AssistantMessage): ReadonlyArray<string> =>
  message.content.flatMap((block) => (block.type === "toolCall" ? [block.id] : []))

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

const to = (state: State, phase: Phase): Checked<State> => Result.succeed({ ...state, phase })

// ---------------------------------------------------------------------------------------------------------------------
// Messages
// ---------------------------------------------------------------------------------------------------------------------

const startMessage = (state: State, message: Message): Checked<State> => {
  const { phase } = state
  switch (phase._tag) {
    case "Messages":
      if (message.role === "assistant") return openResponse(state, message, phase.hasCause, 0)
      if (message.role === "toolResult") return broken("result-order", "a result comes before the response of its turn")
      return to(state, { _tag: "Message", message })
    case "Retrying":
      return message.role === "assistant"
        ? openResponse(state, message, true, phase.attempt)
        : broken("retry-place", `a message of the role ${message.role} comes between a retry and its response`)
    case "Batch":
      return startResult(state, phase, message)
    default:
      return broken("message-pair", "a message starts before the one before it has ended")
  }
}

const openResponse = (state: State, message: AssistantMessage, hasCause: boolean, attempt: number): Checked<State> =>
  to(state, { _tag: "Response", response: Response.open(message), hasCause, attempt })

const startResult = (state: State, { turn }: In<"Batch">, message: Message): Checked<State> =>
  Result.gen(function* () {
    if (turn.batch.open !== undefined) {
      return yield* broken("message-pair", "a message starts before the one before it has ended")
    }
    if (message.role === "toolResult") {
      return inTurn(state, { ...turn, batch: yield* Batch.startResult(turn.batch, message) })
    }
    yield* Batch.demandFinished(turn.batch, `a message of the role ${message.role}`)
    return yield* broken("turn-order", `a message of the role ${message.role} comes after the response of the turn`)
  })

const inTurn = (state: State, turn: Turn): State => ({ ...state, phase: { _tag: "Batch", turn } })

const updateMessage = (state: State, event: Of<"message_update">): Checked<State> => {
  const { phase } = state
  if (phase._tag !== "Response") return broken("update-outside", "no response is in progress")
  return Result.map(Response.update(phase.response, event), (response) => ({ ...state, phase: { ...phase, response } }))
}

const endMessage = (state: State, message: Message): Checked<State> => {
  const { phase } = state
  if (phase._tag === "Message") return endPair(state, phase.message, message, { _tag: "Messages", hasCause: true })
  if (phase._tag === "Response" && message.role === "assistant") return endResponse(state, phase, message)
  const open = phase._tag === "Batch" ? phase.turn.batch.open : undefined
  if (open === undefined || phase._tag !== "Batch") return broken("message-pair", "no such message has started")
  const batch = Batch.endResult(phase.turn.batch, open)
  return endPair(state, open, message, { ...phase, turn: { ...phase.turn, batch } })
}

const endPair = (state: State, start: Message, message: Message, phase: Phase): Checked<State> =>
  Result.map(demandEqual(start, message, "message-pair", "the message"), () => tell({ ...state, phase }, message))

const tell = (state: State, message: Message): State => ({ ...state, told: { message, before: state.told } })

const endResponse = (state: State, phase: In<"Response">, message: AssistantMessage): Checked<State> =>
  Result.gen(function* () {
    yield* Response.end(phase.response, message)
    const isDue = phase.hasCause || message.stopReason === "error"
    yield* demand(isDue, "turn-cause", "the turn before had nothing left to do, and no message came")
    const callIds = yield* addCallIds(state.callIds, message)
    const usage = addUsage(state.usage, message.usage)
    return tell(inTurn({ ...state, callIds, usage }, { response: message, batch: Batch.make(message) }), message)
  })

const addCallIds = (known: HashSet.HashSet<string>, message: AssistantMessage): Checked<HashSet.HashSet<string>> => {
  let ids = known
  for (const id of callIdsOf(message)) {
    if (HashSet.has(ids, id)) return broken("call-id", `the id "${id}" was used before`)
    ids = HashSet.add(ids, id)
  }
  return Result.succeed(ids)
}

const retry = (state: State, event: Of<"retry">): Checked<State> =>
  Result.gen(function* () {
    const { phase } = state
    const isPlace =
      phase._tag === "Retrying" ||
      (phase._tag === "Messages" && phase.hasCause) ||
      (phase._tag === "Response" && !Response.isFinished(phase.response))
    if (!isPlace) return yield* broken("retry-place", "no response is due or in progress")
    const attempt = "attempt" in phase ? phase.attempt + 1 : 1
    yield* demand(
      event.attempt === attempt,
      "retry-attempt",
      `attempt ${event.attempt} is called so, and is ${attempt}`
    )
    yield* demand(event.error.retryable, "retry-retryable", "its error says that asking again does not help")
    const usage = event.usage === undefined ? state.usage : addUsage(state.usage, event.usage)
    return { ...state, usage, phase: { _tag: "Retrying", attempt } }
  })

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
