/**
 * Watchers of an agent, which must not hold its runs: each has a bounded buffer. When that is full, the oldest events
 * make room, and the watcher is told how many it missed and what the state was after them.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { AgentEvent } from "../AgentEvent.ts"
import * as AgentState from "../AgentState.ts"

/** Told to a watcher that was too slow, in place of `count` events; `state` is the state after them. */
export interface EventsSkipped {
  readonly type: "events_skipped"
  readonly count: number
  readonly state: AgentState.AgentState
}

/** How many events a watcher may be behind. */
export const WATCH_BUFFER = 1024

type Events = readonly [AgentEvent | EventsSkipped, ...Array<AgentEvent | EventsSkipped>]

export class Watcher {
  private events: Array<AgentEvent> = []
  /** Where in the array the oldest event is that is kept. */
  private head = 0
  private skipped = 0
  /** The state before the oldest event that is kept. */
  private before: AgentState.AgentState
  private reader: ((signal: Effect.Effect<void>) => void) | undefined
  private isClosed = false
  private readonly current: () => AgentState.AgentState

  /** `current` gives the state after all events that were offered so far. */
  constructor(current: () => AgentState.AgentState) {
    this.current = current
    this.before = current()
  }

  offer(event: AgentEvent): void {
    this.events.push(event)
    if (this.events.length - this.head > WATCH_BUFFER) {
      this.before = AgentState.reduce(this.before, this.events[this.head++]!)
      this.skipped++
      if (this.head === WATCH_BUFFER) this.compact()
    }
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
    Effect.succeed(Effect.suspend(() => (this.events.length > 0 || this.isClosed ? this.take() : this.wait)))
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
    if (this.events.length === 0) return Cause.done()
    const { skipped: count, before: state } = this
    this.compact()
    const events = count === 0 ? this.events : [{ type: "events_skipped", count, state } as const, ...this.events]
    this.events = []
    this.skipped = 0
    this.before = this.current()
    return Effect.succeed(events as unknown as Events)
  }

  private wake(): void {
    const reader = this.reader
    this.reader = undefined
    reader?.(Effect.void)
  }
}
