/**
 * Plays the steps of a world within an activity: pauses in the one way in which all of them behave, and the steps of its
 * own in the way of the part that is played.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { Consumer, Pause } from "../World.ts"
import type { Journal, Ongoing } from "./journal.ts"
import type { Machine } from "./machine.ts"

/** Where a world is played. */
export interface Stage {
  readonly machine: Machine
  readonly journal: Journal
  /** The clock of the world, which is not the one of the loop: only the loop's own sleeps are to be explained. */
  readonly clock: Clock.Clock
  /** Does what the reader of the events would do to stop the run. */
  readonly stop: () => void
}

/** What the steps of one part mean that are no pauses. */
export interface Part<S, A, E> {
  /** A step after which it goes on; undefined for one that ends it. */
  readonly does?: ((step: S) => Effect.Effect<void> | undefined) | undefined
  /** The result, from the step that ends it, or from none. */
  readonly ends: (step: S | undefined) => Effect.Effect<A, E>
}

type Step = { readonly type: string }

const pauses: ReadonlyArray<string> = [
  "wait",
  "stall",
  "die",
  "deaf",
  "finalizer",
  "uninterruptible",
  "interrupt",
  "abort"
] satisfies ReadonlyArray<Pause["type"]>

const isPause = (step: Step): step is Pause => pauses.includes(step.type)

/** The time that a step takes; without one, for ever. */
export const lapse = (ms: number | undefined): Effect.Effect<void> =>
  ms === undefined ? Effect.never : Effect.sleep(ms)

export const perform = <S extends Step, A, E>(
  stage: Stage,
  activity: Ongoing,
  steps: ReadonlyArray<S | Pause>,
  part: Part<Exclude<S, Pause>, A, E>
): Effect.Effect<A, E> => {
  const from = (index: number): Effect.Effect<A, E> =>
    Effect.suspend(() => {
      const step = steps[index]
      if (step === undefined) return part.ends(undefined)
      if (isPause(step)) return pause(step, from(index + 1))
      const done = part.does?.(step as Exclude<S, Pause>)
      return done === undefined ? part.ends(step as Exclude<S, Pause>) : Effect.andThen(done, from(index + 1))
    })
  const pause = (step: Pause, rest: Effect.Effect<A, E>): Effect.Effect<A, E> => {
    switch (step.type) {
      case "wait":
        return Effect.andThen(Effect.sleep(step.ms), rest)
      case "stall":
        return Effect.never
      case "die":
        return Effect.die(new Error(step.message))
      case "deaf":
        return Effect.andThen(stage.journal.shield(activity, lapse(step.ms)), rest)
      case "finalizer":
        return withFinalizer(stage, activity, step, rest)
      case "uninterruptible":
        return stage.journal.shield(activity, rest)
      case "interrupt":
        return Effect.interrupt
      case "abort":
        return Effect.andThen(Effect.sync(stage.stop), rest)
    }
  }
  return Effect.provideService(from(0), Clock.Clock, stage.clock)
}

type Finalizer = Extract<Pause, { type: "finalizer" }>

const withFinalizer = <A, E>(stage: Stage, parent: Ongoing, step: Finalizer, rest: Effect.Effect<A, E>) =>
  Effect.uninterruptibleMask((restore) => Effect.onExit(restore(rest), () => finalize(stage, parent, step)))

/** A finalizer of an activity. It cannot be interrupted. */
export const finalize = (stage: Stage, parent: Ongoing, { ms, dies }: Finalizer): Effect.Effect<void> => {
  const last = dies === true ? Effect.die(new Error("the finalizer dies")) : Effect.void
  return stage.journal
    .track({ kind: "finalizer", name: parent.name, parent }, (activity) =>
      stage.journal.shield(activity, Effect.andThen(lapse(ms), last))
    )
    .pipe(Effect.uninterruptible, Effect.provideService(Clock.Clock, stage.clock))
}

/** The time that who reads takes after an event. */
export const rest = (stage: Stage, { slowMs = 0, pauses = [] }: Consumer, index: number): Effect.Effect<void> => {
  const ms = pauses.reduce((sum, pause) => (pause.event === index ? sum + pause.ms : sum), slowMs)
  if (ms === 0) return Effect.void
  const pause = stage.journal.track({ kind: "consumer", name: "pause" }, () => Effect.sleep(ms))
  return Effect.provideService(pause, Clock.Clock, stage.clock)
}

/** Counts, and gives what the world says of the n-th time, or of the last one that it speaks of. */
export const inTurn = <A>(lists: ReadonlyArray<A> | undefined, otherwise: A): (() => A) => {
  let count = 0
  return () => lists?.[Math.min(count++, lists.length - 1)] ?? otherwise
}
