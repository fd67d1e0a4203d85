/**
 * Watchers of an agent, which must not hold its runs: each has a bounded buffer. When that is full, the oldest events
 * make room, and the watcher is told how many it missed and what the state was after them.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { AgentEvent } from "../AgentEvent.ts"
import * as AgentState from "../AgentState.ts"

/**
 * Told to a watcher in place of `count` events that it missed; `state` is the state after them. It comes with a count of 0,
 * or of the events not yet read, when the transcript was replaced or cleared, which no event tells.
 */
export interface EventsSkipped {
  readonly type: "events_skipped"
  readonly count: number
  readonly state: AgentState.AgentState
}

/** How many events a watcher may be behind. */
export const WATCH_BUFFER = 1024

type Events = readonly [AgentEvent | EventsSkipped, ...Array<AgentEvent | EventsSkipped>]

/** The state before an event: that of the fold, and a `message_update` which is not folded in yet. */
export interface Before {
  readonly folded: AgentState.AgentState
  readonly update: AgentEvent | undefined
}

export class Watcher {
  private events: Array<AgentEvent> = []
  /** Where in the array the oldest event is that is kept. */
  private head = 0
  private skipped = 0
  private isReplaced = false
  /** The state before the oldest event that is kept. */
  private before: Before | undefined
  private reader: ((signal: Effect.Effect<void>) => void) | undefined
  private isClosed = false

  offer(event: AgentEvent, before: Before): void {
    this.before ??= before
    this.events.push(event)
    if (this.events.length - this.head > WATCH_BUFFER) {
      this.before = { folded: AgentState.reduce(stateOf(this.before), this.events[this.head++]!), update: undefined }
      this.skipped++
      if (this.head === WATCH_BUFFER) this.compact()
    }
    this.wake()
  }

  /** The state was set by hand: what was not read before is of no use any more. */
  replace(state: AgentState.AgentState): void {
    this.skipped += this.events.length - this.head
    this.events = []
    this.head = 0
    this.before = { folded: state, update: undefined }
    this.isReplaced = true
    this.wake()
  }

  private compact(): void {
    this.events = this.events.slice(this.head)
    this.head = 0
  }

  close(): void {
    this.isClosed = true
    this.wake()
  }

  /** What was offered and not yet read, in the order of the offers; ends when the watcher is closed. */
  readonly stream: Stream.Stream<AgentEvent | EventsSkipped> = Stream.fromPull(
    Effect.succeed(Effect.suspend(() => (this.before !== undefined || this.isClosed ? this.take() : this.wait)))
  )

  private readonly wait: Effect.Effect<Events, Cause.Done> = Effect.flatMap(
    Effect.callback<void>((resume) => {
      this.reader = resume
      return Effect.sync(() => {
        this.reader = undefined
      })
    }),
    () => this.take()
  )

  private take(): Effect.Effect<Events, Cause.Done> {
    const { before, skipped: count, isReplaced } = this
    if (before === undefined) return Cause.done()
    this.compact()
    const skip = () => ({ type: "events_skipped", count, state: stateOf(before) }) as const
    const events = count > 0 || isReplaced ? [skip(), ...this.events] : this.events
    this.events = []
    this.skipped = 0
    this.isReplaced = false
    this.before = undefined
    return Effect.succeed(events as unknown as Events)
  }

  private wake(): void {
    const reader = this.reader
    this.reader = undefined
    reader?.(Effect.void)
  }
}

export const stateOf = ({ folded, update }: Before): AgentState.AgentState =>
  update === undefined ? folded : AgentState.reduce(folded, update)
