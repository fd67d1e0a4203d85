/**
 * Where a fiber that tells events and one that reads them meet, without a queue between them. A delivery is over when the
 * reader asks for more: a reader that does not read holds the teller.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { constVoid } from "effect/Function"
import type * as Pull from "effect/Pull"

export type Events<A> = readonly [A, ...Array<A>]

const more = Effect.succeed(true)
const noMore = Effect.succeed(false)

export class Rendezvous<A> {
  /** Wakes the reader, which waits in a pull. */
  private reader: ((signal: Pull.Pull<Events<A>>) => void) | undefined
  /** Lets the teller go on, which waits in a delivery. */
  private teller: ((isHeard: Effect.Effect<boolean>) => void) | undefined
  /** Delivered, and not yet taken: a pull that is interrupted after it was woken leaves them to the next one. */
  private ready: Events<A> | undefined
  private end: Effect.Effect<never, Cause.Done> | undefined
  private isGone = false
  private readonly onDemand: () => void

  /** `onDemand` is called at each pull that finds nothing. */
  constructor(onDemand: () => void = constVoid) {
    this.onDemand = onDemand
  }

  get isClosed(): boolean {
    return this.end !== undefined
  }

  /**
   * Hands events over, and waits until more are asked for; false if nobody reads any more. For uninterruptible regions
   * only: what is handed over cannot be taken back.
   */
  deliver(events: ReadonlyArray<A>): Effect.Effect<boolean> {
    return Effect.callback((resume) => {
      if (this.isGone) return resume(noMore)
      this.teller = resume
      this.append(events)
    })
  }

  /** Hands events over without waiting for the reader. */
  append(events: ReadonlyArray<A>): void {
    if (this.isGone) return
    this.ready = this.ready === undefined ? (events as Events<A>) : [...this.ready, ...events]
    this.wake(this.taken)
  }

  private readonly taken: Pull.Pull<Events<A>> = Effect.sync(() => {
    const events = this.ready!
    this.ready = undefined
    return events
  })

  private readonly forget = Effect.sync(() => {
    this.reader = undefined
  })

  readonly pull: Pull.Pull<Events<A>> = Effect.callback((resume) => {
    if (this.ready !== undefined) return resume(this.taken)
    if (this.end !== undefined) return resume(this.end)
    this.reader = resume
    this.release()
    this.onDemand()
    return this.forget
  })

  /** The reader has gone: nothing is kept for it, and the teller does not wait for it. */
  leave(): void {
    this.isGone = true
    this.ready = undefined
    this.release()
  }

  /** Lets the teller go on, as if more had been asked for. */
  release(): void {
    const teller = this.teller
    this.teller = undefined
    teller?.(this.isGone ? noMore : more)
  }

  /** There is nothing more to tell. What was delivered can still be read. */
  close(exit: Exit.Exit<void>): void {
    if (this.end !== undefined) return
    this.end = Exit.isSuccess(exit) ? Cause.done() : Effect.failCause(exit.cause)
    this.wake(this.end)
  }

  private wake(signal: Pull.Pull<Events<A>>): void {
    const reader = this.reader
    this.reader = undefined
    reader?.(signal)
  }
}
