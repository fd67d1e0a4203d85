/** The trace checker on messages: those before a response, the response and its retries, and the results of its calls. */
import * as HashSet from "effect/HashSet"
import * as Result from "effect/Result"
import { addUsage, type AssistantMessage, type Message } from "../../Message.ts"
import * as Batch from "./batch.ts"
import * as Response from "./response.ts"
import { broken, type Checked, demand, demandEqual } from "./rules.ts"
import { callIdsOf, type In, inTurn, type Of, type Phase, type State, tell, to } from "./state.ts"

export const startMessage = (state: State, message: Message): Checked<State> => {
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

export const updateMessage = (state: State, event: Of<"message_update">): Checked<State> => {
  const { phase } = state
  if (phase._tag !== "Response") return broken("update-outside", "no response is in progress")
  return Result.map(Response.update(phase.response, event), (response) => ({ ...state, phase: { ...phase, response } }))
}

export const endMessage = (state: State, message: Message): Checked<State> => {
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

export const retry = (state: State, event: Of<"retry">): Checked<State> =>
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
