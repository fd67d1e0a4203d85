// Random scripts, tools, hooks and polls, with an abort at a random instant or event: every run obeys the grammar, which
// `play` checks, ends within the grace period, and leaves nothing behind.
import { expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Scripted from "../../src/providers/Scripted.ts"
import { play, type Trace } from "../support/play.ts"
import { GRACE, howOf, optionsOf, turnsOf, World } from "../support/world.ts"

const worlds = Arbitrary.schema(World)

/** Plays a world, and notes when each request was made. */
const playWorld = Effect.fnUntraced(function* (world: World) {
  const start = yield* Clock.currentTimeMillis
  const scripted = yield* Scripted.make({ turns: turnsOf(world) }, { arrays: world.arrays })
  const requestedAt: Array<number> = []
  const provider = {
    stream: (request: Parameters<typeof scripted.stream>[0]) =>
      Stream.unwrap(
        Effect.map(Clock.currentTimeMillis, (now) => {
          requestedAt.push(now - start)
          return scripted.stream(request)
        })
      )
  }
  const trace = yield* play(provider, optionsOf(world), howOf(world))
  return { trace, scripted, requestedAt }
})

/** When the run was aborted: at an instant, or when an event was handed over. */
const abortedAt = (world: World, { times }: Trace): number => {
  const { abortAt, abortOn } = howOf(world)
  return Math.min(abortAt, (abortOn !== undefined && times[abortOn]) || abortAt)
}

it.effect.prop(
  "every run obeys the grammar, and ends within the grace period after an abort",
  [worlds],
  ([world]) =>
    Effect.gen(function* () {
      const rejections: Array<unknown> = []
      const note = (reason: unknown) => rejections.push(reason)
      process.on("unhandledRejection", note)
      const { trace, scripted, requestedAt } = yield* playWorld(world)
      process.off("unhandledRejection", note)
      expect(rejections).toEqual([])
      const abort = abortedAt(world, trace)
      expect(trace.endedAt).toBeLessThanOrEqual(abort + GRACE)
      // Nothing is asked after an abort, and no stream stays open.
      expect(requestedAt.filter((at) => at > abort)).toEqual([])
      expect(scripted.streams.closed).toBe(scripted.streams.opened)
    }),
  { arbitrary: { runs: 1000, size: 40 }, timeout: 60_000 }
)

it.effect.prop(
  "a world gives the same run whenever it is played",
  [worlds],
  ([world]) =>
    Effect.gen(function* () {
      const first = yield* playWorld(world)
      const second = yield* playWorld(world)
      expect(second.trace.tokens).toEqual(first.trace.tokens)
      expect(second.trace.times).toEqual(first.trace.times)
    }),
  { arbitrary: { runs: 100, size: 40 }, timeout: 60_000 }
)
