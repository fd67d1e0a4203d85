// The standard retry policy in worlds: with a fault at every step of a run that is retried, every promise is kept.
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as RetryPolicy from "../../src/RetryPolicy.ts"
import * as Faults from "../../src/testing/Faults.ts"
import type * as Recording from "../../src/testing/Recording.ts"
import * as Simulation from "../../src/testing/Simulation.ts"
import type { World } from "../../src/testing/World.ts"
import * as Worlds from "../../src/testing/Worlds.ts"
import { call, failing, pause, say } from "../support/make.ts"

const agent = { retry: RetryPolicy.standard }

const busy = failing("busy", true)
const told = (retryAfterMs: number) => ({ ...busy, retryAfterMs }) as typeof busy

const worlds: Record<string, World> = {
  "two failures, then an answer": { turns: [[say("so far"), busy], [pause(3), told(700)], [say("done")]] },
  "failures around a batch of calls": {
    turns: [[call("a"), call("b"), busy], [call("a"), call("b")], [told(20), say("never")], [say("done")]],
    tools: [
      { name: "a", calls: [[{ type: "wait", ms: 10 }]] },
      { name: "b", calls: [[{ type: "wait", ms: 5 }]] }
    ]
  },
  "failures without end": { turns: Array.from({ length: 9 }, () => [say("so far"), busy]) }
}

const retries = (recording: Recording.Recording) =>
  recording.events.flatMap(({ event }) => (event.type === "retry" ? [event.attempt] : []))

describe("with the standard policy every promise is kept", () => {
  it.effect.each(Object.entries(worlds))("with a fault at every step: %s", ([, world]) =>
    Effect.gen(function* () {
      const { failures, runs } = yield* Random.withSeed(Faults.everywhere(world, agent), 1)
      expect(failures.map(Faults.show)).toEqual([])
      expect(runs).toBeGreaterThan(50)
    })
  )

  it.effect.prop(
    "in generated worlds",
    [Worlds.arbitrary],
    ([world]) =>
      Effect.map(Random.withSeed(Faults.check(world, agent), 1), ({ failures }) => {
        expect(failures.map(Faults.show)).toEqual([])
      }),
    { arbitrary: { runs: 200, seed: 1 }, timeout: 60_000 }
  )

  it.effect("the worlds come to what they say", () =>
    Effect.gen(function* () {
      const attempts = yield* Effect.forEach(Object.values(worlds), (world) =>
        Effect.map(Simulation.run(world, agent), retries)
      )
      expect(attempts).toEqual([
        [1, 2],
        [1, 1],
        [1, 2, 3, 4, 5]
      ])
    })
  )
})
