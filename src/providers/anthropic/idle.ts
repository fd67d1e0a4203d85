/**
 * Notices that a server has gone silent. One timer serves a whole response: it looks how long the wait that is going on has
 * taken, and sleeps for what is left. Time in which nobody waits for the server does not count.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

export interface IdleWatch {
  /** Somebody begins to wait for the server, or has got something from it and begins anew. */
  readonly begin: () => void
  /** Nobody waits for the server. */
  readonly end: () => void
  /** The limit was reached. */
  readonly isIdle: () => boolean
}

/** Watches from now on, for as long as the scope is open. `onIdle` has to end the wait. A limit of 0 is none. */
export const watch = Effect.fnUntraced(function* (
  limit: number,
  onIdle: () => void
): Effect.fn.Return<IdleWatch, never, Scope.Scope> {
  const clock = yield* Clock.Clock
  let since: number | undefined = clock.currentTimeMillisUnsafe()
  let isIdle = false
  const left = () => (since === undefined ? limit : since + limit - clock.currentTimeMillisUnsafe())
  const timer = Effect.gen(function* () {
    for (let rest = left(); rest > 0; rest = left()) yield* Effect.sleep(rest)
    isIdle = true
    onIdle()
  })
  if (limit > 0) yield* Effect.forkScoped(timer, { startImmediately: true })
  return {
    begin: () => {
      since = clock.currentTimeMillisUnsafe()
    },
    end: () => {
      since = undefined
    },
    isIdle: () => isIdle
  }
})
