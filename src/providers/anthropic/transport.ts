/**
 * A `fetch` that waits for as long as it takes. Node's own gives up on a server that is silent for five minutes, which a
 * model on a small machine may well be; it serves as long as nobody wants to wait longer.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/** How long Node's `fetch` waits, in milliseconds. */
export const FETCH_LIMIT = 5 * 60 * 1_000

/** Its connections are closed with the scope. */
export const patientFetch: Effect.Effect<typeof fetch, never, Scope.Scope> = Effect.gen(function* () {
  const { Agent, fetch } = yield* Effect.promise(() => import("@effect/platform-node/Undici"))
  const dispatcher = yield* Effect.acquireRelease(
    Effect.sync(() => new Agent({ headersTimeout: 0, bodyTimeout: 0 })),
    (agent) => Effect.promise(() => agent.destroy())
  )
  type Init = Parameters<typeof fetch>[1]
  return ((input: string, init: Init) => fetch(input, { ...init, dispatcher })) as unknown as typeof globalThis.fetch
})
