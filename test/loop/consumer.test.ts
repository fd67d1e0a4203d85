// A run is pulled by its consumer: one that is slow holds it back, one whose pull is interrupted loses nothing, and a fast
// one does not keep other fibers from running (SPEC 9.9, 9.13).
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Pull from "effect/Pull"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import type { AgentEvent } from "../../src/AgentEvent.ts"
import * as Scripted from "../../src/providers/Scripted.ts"
import type { ProviderEvent } from "../../src/services/Provider.ts"
import * as TraceChecker from "../../src/testing/TraceChecker.ts"
import { call, pause, provider, say, slow, tool, user } from "../support/make.ts"
import { longestStretch, play, settle, stream } from "../support/play.ts"
import { tokens } from "../support/tokens.ts"

/** A response of so many text deltas in arrays of this size, and how often it was pulled. */
const counted = (deltas: number, size: number) => {
  const counts = { pulls: 0 }
  const events: Array<ProviderEvent> = [{ type: "start" }, { type: "text_start", contentIndex: 0 }]
  for (let delta = 0; delta < deltas; delta++) events.push({ type: "text_delta", contentIndex: 0, delta: "x" })
  events.push({ type: "done", reason: "stop" })
  const source = provider(() =>
    Stream.fromPull(
      Effect.sync(() => {
        let from = 0
        return Effect.sync(() => {
          counts.pulls++
          return events.slice(from, (from += size)) as [ProviderEvent]
        })
      })
    )
  )
  return { counts, source }
}

describe("back-pressure", () => {
  it.effect("the provider is pulled once for each array that the consumer takes", () =>
    Effect.gen(function* () {
      const { counts, source } = counted(100, 1)
      const ahead: Array<number> = []
      let taken = 0
      yield* stream(source).pipe(
        Stream.runForEachArray(() =>
          Effect.andThen(
            settle,
            Effect.sync(() => {
              taken++
              ahead.push(counts.pulls - taken)
            })
          )
        )
      )
      expect(counts.pulls).toBe(103)
      expect(Math.max(...ahead)).toBeLessThanOrEqual(0)
    })
  )

  it.effect("a consumer that stops reading stops the run at its next wait", () =>
    Effect.gen(function* () {
      const scripted = yield* Scripted.make(
        { turns: [[say("one"), pause(10), say("two")], [say("never")]] },
        { arrays: Infinity }
      )
      yield* Effect.scoped(
        Effect.gen(function* () {
          const pull = yield* Stream.toPull(stream(scripted))
          yield* pull
          yield* TestClock.adjust("1 hour")
          expect(scripted.requests).toHaveLength(0)
          yield* pull
          yield* TestClock.adjust("1 hour")
          expect(scripted.requests).toHaveLength(1)
        })
      )
    })
  )

  it.effect("tools that were started go on without it", () =>
    Effect.gen(function* () {
      let finished = 0
      const scripted = yield* Scripted.make({ turns: [[call("a"), call("b")]] }, { arrays: Infinity })
      const counting = (name: string) =>
        tool(name, () =>
          Effect.delay(
            Effect.sync(() => `${finished++}`),
            name === "a" ? 10 : 1000
          )
        )
      yield* Effect.scoped(
        Effect.gen(function* () {
          const pull = yield* Stream.toPull(stream(scripted, { tools: [counting("a"), counting("b")] }))
          yield* Effect.repeat(pull, { times: 2 })
          const ended = yield* Effect.forkChild(pull)
          yield* TestClock.adjust(10)
          expect(tokens(yield* Fiber.join(ended)).at(-1)).toBe("end a")
          yield* TestClock.adjust("1 hour")
          expect(finished).toBe(2)
        })
      )
    })
  )
})

describe("an interrupted pull", () => {
  it.effect("is followed by the next events, and none is lost", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust(0)
      const turns = [
        [say("one"), pause(25), say("two"), call("a"), call("b")],
        [say("three", 1), pause(7), say("four")]
      ]
      const options = { tools: [slow("a", 30), slow("b", 12)] }
      const whole = yield* play(turns, options)
      for (const patience of [1, 3, 10]) {
        const scripted = yield* Scripted.make({ turns }, { arrays: Infinity })
        const events: Array<AgentEvent> = []
        let interrupted = 0
        const reading = Effect.scoped(
          Effect.gen(function* () {
            const pull = yield* Stream.toPull(stream(scripted, options))
            const pullOnce = Effect.timeoutOption(pull, patience)
            while (true) {
              const pulled = yield* Pull.catchDone(pullOnce, () => Effect.succeed("done" as const))
              if (pulled === "done") return
              if (Option.isSome(pulled)) events.push(...pulled.value)
              else interrupted++
            }
          })
        )
        const fiber = yield* Effect.forkChild(reading)
        yield* TestClock.adjust("1 minute")
        yield* Fiber.join(fiber)
        expect(interrupted).toBeGreaterThan(3)
        expect(tokens(events)).toEqual(whole.tokens)
        expect(Option.isNone(TraceChecker.check(events))).toBe(true)
      }
    })
  )
})

describe("other fibers", () => {
  for (const size of [1, 64, 700, 1024, 5000]) {
    it.effect(`run at least once in 1,024 events that come in arrays of ${size}`, () =>
      Effect.gen(function* () {
        expect(yield* longestStretch(counted(10_000, size).source)).toBeLessThanOrEqual(1024)
      })
    )
  }

  it.effect("run between the events of very many prompts", () =>
    Effect.gen(function* () {
      const prompts = Array.from({ length: 3000 }, (_, index) => user(`${index}`))
      const done = provider(() => Stream.make<Array<ProviderEvent>>({ type: "done", reason: "stop" }))
      expect(yield* longestStretch(done, { prompts })).toBeLessThanOrEqual(1024)
    })
  )

  it.effect("may abort a run that never waits", () =>
    Effect.gen(function* () {
      const { source } = counted(200_000, 64)
      const fiber = yield* Effect.forkChild(Stream.runDrain(stream(source)))
      yield* Effect.yieldNow
      yield* Fiber.interrupt(fiber)
      expect(fiber.pollUnsafe()).toBeDefined()
    })
  )
})

describe("depth", () => {
  it.effect("20,000 arrays of one event do not deepen the stack", () =>
    Effect.gen(function* () {
      const { source } = counted(20_000, 1)
      expect(yield* Stream.runCount(stream(source))).toBe(20_000 + 9)
    })
  )

  it.effect("neither do 2,000 turns", () =>
    Effect.gen(function* () {
      const turns = Array.from({ length: 2000 }, (_, index) => [call("a", {}, `c${index}`)])
      const scripted = yield* Scripted.make({ turns: [...turns, [say("ok")]] }, { arrays: Infinity })
      const count = yield* Stream.runCount(stream(scripted, { tools: [tool("a")] }))
      expect(count).toBeGreaterThan(20_000)
      expect(scripted.streams).toEqual({ opened: 2001, closed: 2001 })
    })
  )
})
