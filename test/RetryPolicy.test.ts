// The standard retry policy: how long it waits and when it gives up, alone, in runs and in agents, on the virtual clock.
import { describe, expect, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Pull from "effect/Pull"
import * as Random from "effect/Random"
import * as Result from "effect/Result"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import * as RetryPolicy from "../src/RetryPolicy.ts"
import { ProviderError, ProviderErrorReason } from "../src/services/Provider.ts"
import { retryAfter } from "../src/providers/anthropic/retryAfter.ts"
import * as Agents from "./Agent/harness.ts"
import { call, failing, pause, say, tool } from "./support/make.ts"
import { of, play } from "./support/play.ts"

const failure = (retryAfterMs?: number, retryable = true) =>
  new ProviderError({
    reason: "overloaded",
    message: "busy",
    retryable,
    ...(retryAfterMs !== undefined && { retryAfterMs })
  })

/** The delays that a policy gives for failures, each of which comes so many milliseconds after the wait before it. */
const delaysOf = (policy: RetryPolicy.RetryPolicy, failures: ReadonlyArray<ProviderError>, tookMs = 0) =>
  Effect.gen(function* () {
    const step = yield* Schedule.toStep(policy)
    const delays: Array<number> = []
    let now = 1_000
    for (const error of failures) {
      const decided = yield* Pull.matchEffect(step(now, error), {
        onSuccess: ([, delay]) => Effect.succeed(Duration.toMillis(delay)),
        onFailure: Effect.failCause,
        onDone: () => Effect.void
      })
      if (decided === undefined) return delays
      delays.push(decided)
      now += decided + tookMs
    }
    return delays
  })

const many = (error: ProviderError) => Array.from({ length: 50 }, () => error)

const Ms = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 200_000 }))

describe("the delay", () => {
  it.effect.prop("doubles, give or take a fifth, up to the greatest one", [Schema.Int, Ms, Ms], ([seed, base, cap]) =>
    Effect.gen(function* () {
      const policy = RetryPolicy.make({
        baseDelay: base,
        maxDelay: cap,
        maxRetries: 8,
        maxElapsed: Duration.infinity
      })
      const delays = yield* Random.withSeed(delaysOf(policy, many(failure())), seed)
      expect(delays.length).toBe(8)
      for (const [index, delay] of delays.entries()) {
        expect(Number.isInteger(delay)).toBe(true)
        expect(delay).toBeGreaterThanOrEqual(Math.min(cap, Math.floor(base * 2 ** index * 0.8)))
        expect(delay).toBeLessThanOrEqual(Math.min(cap, Math.ceil(base * 2 ** index * 1.2)))
      }
    })
  )

  it.effect("is not the same for everybody", () =>
    Effect.gen(function* () {
      const delays = yield* Effect.forEach(many(failure()), (error) => delaysOf(RetryPolicy.standard, [error]))
      expect(new Set(delays.flat()).size).toBeGreaterThan(20)
    })
  )

  it.effect.prop("is the one that the provider asks for, up to the greatest one", [Ms, Ms], ([asked, cap]) =>
    Effect.gen(function* () {
      const policy = RetryPolicy.make({ maxDelay: cap, maxElapsed: Duration.infinity })
      expect(yield* delaysOf(policy, [failure(), failure(asked), failure(asked)])).toMatchObject({
        1: Math.min(asked, cap),
        2: Math.min(asked, cap)
      })
    })
  )

  it.effect("begins anew for each response", () =>
    Effect.gen(function* () {
      for (const [delay] of [
        yield* delaysOf(RetryPolicy.standard, many(failure())),
        yield* delaysOf(RetryPolicy.standard, many(failure()))
      ]) {
        expect(delay).toBeLessThanOrEqual(1_200)
      }
    })
  )
})

describe("the limits", () => {
  it.effect("let a response be asked for again so many times", () =>
    Effect.gen(function* () {
      for (const maxRetries of [0, 1, 3, 7]) {
        expect(yield* delaysOf(RetryPolicy.make({ maxRetries }), many(failure(10)))).toHaveLength(maxRetries)
      }
      expect(yield* delaysOf(RetryPolicy.standard, many(failure(10)))).toHaveLength(5)
    })
  )

  it.effect.prop(
    "let no attempt begin later than so long after the first failure, however long the attempts take",
    [Ms, Ms, Ms],
    ([maxElapsed, asked, took]) =>
      Effect.gen(function* () {
        const policy = RetryPolicy.make({ maxElapsed, maxRetries: 50, maxDelay: Duration.infinity })
        const delays = yield* delaysOf(policy, many(failure(asked)), took)
        const fitting = maxElapsed < asked ? 0 : Math.floor((maxElapsed - asked) / (asked + took)) + 1
        expect(delays).toHaveLength(Math.min(fitting, 50))
      })
  )

  it.effect("a failure that asking again does not help is not retried, whatever else it says", () =>
    Effect.gen(function* () {
      for (const reason of ProviderErrorReason.literals) {
        const error = new ProviderError({ reason, message: "no", retryable: false, retryAfterMs: 1 })
        expect(yield* delaysOf(RetryPolicy.standard, [error])).toEqual([])
      }
      expect(yield* delaysOf(RetryPolicy.standard, [failure(1), failure(1, false), failure(1)])).toEqual([1])
    })
  )
})

it.effect("is a schedule like any other: Effect.retry takes it", () =>
  Effect.gen(function* () {
    let attempts = 0
    const asking = Effect.suspend(() => Effect.fail(failure(1_000, ++attempts < 3)))
    const retrying = yield* Effect.forkChild(Effect.result(Effect.retry(asking, RetryPolicy.standard)))
    yield* TestClock.adjust(2_000)
    expect(Result.isFailure(yield* Fiber.join(retrying))).toBe(true)
    expect(attempts).toBe(3)
  })
)

// ---------------------------------------------------------------------------------------------------------------------
// Runs
// ---------------------------------------------------------------------------------------------------------------------

const busy = failing("busy", true)
const told = (retryAfterMs: number | undefined) =>
  ({ ...busy, ...(retryAfterMs !== undefined && { retryAfterMs }) }) as typeof busy

describe("a run with the standard policy", () => {
  it.effect("waits as the server's headers say, or backs off where they say nothing", () =>
    Effect.gen(function* () {
      const now = Date.parse("Mon, 30 Nov 2026 10:00:00 GMT")
      const cases: ReadonlyArray<readonly [headers: Record<string, string>, least: number, most: number]> = [
        [{ "retry-after": "7" }, 7_000, 7_000],
        [{ "retry-after-ms": "250" }, 250, 250],
        [{ "retry-after": "Mon, 30 Nov 2026 10:00:20 GMT" }, 20_000, 20_000],
        [{ "retry-after": "86400" }, 60_000, 60_000],
        [{ "retry-after": "soon" }, 800, 1_200],
        [{ "retry-after": "Mon, 30 Nov 2026 09:00:00 GMT" }, 800, 1_200],
        [{}, 800, 1_200]
      ]
      for (const [headers, least, most] of cases) {
        const asked = retryAfter(new Headers(headers), now)
        const trace = yield* play([[say("half"), told(asked)], [say("whole")]], { retry: RetryPolicy.standard })
        const [retry] = of(trace, "retry")
        expect(retry).toMatchObject({ attempt: 1, errorMessage: "busy", error: { reason: "overloaded" } })
        expect(retry!.error.retryAfterMs).toBe(asked)
        expect(retry!.delayMs).toBeGreaterThanOrEqual(least)
        expect(retry!.delayMs).toBeLessThanOrEqual(most)
        expect(trace.endedAt).toBe(retry!.delayMs)
        expect(trace.responses.map(({ content }) => content)).toEqual([[{ type: "text", text: "whole" }]])
      }
    })
  )

  it.effect("gives up after five retries, with the last failure", () =>
    Effect.gen(function* () {
      const turns = Array.from({ length: 9 }, (_, index) => [say(`try ${index}`), busy])
      const trace = yield* play(turns, { retry: RetryPolicy.standard })
      expect(of(trace, "retry").map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5])
      expect(trace.requests).toHaveLength(6)
      expect(trace.responses[0]).toMatchObject({ stopReason: "error", content: [{ text: "try 5" }] })
    })
  )

  it.effect("counts each response by itself", () =>
    Effect.gen(function* () {
      const failures = Array.from({ length: 5 }, () => [busy])
      const trace = yield* play([...failures, [call("a")], ...failures, [say("ok")]], {
        retry: RetryPolicy.standard,
        tools: [tool("a")]
      })
      expect(of(trace, "retry").map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5, 1, 2, 3, 4, 5])
      expect(trace.reason).toBe("completed")
    })
  )

  it.effect("the time that a response takes before its first failure is no part of the limit", () =>
    Effect.gen(function* () {
      const trace = yield* play([[say("long"), pause(500_000), busy], [say("ok")]], { retry: RetryPolicy.standard })
      expect(trace.reason).toBe("completed")
    })
  )

  it.effect("does not begin another attempt after five minutes", () =>
    Effect.gen(function* () {
      const slow = [pause(200_000), busy]
      const trace = yield* play([slow, slow, slow, slow], { retry: RetryPolicy.standard }, { within: "1 hour" })
      expect(trace.requests).toHaveLength(3)
      expect(trace.reason).toBe("error")
    })
  )

  it.effect("an abort in the wait ends it at once", () =>
    Effect.gen(function* () {
      const trace = yield* play(
        [[say("half"), told(30_000)], [say("never")]],
        { retry: RetryPolicy.standard },
        { abortAt: 10 }
      )
      expect(trace.outline.slice(3)).toEqual(["assistant(", "retry 1", "assistant aborted", "turn)", "run) aborted"])
      expect([trace.endedAt, trace.requests.length]).toEqual([10, 1])
    })
  )
})

// ---------------------------------------------------------------------------------------------------------------------
// Agents
// ---------------------------------------------------------------------------------------------------------------------

describe("an agent", () => {
  const turns = [[say("half"), busy], [busy], [say("whole")]]

  it.effect("has the standard policy unless told otherwise", () =>
    Effect.gen(function* () {
      const { agent, requests } = yield* Agents.make(turns)
      expect(yield* Agents.toEnd(agent.prompt("go"))).toMatchObject({ reason: "completed", text: "whole" })
      expect(requests).toHaveLength(3)
    })
  )

  it.effect("has none with `retry: false`", () =>
    Effect.gen(function* () {
      const { agent, requests } = yield* Agents.make(turns, { retry: false })
      expect(yield* agent.prompt("go")).toMatchObject({ reason: "error", text: "half", errorMessage: "busy" })
      expect(requests).toHaveLength(1)
    })
  )

  it.effect("takes another", () =>
    Effect.gen(function* () {
      const { agent, requests } = yield* Agents.make(turns, { retry: Schedule.recurs(1) })
      expect(yield* agent.prompt("go")).toMatchObject({ reason: "error", errorMessage: "busy" })
      expect(requests).toHaveLength(2)
    })
  )

  it.effect("that is aborted in the wait ends at once", () =>
    Effect.gen(function* () {
      const { agent, requests } = yield* Agents.make([[told(30_000)], [say("never")]])
      const running = yield* Agents.start(agent.prompt("go"))
      yield* Agents.pass(10)
      yield* agent.abort
      yield* Agents.settle
      expect(yield* Agents.resultOf(running)).toMatchObject({ reason: "aborted", text: "" })
      expect(requests).toHaveLength(1)
    })
  )
})
