/**
 * Calls functions of the application so that whatever they do stays an exit: a throw, or a value that is no Effect. Events
 * tell only what a defect says; the log, at level debug, tells where it comes from.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import { wait } from "./program.ts"

/**
 * The effect that `f` gives. What `f` throws, or gives that is no Effect, is a defect of it; so is a value that the types
 * do not allow, where `accepts` can tell.
 */
export const guarded = <A, E, R>(
  what: string,
  f: () => Effect.Effect<A, E, R>,
  accepts?: (value: unknown) => boolean
): Effect.Effect<A, E, R> => {
  const called = Effect.suspend(() => {
    const effect = f()
    return Effect.isEffect(effect) ? effect : Effect.die(new TypeError(`${what} did not give an Effect.`))
  })
  const mustNot = () => Effect.die(new TypeError(`${what} gave a value that it must not give.`))
  const checked = accepts === undefined ? called : Effect.filterOrElse(called, accepts, mustNot)
  return Effect.tapCause(checked, (cause) => logDefect(what, cause))
}

export const logDefect = (what: string, cause: Cause.Cause<unknown>): Effect.Effect<void> =>
  Cause.hasDies(cause) ? Effect.logDebug(`${what} died`, cause) : Effect.void

/** Like a wait for `f`, but without one where the result is there at once. */
export function* immediately<A, E>(f: () => Effect.Effect<A, E>) {
  const called = Result.try(f)
  if (Result.isFailure(called)) return Exit.die(called.failure)
  return Exit.isExit(called.success) ? called.success : yield* wait(called.success)
}
