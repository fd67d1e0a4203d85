// SPEC 5.8: a response that failed with a retryable error is asked for again where a policy says so.
import { describe, expect, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { ProviderError } from "../../src/services/Provider.ts"
import { call, failing, pause, policy, say, tokensIn, tool, user } from "../support/make.ts"
import { of, play } from "../support/play.ts"

/** Retries up to so many times, after so many milliseconds, and notes what it was asked. */
const patient = (times: number, ms = 100) => {
  const asked: Array<readonly [ProviderError, number]> = []
  const retry = policy((error, attempt) =>
    Effect.suspend(() => {
      asked.push([error, attempt])
      return attempt <= times ? Effect.succeedSome(Duration.millis(ms)) : Effect.succeedNone
    })
  )
  return { asked, retry }
}

const busy = failing("busy", true)

describe("a retry", () => {
  it.effect("tells of it, waits, and begins the response anew without what was streamed", () =>
    Effect.gen(function* () {
      const { asked, retry } = patient(2)
      const trace = yield* play([[say("half"), busy], [busy], [say("whole")]], { retry })
      expect(trace.outline).toEqual([
        "run(",
        "turn(",
        "user",
        "assistant(",
        "retry 1",
        "retry 2",
        "assistant stop",
        "turn)",
        "run) completed"
      ])
      expect(of(trace, "retry")[0]).toEqual({
        type: "retry",
        attempt: 1,
        delayMs: 100,
        error: { reason: "overloaded", retryable: true },
        errorMessage: "busy"
      })
      expect(trace.responses.map(({ content }) => content)).toEqual([[{ type: "text", text: "whole" }]])
      expect(of(trace, "agent_end")[0]?.messages).toEqual([user("go"), trace.responses[0]])
      expect(asked.map(([error, attempt]) => [error.message, attempt])).toEqual([
        ["busy", 1],
        ["busy", 2]
      ])
      expect(trace.endedAt).toBe(200)
      expect(trace.times[trace.events.findIndex((event) => event.type === "retry" && event.attempt === 2)]).toBe(100)
    })
  )

  it.effect("sends the same request, and asks no hook and no key again", () =>
    Effect.gen(function* () {
      let hooks = 0
      let keys = 0
      const trace = yield* play([[busy], [say("ok")]], {
        retry: patient(1).retry,
        resolveApiKey: () => Effect.sync(() => Redacted.make(`key ${keys++}`)),
        hooks: {
          transformContext: (messages) => Effect.sync(() => (hooks++, messages)),
          convertToLlm: () => Effect.sync(() => (hooks++, [user("converted")]))
        }
      })
      expect([hooks, keys]).toEqual([2, 1])
      expect(trace.requests[1]).toEqual(trace.requests[0])
      expect(trace.requests[1]?.messages).toEqual([user("converted")])
    })
  )

  it.effect("closes the stream that failed before the next one is opened", () =>
    Effect.gen(function* () {
      const { retry } = patient(1)
      const trace = yield* play([[say("x"), busy], [say("ok")]], { retry })
      expect(trace.streams).toEqual({ opened: 2, closed: 2 })
    })
  )

  it.effect("counts what the discarded attempts have cost", () =>
    Effect.gen(function* () {
      const costly = { ...busy, usage: tokensIn(5) } as typeof busy
      const trace = yield* play(
        [[costly], [costly], [say("ok"), { type: "done", reason: "stop", usage: tokensIn(100) }]],
        { retry: patient(2).retry }
      )
      expect(of(trace, "retry").map(({ usage }) => usage)).toEqual([tokensIn(5), tokensIn(5)])
      expect(of(trace, "agent_end")[0]?.usage).toEqual(tokensIn(110))
    })
  )

  it.effect("a stream that ended too early is retryable", () =>
    Effect.gen(function* () {
      const trace = yield* play([[say("x"), { type: "cut" }], [say("ok")]], { retry: patient(1).retry })
      expect(of(trace, "retry")[0]?.error).toEqual({ reason: "brokenStream", retryable: true })
      expect(trace.reason).toBe("completed")
    })
  )

  it.effect("the policy sees how long the provider asks to wait", () =>
    Effect.gen(function* () {
      const trace = yield* play([[{ ...busy, retryAfterMs: 250 } as typeof busy], [say("ok")]], {
        retry: policy(({ retryAfterMs }) => Effect.succeedSome(Duration.millis(retryAfterMs ?? 0)))
      })
      expect(of(trace, "retry")[0]).toMatchObject({ delayMs: 250, error: { retryAfterMs: 250 } })
      expect(trace.endedAt).toBe(250)
    })
  )

  it.effect("attempts are counted for each response anew", () =>
    Effect.gen(function* () {
      const { asked, retry } = patient(1)
      yield* play([[busy], [call("a")], [busy], [say("ok")]], { tools: [tool("a")], retry })
      expect(asked.map(([, attempt]) => attempt)).toEqual([1, 1])
    })
  )
})

describe("no retry", () => {
  it.effect("none of the policy lets the failure stand, with what was streamed last", () =>
    Effect.gen(function* () {
      const trace = yield* play(
        [
          [say("one"), busy],
          [say("two"), busy]
        ],
        { retry: patient(1).retry }
      )
      expect(trace.responses[0]).toMatchObject({
        content: [{ text: "two" }],
        stopReason: "error",
        errorMessage: "busy"
      })
      expect(trace.reason).toBe("error")
    })
  )

  it.effect("without a policy nothing is retried", () =>
    Effect.gen(function* () {
      const trace = yield* play([[busy], [say("never")]])
      expect(trace.reason).toBe("error")
      expect(trace.requests).toHaveLength(1)
    })
  )

  it.effect("what is not retryable is not asked about: a final error, a defect, nonsense", () =>
    Effect.gen(function* () {
      const { asked, retry } = patient(9)
      const turns = [
        [failing("final")],
        [{ type: "die" as const, message: "bug" }],
        [{ type: "text_end" as const, contentIndex: 3 }]
      ]
      for (const turn of turns) expect((yield* play([turn], { retry })).reason).toBe("error")
      expect(asked).toEqual([])
    })
  )

  it.effect("a policy that dies or throws gives an error response that says so", () =>
    Effect.gen(function* () {
      const died = yield* play([[say("kept"), busy]], { retry: policy(() => Effect.die(new Error("policy broke"))) })
      expect(died.responses[0]).toMatchObject({ errorMessage: "policy broke", content: [{ text: "kept" }] })
      const thrown = yield* play([[busy]], {
        retry: policy(() => {
          throw new Error("thrown")
        })
      })
      expect(thrown.responses[0]?.errorMessage).toBe("thrown")
    })
  )
})

describe("an abort around a retry", () => {
  it.effect("in the delay gives an empty aborted response, and nothing more is asked", () =>
    Effect.gen(function* () {
      const trace = yield* play([[say("half"), busy], [say("never")]], { retry: patient(1).retry }, { abortAt: 50 })
      expect(trace.outline.slice(3)).toEqual(["assistant(", "retry 1", "assistant aborted", "turn)", "run) aborted"])
      expect(trace.responses[0]?.content).toEqual([])
      expect(trace.requests).toHaveLength(1)
      expect(trace.endedAt).toBe(50)
    })
  )

  it.effect("while the policy decides keeps what was streamed", () =>
    Effect.gen(function* () {
      const trace = yield* play(
        [[say("half"), busy], [say("never")]],
        { retry: policy(() => Effect.delay(Effect.succeedSome(Duration.millis(1)), 1000)) },
        { abortAt: 50 }
      )
      expect(trace.outline.slice(-3)).toEqual(["assistant aborted", "turn)", "run) aborted"])
      expect(trace.responses[0]?.content).toEqual([{ type: "text", text: "half" }])
      expect(trace.endedAt).toBe(50)
    })
  )

  it.effect("while the policy decides, or if it dies, what the failed attempt has cost is counted", () =>
    Effect.gen(function* () {
      const costly = { ...busy, usage: tokensIn(5) } as typeof busy
      for (const retry of [policy(() => Effect.never), policy(() => Effect.die("policy"))]) {
        const trace = yield* play([[costly]], { retry }, { abortAt: 5 })
        expect(of(trace, "agent_end")[0]?.usage).toEqual(tokensIn(5))
      }
    })
  )

  it.effect("while the retry itself is told of makes no request", () =>
    Effect.gen(function* () {
      const trace = yield* play(
        [[busy], [say("never")]],
        { retry: patient(1, 0).retry },
        { abortOn: (event) => event.type === "retry" }
      )
      expect(trace.reason).toBe("aborted")
      expect(trace.requests).toHaveLength(1)
    })
  )

  it.effect("in the second attempt keeps what that had streamed", () =>
    Effect.gen(function* () {
      const trace = yield* play(
        [
          [say("one"), busy],
          [say("two"), pause(1000), say("three")]
        ],
        { retry: patient(1, 10).retry },
        { abortAt: 500 }
      )
      expect(trace.responses[0]?.content).toEqual([{ type: "text", text: "two" }])
    })
  )
})
