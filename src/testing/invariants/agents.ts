/** Promises about an agent around its runs: what is queued is delivered exactly once, and its state is what it told. */
import * as Arr from "effect/Array"
import type { RunResult } from "../../Agent.ts"
import * as AgentState from "../../AgentState.ts"
import type { Idle, Of, Queued, Received, Recording, Session, Watched } from "../Recording.ts"
import { eventsOf, firstOf, graceOf, type Invariant, isEqual, place } from "./views.ts"

const ofSession =
  (check: (session: Session, recording: Recording) => string | false | undefined): Invariant["check"] =>
  (recording) =>
    (recording.session && check(recording.session, recording)) || undefined

const runsOf = (recording: Recording): ReadonlyArray<Recording> => [recording, ...(recording.session?.later ?? [])]

const eventsOfAll = (recording: Recording): ReadonlyArray<Received> => runsOf(recording).flatMap(({ events }) => events)

// ---------------------------------------------------------------------------------------------------------------------
// Queues
// ---------------------------------------------------------------------------------------------------------------------

interface Arrival {
  readonly turn: number
  readonly end: Of<"message_end">
}

/** When and in which turn of its run a message was told to be in the transcript; more than once where that is wrong. */
const arrivalsOf = (recording: Recording, { message }: Queued): ReadonlyArray<Arrival> =>
  runsOf(recording).flatMap((run) => {
    let turn = 0
    return eventsOf(run, "turn_start", "message_end").flatMap((one) => {
      if (one.event.type === "turn_start") turn += 1
      return one.event.type === "message_end" && one.event.message === message
        ? [{ turn, end: one as Of<"message_end"> }]
        : []
    })
  })

const isBefore = ({ position }: { readonly position: number }, idle: Idle): boolean => position < idle.position

/** What is wrong with a queued message while the agent is in no run. */
const complainAt = (
  idle: Idle,
  queued: Queued,
  index: number,
  arrivals: ReadonlyArray<Arrival>,
  isClosed: boolean
): string | undefined => {
  const name = `queued message ${index}`
  const copies = idle.state.messages.filter((message) => message === queued.message).length
  // A run that a close leaves behind may have taken a message in, and tell of it later.
  const told = arrivals.filter(({ end }) => isBefore(end, idle) || (isClosed && copies > 0))
  const [receipt, second] = queued.receipts.filter((one) => isBefore(one, idle))
  if (copies > 1) return `${name} is in the transcript ${copies} times`
  if (copies !== told.length) return `${name} is in the transcript ${copies} times, and was told ${told.length} times`
  if (second !== undefined) return `the receipt of ${name} says two things`
  if (idle.pending.includes(index)) return copies > 0 ? `${name} is in the queue and in the transcript` : undefined
  if (receipt === undefined) return `${name} is in neither queue nor transcript`
  if (typeof receipt.says === "string") {
    return copies > 0 ? `${name} is in the transcript, and its receipt says "${receipt.says}"` : undefined
  }
  const [arrival] = told
  if (arrival === undefined) return `the receipt of ${name} says that it was delivered, and it is not in the transcript`
  const { turn, timestamp } = receipt.says
  return turn === arrival.turn && timestamp === arrival.end.at
    ? undefined
    : `the receipt of ${name} says turn ${turn} at ${timestamp} ms, and it came in turn ${arrival.turn} ${place(arrival.end)}`
}

export const queuedExactlyOnce: Invariant = {
  name: "queuedExactlyOnce",
  promise:
    "when a run is over, each queued message is in the queue or in the transcript, in neither only if its receipt says so",
  check: ofSession(({ queued, idles, closing }, recording) => {
    const arrivals = queued.map((one) => arrivalsOf(recording, one))
    return firstOf(idles, (idle) => {
      const isClosed = closing !== undefined && isBefore(closing.asked, idle)
      const wrong = firstOf(
        queued,
        (one, index) => index < idle.queued && complainAt(idle, one, index, arrivals[index]!, isClosed)
      )
      if (wrong !== undefined) return `${wrong}, ${place(idle)}`
      const isQueued = idle.pending.length > 0
      return idle.isQueued !== isQueued && `the state says isQueued: ${idle.isQueued}, ${place(idle)}`
    })
  })
}

export const receiptsAreSettled: Invariant = {
  name: "receiptsAreSettled",
  promise: "further runs deliver what is queued, closing the agent refuses the rest, and withdrawing says what it did",
  check: ofSession(({ queued, closing }, recording) =>
    firstOf(queued, ({ receipts, withdrawals }, index) => {
      const [receipt] = receipts
      const isTaken = withdrawals.some((withdrawal) => withdrawal.isTaken)
      if (closing !== undefined && receipt === undefined && everyRunIsOver(recording)) {
        return `nothing is ever heard of queued message ${index}`
      }
      return (
        isTaken !== (receipt?.says === "withdrawn") &&
        `queued message ${index} was ${isTaken ? "" : "not "}withdrawn, and its receipt says ${JSON.stringify(receipt?.says)}`
      )
    })
  )
}

const everyRunIsOver = (recording: Recording): boolean => runsOf(recording).every(({ end }) => end !== undefined)

export const queuesKeepTheirOrder: Invariant = {
  name: "queuesKeepTheirOrder",
  promise: "the messages of a queue are delivered in the order in which they were queued",
  check: ofSession(({ queued }, recording) =>
    firstOf(["steering", "followUp"] as const, (queue) => {
      const positions = queued
        .filter((one) => one.queue === queue)
        .flatMap((one) => arrivalsOf(recording, one).map(({ end }) => end.position))
      const late = positions.findIndex((position, index) => position < (positions[index - 1] ?? -1))
      return late >= 0 && `a message of the queue ${queue} comes at entry ${positions[late]}, before an older one`
    })
  )
}

export const closingEnds: Invariant = {
  name: "closingEnds",
  promise: "closing an agent takes no longer than the grace period, whatever its listeners do",
  check: ofSession(({ closing }, recording) => {
    if (closing === undefined) return undefined
    const { asked, ended } = closing
    if (ended === undefined) return "closing the agent does not end"
    const taken = ended.at - asked.at
    return taken > graceOf(recording) && `closing the agent takes ${taken} ms`
  })
}

// ---------------------------------------------------------------------------------------------------------------------
// State
// ---------------------------------------------------------------------------------------------------------------------

/** Whether two states are one: messages are the same objects. */
const isSame = (left: AgentState.AgentState, right: AgentState.AgentState): boolean =>
  left.streamingMessage === right.streamingMessage &&
  left.errorMessage === right.errorMessage &&
  isEqual(left.pendingToolCalls, right.pendingToolCalls) &&
  left.messages.length === right.messages.length &&
  left.messages.every((message, index) => message === right.messages[index])

export const stateIsTheFold: Invariant = {
  name: "stateIsTheFold",
  promise: "at every event, and when no run goes on, the agent's state is the fold of what it told",
  check: ofSession(({ states, idles }, recording) => {
    const told = eventsOfAll(recording)
    const [, ...folds] = foldsOf(recording)
    const wrong = states.findIndex((state, index) => !isSame(state, folds[index]!))
    if (wrong >= 0) return `at event ${wrong} the state is not the fold of the events`
    return firstOf(idles, (idle) => {
      const last = told.findLastIndex((one) => isBefore(one, idle))
      if (idle.isStreaming) return `the state says isStreaming ${place(idle)}, when no run goes on`
      // Closing the agent has left the run behind, perhaps between an event and its listeners.
      if (last < 0 || told[last]!.event.type !== "agent_end") return undefined
      return !isSame(idle.state, folds[last]!) && `the state is not the fold of the events ${place(idle)}`
    })
  })
}

/** The state before each event of all runs, and the last one. */
const foldsOf = (recording: Recording): ReadonlyArray<AgentState.AgentState> =>
  Arr.scan(eventsOfAll(recording), AgentState.make(recording.world.messages), (state, { event }) =>
    AgentState.reduce(state, event)
  )

/** How far a watcher has got that begins with event `first`; undefined where it was shown anything else. */
const readFrom = (
  first: number,
  { state, read }: Watched,
  events: ReadonlyArray<Received>,
  folds: ReadonlyArray<AgentState.AgentState>
): number | undefined => {
  if (folds[first] === undefined || !isSame(state, folds[first])) return undefined
  let at = first
  for (const one of read) {
    if (one.type !== "events_skipped") {
      if (events[at++]?.event !== one) return undefined
    } else if (folds[(at += one.count)] === undefined || !isSame(one.state, folds[at]!)) return undefined
  }
  return at
}

export const watchersMissNothing: Invariant = {
  name: "watchersMissNothing",
  promise: "a watcher is shown the state, then every event after it, or how many it missed and the state after those",
  check: ofSession(({ watched, closing }, recording) => {
    if (watched.length === 0) return undefined
    const events = eventsOfAll(recording)
    const folds = foldsOf(recording)
    // A run that a close leaves behind goes on when its watchers are gone.
    const due = closing === undefined ? 0 : events.filter(({ position }) => position < closing.asked.position).length
    return firstOf(watched, (one, index) => {
      // The state may have taken in an event that the listener was not told yet.
      const starts = [one.told, one.told + 1]
      const read = Math.max(...starts.map((start) => readFrom(start, one, events, folds) ?? -1))
      if (read === -1) return `watcher ${index}, ${place(one)}, was shown something else than was told`
      return read < due && `watcher ${index}, ${place(one)}, was told of ${read} events of ${events.length}`
    })
  })
}

export const promptsGiveWhatWasTold: Invariant = {
  name: "promptsGiveWhatWasTold",
  promise: "a prompt gives what the end of its run told, and dies of nothing",
  check: ofSession(({ results }, recording) => {
    const ends = runsOf(recording).flatMap((run) => eventsOf(run, "agent_end").map(({ event }) => event))
    return firstOf(results, (result, index) => {
      if (result === "died") return `prompt ${index} died`
      if (result === "interrupted" || "_tag" in result) return undefined
      const isTold = ends.some(({ messages, reason }) => messages === result.messages && reason === result.reason)
      return !isTold && !isEmpty(result) && `the result of prompt ${index} is that of no run`
    })
  })
}

/** The agent was closed before that run could begin. */
const isEmpty = ({ messages, reason }: RunResult): boolean => messages.length === 0 && reason === "aborted"
