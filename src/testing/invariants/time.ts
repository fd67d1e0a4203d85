/** Promises about time: the run ends, an aborted one soon, and no time passes without a reason. */
import type { Activity, Recording } from "../Recording.ts"
import {
  activitiesOf,
  deafSpansOf,
  eventsOf,
  findGap,
  firstOf,
  graceOf,
  type Invariant,
  isOpenAt,
  measure,
  place,
  say,
  type Span,
  spanOf
} from "./views.ts"

export const everyRunEnds: Invariant = {
  name: "everyRunEnds",
  promise: "a run ends: by itself, or when it is stopped where nothing else would happen any more",
  check: ({ end, log }) => (end === undefined ? `the run does not end; its log has ${log.length} entries` : undefined)
}

export const endsWithinTheGracePeriod: Invariant = {
  name: "endsWithinTheGracePeriod",
  promise: "a run that is aborted or left ends within the grace period, not counting the time that its reader takes",
  check: (recording) => {
    const { stop, end } = recording
    if (stop?.heard === undefined || end === undefined) return undefined
    const taken = end.at - stop.heard.at - measure([stop.heard.at, end.at], readingSpans(recording))
    return taken > graceOf(recording) ? `the run ends ${taken} ms after it was stopped` : undefined
  }
}

export const endsAtOnce: Invariant = {
  name: "endsAtOnce",
  promise: "a run that is aborted or left waits only for finalizers, and for what hears no interrupt",
  check: (recording) => {
    const { stop, end } = recording
    if (stop?.heard === undefined || end === undefined) return undefined
    const gap = findGap(
      [stop.heard.at, end.at],
      [...readingSpans(recording), ...recording.activities.flatMap((activity) => deafSpansOf(activity))]
    )
    if (gap === undefined) return undefined
    const open = recording.activities.findLast(
      ({ kind, began, settled }) =>
        !["timer", "consumer", "other"].includes(kind) &&
        began.at <= gap[0] &&
        (settled === undefined || settled.at >= gap[1])
    )
    const what = open === undefined ? "" : ` for ${say(open)}`
    return `the run was stopped, and still waits${what} from ${gap[0]} ms to ${gap[1]} ms`
  }
}

/** What the application waits for in a run that had to be stopped because nothing would have happened any more. */
const unseenWait = ({ activities, stop }: Recording): Activity | undefined =>
  stop?.isRescue === true
    ? activities.findLast((activity) => activity.isReal === true && isOpenAt(activity, stop.asked.position))
    : undefined

export const waitsOnlyForTheVirtualClock: Invariant = {
  name: "waitsOnlyForTheVirtualClock",
  promise: "tools and hooks of the application wait for the virtual clock, and for what the simulation itself settles",
  check: (recording) => {
    const activity = unseenWait(recording)
    return (
      activity &&
      `${say(activity)} waits for something that the virtual clock cannot see, or for ever: let a service stand in for it`
    )
  }
}

export const timeIsExplained: Invariant = {
  name: "timeIsExplained",
  promise: "while time passes, there is something that the run waits for",
  check: (recording) => {
    const { start, end = start } = recording
    const spans = recording.activities.flatMap((activity): ReadonlyArray<Span> => {
      if (["stream", "straggler", "other"].includes(activity.kind)) return []
      return activity.kind === "timer" && !isRetry(recording, activity) ? [] : [spanOf(activity)]
    })
    const gap = findGap([start.at, end.at], spans)
    return gap && `nothing went on from ${gap[0]} ms to ${gap[1]} ms`
  }
}

export const sleepsAreExplained: Invariant = {
  name: "sleepsAreExplained",
  promise:
    "the loop itself sleeps only before a retry, for the delay that it told, and for the grace period of an abort",
  check: (recording) =>
    firstOf(
      activitiesOf(recording, "timer"),
      (timer) =>
        !isRetry(recording, timer) &&
        !isGrace(recording, timer) &&
        `the loop sleeps ${String(timer.given)} ms ${place(timer.began)}`
    )
}

type Timer = Recording["activities"][number]

const isRetry = (recording: Recording, { given, began }: Timer): boolean =>
  eventsOf(recording, "retry").some(({ event, position }) => event.delayMs === given && position < began.position)

const isGrace = (recording: Recording, { given, began }: Timer): boolean =>
  given === graceOf(recording) && recording.stop !== undefined && recording.stop.asked.position < began.position

const readingSpans = (recording: Recording): ReadonlyArray<Span> => activitiesOf(recording, "consumer").map(spanOf)
