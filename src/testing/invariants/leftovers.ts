/** Promises about what is left: nothing goes on after the end but what cannot be stopped, and connections close in time. */
import type { Activity, Alive, Recording } from "../Recording.ts"
import {
  activitiesOf,
  eventsOf,
  firstOf,
  type Invariant,
  isDeafAt,
  isLoose,
  isOpenAt,
  isOverdueAt,
  isStraggler,
  place,
  say
} from "./views.ts"

/** What is open at a position and has no excuse for it. Timers are counted by themselves, other runs are judged on their own. */
const inexcusable = (recording: Recording, position: number): Activity | undefined =>
  recording.activities.find(
    (activity) =>
      activity.kind !== "timer" &&
      activity.kind !== "other" &&
      isOpenAt(activity, position) &&
      !isStraggler(recording, activity) &&
      !isDeafAt(recording, activity, position)
  )

const deafOnes = (recording: Recording, { activities }: Alive): ReadonlyArray<Activity> =>
  activities.map((id) => recording.activities[id]!).filter((activity) => !isStraggler(recording, activity))

/** Fibers and timers beyond those of what tools left behind. */
const leaks = (recording: Recording, alive: Alive): string | undefined => {
  const stragglers = alive.activities.filter((id) => recording.activities[id]!.kind === "straggler").length
  const [fibers, timers] = [alive.fibers - stragglers, alive.timers - stragglers]
  if (fibers > 0) return fibers === 1 ? "1 fiber is alive" : `${fibers} fibers are alive`
  if (timers > 0) return timers === 1 ? "1 timer is set" : `${timers} timers are set`
  return undefined
}

export const nothingOutlivesTheRun: Invariant = {
  name: "nothingOutlivesTheRun",
  promise: "when the run is over, all that hears an interrupt has ended, finalizers too: no fiber and no timer is left",
  check: (recording) => {
    const { end, aliveAtEnd } = recording
    if (end === undefined) return undefined
    const open = isOverdueAt(recording, end.at) ? undefined : inexcusable(recording, end.position)
    if (open !== undefined) return `${say(open)} goes on after the end`
    if (deafOnes(recording, aliveAtEnd).length > 0) return undefined
    const leak = leaks(recording, aliveAtEnd)
    return leak && `${leak} at the end`
  }
}

export const whatComesLooseEnds: Invariant = {
  name: "whatComesLooseEnds",
  promise: "what was left behind because it heard no interrupt ends as soon as it comes loose",
  check: (recording) => {
    const { end, aliveLater, log } = recording
    if (end === undefined) return undefined
    const open = inexcusable(recording, log.length)
    if (open !== undefined) return `${say(open)} goes on for ever`
    if (deafOnes(recording, aliveLater).length > 0) return undefined
    const leak = leaks(recording, aliveLater)
    return leak && `${leak} long after the end`
  }
}

/** Closing the agent has left its run behind, which a listener held: it still has its grace period before it. */
const wasLeft = ({ world, end, log }: Recording): boolean => {
  const before = log.slice(0, end?.position).findLast(({ type }) => type === "read" || type === "event")
  return world.agent !== undefined && before?.type === "event"
}

export const nothingBeginsAfterTheEnd: Invariant = {
  name: "nothingBeginsAfterTheEnd",
  promise: "after the end nothing is asked, executed or slept for any more, whatever comes loose",
  check: (recording) => {
    const { end } = recording
    if (end === undefined) return undefined
    return firstOf(activitiesOf(recording, "stream", "pull", "tool", "hook", "timer"), (activity) => {
      // At that very instant, a timer may be set and taken back.
      const isAfter = activity.kind === "timer" ? activity.began.at > end.at : activity.began.position > end.position
      if (activity.kind === "timer" && wasLeft(recording)) return false
      return isAfter && !isLoose(recording, activity) && `${say(activity)} begins ${place(activity.began)}`
    })
  }
}

export const connectionsClose: Invariant = {
  name: "connectionsClose",
  promise: "a response's connection is closed before its end is told, and before it is retried",
  check: (recording) =>
    firstOf(eventsOf(recording, "message_end", "retry"), ({ event, at, position }) => {
      if (isOverdueAt(recording, at)) return undefined
      if (event.type === "message_end" && event.message.role !== "assistant") return undefined
      const open = activitiesOf(recording, "stream").find(
        (stream) => isOpenAt(stream, position) && !isDeafAt(recording, stream, position)
      )
      return open && `the connection of ${place(open.began)} is still open when ${event.type} is told`
    })
}
