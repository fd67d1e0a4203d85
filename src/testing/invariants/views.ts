/** What the invariants look at: questions to a recording that several of them ask. */
import type { Message } from "../../Message.ts"
import { type Activity, eventsOf, type Kind, type Moment, type Received, type Recording } from "../Recording.ts"
import { GRACE_PERIOD_MS } from "../World.ts"

export { eventsOf } from "../Recording.ts"

/** A promise about every run. `check` gives what is wrong with a recording, in words, or nothing. */
export interface Invariant {
  readonly name: string
  readonly promise: string
  readonly check: (recording: Recording) => string | undefined
}

export const activitiesOf = ({ activities }: Recording, ...kinds: ReadonlyArray<Kind>): ReadonlyArray<Activity> =>
  activities.filter(({ kind }) => kinds.includes(kind))

/** The calls of hooks, polls and policies of that name. */
export const callsOf = (recording: Recording, ...names: ReadonlyArray<string>): ReadonlyArray<Activity> =>
  activitiesOf(recording, "hook").filter(({ name }) => names.includes(name))

/** The last event that the reader had at that position of the log. */
export const lastEvent = ({ events }: Recording, position: number): Received | undefined =>
  events.findLast((received) => received.position < position)

/** Whether the reader was waiting for events at that position of the log. Of one that is gone nothing is asked. */
export const wasReading = ({ log, stop }: Recording, position: number): boolean => {
  if (stop !== undefined && stop.how !== "abort" && stop.asked.position < position) return true
  return (
    log.findLast((entry, index) => index < position && (entry.type === "read" || entry.type === "event"))?.type ===
    "read"
  )
}

/** The messages that the reader had been told of at that position, behind those before the run. */
export const transcriptAt = (recording: Recording, position: number): ReadonlyArray<Message> => [
  ...(recording.world.messages ?? []),
  ...eventsOf(recording, "message_end").flatMap((one) => (one.position < position ? [one.event.message] : []))
]

export const isOpenAt = ({ began, settled }: Activity, position: number): boolean =>
  began.position < position && (settled === undefined || settled.position >= position)

const isShieldedAt = ({ shields }: Activity, position: number): boolean =>
  shields.some(({ from, to }) => from.position <= position && (to === undefined || to.position >= position))

/** Whether an activity that is open there may be: it hears no interrupt, or waits for something of its own that hears none. */
export const isDeafAt = ({ activities }: Recording, activity: Activity, position: number): boolean =>
  isShieldedAt(activity, position) ||
  activities.some(
    (child) =>
      child.parent === activity.id &&
      isOpenAt(child, position) &&
      isDeafAt({ activities } as Recording, child, position)
  ) ||
  hasDeafParent({ activities } as Recording, activity, position)

const hasDeafParent = (recording: Recording, { parent }: Activity, position: number): boolean => {
  if (parent === undefined) return false
  const above = recording.activities[parent]!
  return isShieldedAt(above, position) || hasDeafParent(recording, above, position)
}

/** What a tool left behind, and what that does. */
export const isStraggler = ({ activities }: Recording, activity: Activity): boolean =>
  activity.kind === "straggler" ||
  (activity.parent !== undefined && isStraggler({ activities } as Recording, activities[activity.parent]!))

// ---------------------------------------------------------------------------------------------------------------------
// Time
// ---------------------------------------------------------------------------------------------------------------------

export const graceOf = ({ world }: Recording): number => world.limits?.gracePeriodMs ?? GRACE_PERIOD_MS

/** Whether the grace period is over at that instant, so that the run waits for nothing any more. */
export const isOverdueAt = (recording: Recording, at: number): boolean =>
  recording.stop !== undefined && at >= recording.stop.asked.at + graceOf(recording)

export type Span = readonly [from: number, to: number]

export const spanOf = ({ began, settled }: Activity): Span => [began.at, settled?.at ?? Infinity]

/** The spans in which an activity heard no interrupt. */
export const deafSpansOf = ({ shields }: Activity): ReadonlyArray<Span> =>
  shields.map(({ from, to }) => [from.at, to?.at ?? Infinity])

/** The first part of a span of time in which none of the others was. */
export const findGap = ([from, to]: Span, spans: ReadonlyArray<Span>): Span | undefined => {
  let at = from
  for (const [start, end] of spans.toSorted(([a], [b]) => a - b)) {
    if (at >= to || start > at) break
    at = Math.max(at, end)
  }
  if (at >= to) return undefined
  const next = Math.min(to, ...spans.map(([start]) => start).filter((start) => start > at))
  return [at, next]
}

/** How much of a span of time lies in the others. */
export const measure = ([from, to]: Span, spans: ReadonlyArray<Span>): number => {
  let sum = 0
  let at = from
  for (const [start, end] of spans.toSorted(([a], [b]) => a - b)) {
    const begin = Math.max(at, start)
    const finish = Math.min(to, end)
    if (finish > begin) {
      sum += finish - begin
      at = finish
    }
  }
  return sum
}

/**
 * Whether an activity may belong to a fiber that was left behind: with a seed, one may have been made to wait where it
 * cannot be interrupted, and begins with what it was about to do when nobody waits for it any more.
 */
export const isLoose = (recording: Recording, { began }: Activity): boolean =>
  recording.world.seed !== undefined && isOverdueAt(recording, began.at)

// ---------------------------------------------------------------------------------------------------------------------
// Words
// ---------------------------------------------------------------------------------------------------------------------

/** Whether two values are the same JSON; the order of members does not count. */
export const isEqual = (left: unknown, right: unknown): boolean =>
  JSON.stringify(left) === JSON.stringify(right) || JSON.stringify(sorted(left)) === JSON.stringify(sorted(right))

const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== "object" || value === null) return value
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(members.map(([key, member]) => [key, sorted(member)]))
}

export const say = ({ kind, name, callId }: Activity): string =>
  callId === undefined ? `${kind} ${name}` : `${kind} ${name} of call "${callId}"`

export const place = ({ at, position }: Moment): string => `at ${at} ms (entry ${position})`

/** The first complaint of many questions. */
export const firstOf = <A>(
  items: ReadonlyArray<A>,
  complain: (item: A, index: number) => string | false | undefined
): string | undefined => {
  for (const [index, item] of items.entries()) {
    const complaint = complain(item, index)
    if (complaint !== undefined && complaint !== false) return complaint
  }
  return undefined
}
