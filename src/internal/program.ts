/**
 * What a program is written with: a generator that appends events to an outbox and yields waits. A driver (driver.ts) runs
 * it, and delivers events before each wait.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import * as Utils from "effect/Utils"

/** What a program yields: an effect that gives the exit of what was waited for. Made by `wait` and `cleanup`. */
export type Wait<A, E, R> = Effect.Effect<Exit.Exit<A, E>, never, R>

/** Waits for an effect. An abort interrupts it; one that was asked for before keeps it from starting. */
export const wait = <A, E, R>(effect: Effect.Effect<A, E, R>): Wait<A, E, R> =>
  Effect.exit(Effect.interruptible(effect))

/** Waits for an effect that an abort must not interrupt, such as the closing of a scope. */
export const cleanup: <A, E, R>(effect: Effect.Effect<A, E, R>) => Wait<A, E, R> = Effect.exit

/**
 * Waits for an effect over and over, until it fails or the handler of its values says false, and gives the last exit. What
 * the handler appends is delivered before the next wait. For what happens often: a program is resumed through all of its
 * generators.
 */
export const repeat = <A, E, R>(effect: Effect.Effect<A, E, R>, onValue: (value: A) => boolean): Repeated<A, E, R> =>
  new Repeated(wait(effect), onValue)

class Repeated<A, E, R> implements Repeating<R> {
  readonly wait: Wait<A, E, R>
  readonly onValue: (value: A) => boolean

  constructor(wait: Wait<A, E, R>, onValue: (value: A) => boolean) {
    this.wait = wait
    this.onValue = onValue
  }

  [Symbol.iterator](): Utils.SingleShotGen<Repeated<A, E, R>, Exit.Exit<A, E>> {
    return new Utils.SingleShotGen(this)
  }
}

/** What a program yields: a wait, or one that is repeated. */
export type Step<R> = Wait<unknown, unknown, R> | Repeating<R>

interface Repeating<R> {
  readonly wait: Wait<unknown, unknown, R>
  readonly onValue: (value: never) => boolean
}

export const isRepeating = <R>(step: Step<R>): step is Repeating<R> => step instanceof Repeated

/** Events, and the waits between them. Only in its waits can a program be interrupted. */
export type Program<A, R> = (run: Run<A>) => Generator<Step<R>, void, never>

/** What a program has of its run. */
export interface Run<in out A> {
  /** Events that are not yet delivered. Each delivery replaces the array: do not keep it over a wait. */
  readonly outbox: Array<A>
  /** Whether an abort was asked for. A program is to learn of it by `wasAborted`. */
  readonly isAborted: boolean
  /** Closed when the run is over, however it ends: what outlives a wait belongs to it. */
  readonly scope: Scope.Closeable
}

/** Whether a wait ended because the run was aborted, and not because what it waited for was interrupted by others. */
export const wasAborted = <A>(run: Run<A>, exit: Exit.Exit<unknown, unknown>): boolean =>
  run.isAborted && Exit.isFailure(exit) && Cause.hasInterrupts(exit.cause)

/** After so many events the driving fiber lets others run. */
export const EVENTS_PER_YIELD = 1024
