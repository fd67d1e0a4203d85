/** Promises about the events and the messages of a run: they are well formed, whole, and true. */
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import type { Message, ToolResultMessage } from "../../Message.ts"
import { type Activity, type Moment, type Recording, messagesOf } from "../Recording.ts"
import * as TraceChecker from "../TraceChecker.ts"
import {
  activitiesOf,
  callsOf,
  eventsOf,
  firstOf,
  type Invariant,
  isEqual,
  isLoose,
  place,
  transcriptAt
} from "./views.ts"

export const grammar: Invariant = {
  name: "grammar",
  promise: "the events obey the grammar of a run, as far as the reader read",
  check: (recording) => {
    const events = recording.events.map(({ event }) => event)
    if (recording.isWhole) {
      return TraceChecker.check(events, recording.world.messages).pipe(
        Option.map(({ message }) => message),
        Option.getOrUndefined
      )
    }
    let state = TraceChecker.initial(recording.world.messages)
    for (const event of events) {
      const next = TraceChecker.step(state, event)
      if (Result.isFailure(next)) return next.failure.message
      state = next.success
    }
    return undefined
  }
}

export const endIsLastAndOnce: Invariant = {
  name: "endIsLastAndOnce",
  promise: "agent_end comes once, and nothing after it",
  check: (recording) => {
    const ends = eventsOf(recording, "agent_end")
    if (ends.length > 1) return `agent_end comes ${ends.length} times`
    if (!recording.isWhole) return undefined
    return recording.events.at(-1)?.event.type === "agent_end" ? undefined : "the last event is no agent_end"
  }
}

export const oneResultPerCall: Invariant = {
  name: "oneResultPerCall",
  promise: "each tool call of a response that did not fail has exactly one result",
  check: (recording) => {
    if (!recording.isWhole) return undefined
    const messages = messagesOf(recording)
    return firstOf(callIdsOf(messages), (id) => {
      const results = messages.filter((message) => message.role === "toolResult" && message.toolCallId === id).length
      return results !== 1 && `call "${id}" has ${results} results`
    })
  }
}

export const transcriptIsTold: Invariant = {
  name: "transcriptIsTold",
  promise: "the messages of agent_end are those of all message_end, in order",
  check: (recording) => {
    const [end] = eventsOf(recording, "agent_end")
    if (end === undefined) return undefined
    const told = messagesOf(recording)
    return isEqual(end.event.messages, told) ? undefined : "the messages of agent_end are others than those told of"
  }
}

export const queuedIsTold: Invariant = {
  name: "queuedIsTold",
  promise: "prompts, and all that a poll gave, enter the transcript once, in order",
  check: (recording) => {
    const polls = callsOf(recording, "steering", "followUp").filter(({ result }) => Array.isArray(result))
    // With a seed, a poll may have been made to wait between taking the messages and giving them, and be aborted there.
    const isCut = recording.world.seed !== undefined && polls.at(-1)?.settled?.at === recording.stop?.asked.at
    // An agent polls its own queues: what becomes of that is a promise of its own.
    if (!recording.isWhole || isCut || recording.world.agent !== undefined) return undefined
    const polled = polls.flatMap(({ result }) => result as ReadonlyArray<Message>)
    const told = messagesOf(recording)
      .filter(({ role }) => role !== "assistant" && role !== "toolResult")
      .slice((recording.world.prompts ?? ["go"]).length)
    return isEqual(polled, told) ? undefined : `a poll gave ${polled.length} messages, and ${told.length} were told`
  }
}

export const snapshotsNeverChange: Invariant = {
  name: "snapshotsNeverChange",
  promise: "what was handed to the reader, the provider or a hook never changes afterwards",
  check: ({ changes }) => changes[0]
}

export const requestsAreWellFormed: Invariant = {
  name: "requestsAreWellFormed",
  promise: "in every request, each tool call has one result right after its response, and no result is without a call",
  check: (recording) =>
    isWellFormed(recording.world.messages ?? [])
      ? firstOf(recording.requests, ({ request }, index) =>
          isWellFormed(request.messages) ? undefined : `the messages of request ${index} are not well formed`
        )
      : undefined
}

export const requestsSayWhatWasTold: Invariant = {
  name: "requestsSayWhatWasTold",
  promise: "a request, and a hook before it, has the messages that the reader was told of, as hooks have changed them",
  check: (recording) => {
    const hooks = callsOf(recording, "transformContext", "convertToLlm")
    const seen = firstOf(hooks, (hook, index) => {
      const { messages } = hook.given as { readonly messages: ReadonlyArray<Message> }
      return (
        !isLoose(recording, hook) &&
        !isEqual(messages, toldBefore(recording, hook.began, hooks[index - 1])) &&
        `${hook.name} sees other messages than the reader, or the hook before it, ${place(hook.began)}`
      )
    })
    if (seen !== undefined) return seen
    return firstOf(recording.requests, (request, index) => {
      const hook = hooks.findLast(({ began }) => began.position < request.position)
      const told = hook === undefined ? transcriptAt(recording, request.position) : messagesFrom(hook)
      return (
        !isEqual(request.request.messages, told.filter(isForModels)) &&
        `request ${index} has other messages than ${hook === undefined ? "were told" : `${hook.name} gave`}`
      )
    })
  }
}

const messagesFrom = ({ result }: Activity): ReadonlyArray<Message> =>
  Array.isArray(result) ? (result as ReadonlyArray<Message>) : []

/** What a hook before a request is to see: what the last one before the same request gave, or what the reader was told. */
const toldBefore = (recording: Recording, began: Moment, last: Activity | undefined): ReadonlyArray<Message> => {
  const isOfThis =
    last !== undefined &&
    !recording.requests.some(({ position }) => position > last.began.position && position < began.position)
  return isOfThis ? messagesFrom(last) : transcriptAt(recording, began.position)
}

export const retryDiscards: Invariant = {
  name: "retryDiscards",
  promise: "a retry waits as long as it says, then makes the same request again, without asking a hook",
  check: (recording) =>
    firstOf(eventsOf(recording, "retry"), (retry) => {
      const index = recording.requests.findIndex(({ position }) => position > retry.position)
      const [before, after] = [recording.requests[index - 1], recording.requests[index]]
      if (index === -1) return undefined
      if (after!.at < retry.at + retry.event.delayMs) return `request ${index} does not wait for its retry`
      if (!isEqual(before?.request.messages, after!.request.messages)) return `request ${index} is not the one before`
      const asked = callsOf(recording, "transformContext", "convertToLlm", "resolveApiKey").find(
        ({ began }) => began.position > before!.position && began.position < after!.position
      )
      return asked && `${asked.name} is asked for the retry before request ${index}`
    })
}

export const reasonIsTrue: Invariant = {
  name: "reasonIsTrue",
  promise: "the reason of agent_end has a cause: an abort, a limit, a hook that stops",
  check: (recording) => {
    const [end] = eventsOf(recording, "agent_end")
    const { limits, turns } = recording.world
    const isPossible = {
      aborted: () =>
        recording.stop !== undefined ||
        turns.some((turn) => turn.some((step) => step.type === "error" && step.reason === "aborted")),
      limit: () => eventsOf(recording, "turn_end").length === limits?.maxTurns,
      stopped: () => callsOf(recording, "shouldStopAfterTurn").some(({ result }) => result === true),
      terminated: () => activitiesOf(recording, "tool").length > 0,
      completed: () => true,
      error: () => true
    }
    return end === undefined || isPossible[end.event.reason]()
      ? undefined
      : `nothing made the run end "${end.event.reason}"`
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Transcripts
// ---------------------------------------------------------------------------------------------------------------------

const isForModels = ({ role }: Message): boolean => role === "user" || role === "assistant" || role === "toolResult"

const callIdsOf = (messages: ReadonlyArray<Message>): ReadonlyArray<string> =>
  messages.flatMap((message) =>
    message.role !== "assistant" || message.stopReason === "error" || message.stopReason === "aborted"
      ? []
      : message.content.flatMap((block) => (block.type === "toolCall" ? [block.id] : []))
  )

/** Whether the results of each response follow it at once, one for each of its calls. */
const isWellFormed = (messages: ReadonlyArray<Message>): boolean => {
  let due: ReadonlyArray<string> = []
  for (const message of messages) {
    if (message.role === "toolResult") {
      if (!due.includes((message as ToolResultMessage).toolCallId)) return false
      due = due.filter((id) => id !== (message as ToolResultMessage).toolCallId)
    } else if (due.length > 0) return false
    else due = callIdsOf([message])
  }
  return due.length === 0
}
