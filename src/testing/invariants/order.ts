/** Promises about what comes before what: hooks and requests after the events before them, and none after an abort. */
import type { Activity, Of, Received, Recording } from "../Recording.ts"
import {
  activitiesOf,
  callsOf,
  eventsOf,
  firstOf,
  type Invariant,
  isEqual,
  isLoose,
  lastEvent,
  place,
  say,
  transcriptAt,
  wasReading
} from "./views.ts"

const noneAfterStop = (name: string, what: string, kinds: ReadonlyArray<Activity["kind"]>): Invariant => ({
  name,
  promise: `once the run knows that it was aborted or left, ${what}`,
  check: (recording) => {
    const heard = recording.stop?.heard
    if (heard === undefined) return undefined
    // With a seed, a fiber may have been made to wait between the decision to begin and the beginning.
    const isAfter = ({ began }: Activity) =>
      recording.world.seed === undefined ? began.position > heard.position : began.at > heard.at
    return firstOf(
      activitiesOf(recording, ...kinds),
      (activity) => isAfter(activity) && `${say(activity)} begins ${place(activity.began)}, after the stop`
    )
  }
})

export const noHookAfterAbort = noneAfterStop("noHookAfterAbort", "no hook is called and no queue polled", ["hook"])

export const noRequestAfterAbort = noneAfterStop("noRequestAfterAbort", "nothing is asked of the provider", [
  "stream",
  "pull"
])

export const noToolAfterAbort = noneAfterStop("noToolAfterAbort", "no tool is executed", ["tool"])

// ---------------------------------------------------------------------------------------------------------------------
// Events first
// ---------------------------------------------------------------------------------------------------------------------

type IsLast = (last: Received["event"], activity: Activity) => boolean

const beforeResponse: IsLast = (event) =>
  event.type === "turn_start" ||
  (event.type === "message_end" && event.message.role !== "assistant" && event.message.role !== "toolResult")

const ofThisCall: IsLast = (event, { callId }) =>
  event.type === "tool_execution_start" && (callId === undefined || event.toolCallId === callId)

const afterTurn: IsLast = ({ type }) => type === "turn_end"

/** Which event must be the last that was delivered when a hook is called. */
const lastEvents: Record<string, IsLast> = {
  transformContext: beforeResponse,
  convertToLlm: beforeResponse,
  resolveApiKey: beforeResponse,
  response: (event, activity) => event.type === "retry" || beforeResponse(event, activity),
  beforeToolCall: ofThisCall,
  exclusive: ofThisCall,
  prepareNextTurn: afterTurn,
  shouldStopAfterTurn: afterTurn,
  steering: (event, activity) => afterTurn(event, activity) || beforeResponse(event, activity),
  followUp: afterTurn
}

export const eventsComeBeforeHooks: Invariant = {
  name: "eventsComeBeforeHooks",
  promise: "when a hook is called, a queue polled or a request made, all earlier events have been delivered",
  check: (recording) =>
    firstOf(activitiesOf(recording, "hook", "stream"), (activity) => {
      const isLast = lastEvents[activity.name]
      const last = lastEvent(recording, activity.began.position)?.event
      return (
        isLast !== undefined &&
        !isLoose(recording, activity) &&
        (last === undefined || !isLast(last, activity)) &&
        `${say(activity)} begins ${place(activity.began)}, when the last event was ${last?.type ?? "none"}`
      )
    })
}

export const updatesComeBeforeTheHook: Invariant = {
  name: "updatesComeBeforeTheHook",
  promise: "when afterToolCall is called, the updates of that call have been delivered",
  check: (recording) =>
    firstOf(callsOf(recording, "afterToolCall"), (hook) => {
      const sent = activitiesOf(recording, "update").filter(
        ({ callId, parent, settled }) =>
          callId === hook.callId &&
          recording.activities[parent!]!.kind === "tool" &&
          settled !== undefined &&
          settled.position < hook.began.position
      )
      const told = eventsOf(recording, "tool_execution_update").filter(
        ({ event, position }) => event.toolCallId === hook.callId && position < hook.began.position
      )
      return (
        sent.length > told.length &&
        `${say(hook)} begins ${place(hook.began)} after ${sent.length} updates, and ${told.length} were delivered`
      )
    })
}

export const hooksSeeTheTranscript: Invariant = {
  name: "hooksSeeTheTranscript",
  promise: "a tool hook sees the transcript up to its response, a hook after a turn all of it",
  check: (recording) =>
    firstOf(callsOf(recording, "beforeToolCall", "afterToolCall", "prepareNextTurn", "shouldStopAfterTurn"), (hook) => {
      const { messages } = hook.given as { readonly messages: ReadonlyArray<unknown> }
      const told = transcriptAt(recording, hook.began.position)
      const isOfCall = hook.callId !== undefined
      const seen = isOfCall ? told.slice(0, told.findLastIndex(({ role }) => role === "assistant") + 1) : told
      return !isEqual(messages, seen) && `${say(hook)} sees another transcript than was told ${place(hook.began)}`
    })
}

// ---------------------------------------------------------------------------------------------------------------------
// Queues
// ---------------------------------------------------------------------------------------------------------------------

export const pollsComeWhereTheyAreDue: Invariant = {
  name: "pollsComeWhereTheyAreDue",
  promise:
    "after a turn, steering is polled once and follow-up at most once; neither after a failure, a stop or a limit",
  check: (recording) => {
    const ends = eventsOf(recording, "turn_end")
    return firstOf(ends, (end, index) => {
      const next = recording.events.find(
        ({ event, position }) => position > end.position && (event.type === "turn_start" || event.type === "agent_end")
      )
      const polls = callsOf(recording, "steering", "followUp").filter(
        ({ began }) => began.position > end.position && began.position < (next?.position ?? Infinity)
      )
      const names = polls.map(({ name }) => name).join(" ")
      if (isOver(recording, end, index)) return polls.length > 0 && `${names} is polled after the end of turn ${index}`
      if (!["", "steering", "followUp", "steering followUp"].includes(names)) return `after turn ${index}: ${names}`
      const isFinal = next?.event.type === "agent_end" && ["completed", "terminated"].includes(next.event.reason)
      return isFinal && names !== wanted(recording) && `turn ${index} is followed by the polls "${names}" and the end`
    })
  }
}

/** The polls that a run has. Those of an agent's own queues are not seen. */
const wanted = ({ world }: Recording): string =>
  (world.agent === undefined ? (["steering", "followUp"] as const) : [])
    .filter((name) => world.hooks?.[name] !== undefined || world.queues?.[name] !== undefined)
    .join(" ")

/** Whether nothing may come after a turn. */
const isOver = (recording: Recording, { event, position }: Of<"turn_end">, index: number): boolean => {
  const stops = callsOf(recording, "shouldStopAfterTurn").filter(({ result }) => result === true)
  const next = recording.events.find((one) => one.position > position && one.event.type === "turn_start")
  return (
    event.message.stopReason === "error" ||
    event.message.stopReason === "aborted" ||
    stops.some(({ began }) => began.position > position && began.position < (next?.position ?? Infinity)) ||
    index + 1 >= (recording.world.limits?.maxTurns ?? Infinity)
  )
}

// ---------------------------------------------------------------------------------------------------------------------
// A slow reader
// ---------------------------------------------------------------------------------------------------------------------

export const worksOnlyForItsReader: Invariant = {
  name: "worksOnlyForItsReader",
  promise: "the run asks for nothing new (a pull, a hook, a poll) while its reader does not read",
  check: (recording) =>
    firstOf(
      activitiesOf(recording, "stream", "pull", "hook"),
      (activity) =>
        activity.name !== "afterToolCall" &&
        !isLoose(recording, activity) &&
        !wasReading(recording, activity.began.position) &&
        `${say(activity)} begins ${place(activity.began)}, while the reader does not read`
    )
}

/** How far the updates of tools may be ahead of the reader. */
export const MAX_LEAD = 48

export const updatesWaitForTheReader: Invariant = {
  name: "updatesWaitForTheReader",
  promise: `no more than ${MAX_LEAD} updates of tools are ahead of the reader`,
  check: (recording) => {
    const stopped = recording.stop?.asked.position ?? Infinity
    let lead = 0
    return firstOf(recording.log, (entry, position) => {
      if (position > stopped) return undefined
      if (entry.type === "event") {
        const type = recording.events[entry.index]!.event.type
        if (type === "tool_execution_update") lead -= 1
      }
      if (entry.type === "settle" && isSentUpdate(recording, entry.activity)) lead += 1
      return lead > MAX_LEAD && `${lead} updates are ahead of the reader at entry ${position}`
    })
  }
}

const isSentUpdate = ({ activities }: Recording, id: number): boolean => {
  const { kind, parent, outcome } = activities[id]!
  return kind === "update" && outcome === "done" && activities[parent!]!.kind === "tool"
}
