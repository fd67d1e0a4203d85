// SPEC 5.5 and 5.7: a stream that fails, dies, ends too early or makes no sense is an error response that keeps what had
// arrived.
import { describe, expect, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type * as Scripted from "../../src/providers/Scripted.ts"
import { ProviderError, type ProviderEvent } from "../../src/services/Provider.ts"
import { call, failing, nonsense, pause, provider, say, tokensIn, tool, untyped } from "../support/make.ts"
import { of, play } from "../support/play.ts"

/** Plays one response, made of these steps. */
const respond = (...turn: ReadonlyArray<Scripted.Step>) => play([turn])

describe("failures (B4)", () => {
  const closed = { stopReason: "error", error: { reason: "brokenStream" } }

  it.effect("a stream that closes without done is an error that says so, and keeps what had arrived", () =>
    Effect.gen(function* () {
      const trace = yield* respond(say("partial"), { type: "cut" })
      expect(trace.responses[0]).toMatchObject({ ...closed, content: [{ text: "partial" }] })
      expect(trace.responses[0]?.errorMessage).toContain("ended before the response was complete")
      expect(trace.reason).toBe("error")
    })
  )

  it.effect("so is an empty one", () =>
    Effect.gen(function* () {
      expect((yield* respond({ type: "cut" })).responses[0]).toMatchObject({ ...closed, content: [] })
      expect((yield* play(provider(() => Stream.empty))).responses[0]).toMatchObject(closed)
    })
  )

  it.effect("a ProviderError is in the message, in words and as data", () =>
    Effect.gen(function* () {
      const trace = yield* respond(say("par"), {
        type: "error",
        reason: "rateLimit",
        message: "slow down",
        retryable: true,
        retryAfterMs: 1500,
        usage: tokensIn(4)
      })
      expect(trace.responses[0]).toMatchObject({
        content: [{ text: "par" }],
        stopReason: "error",
        errorMessage: "slow down",
        error: { reason: "rateLimit", retryable: true, retryAfterMs: 1500 },
        usage: tokensIn(4)
      })
      expect(of(trace, "agent_end")[0]?.usage).toEqual(tokensIn(4))
    })
  )

  it.effect("a failure that is an abort is an aborted response", () =>
    Effect.gen(function* () {
      const trace = yield* respond(say("par"), { type: "error", reason: "aborted", message: "gone" })
      expect(trace.responses[0]).toMatchObject({ stopReason: "aborted", errorMessage: "gone" })
      expect(trace.reason).toBe("aborted")
    })
  )

  it.effect("a dying stream is an error response that keeps what was streamed", () =>
    Effect.gen(function* () {
      const trace = yield* respond(say("par"), { type: "die", message: "bug" })
      expect(trace.responses[0]).toMatchObject({
        content: [{ text: "par" }],
        stopReason: "error",
        errorMessage: "bug",
        error: { reason: "unknown", retryable: false }
      })
    })
  )

  it.effect("a stream that is interrupted by others is an error, not an abort", () =>
    Effect.gen(function* () {
      const trace = yield* play(provider(() => Stream.fromEffect(Effect.interrupt)))
      expect(trace.reason).toBe("error")
    })
  )

  it.effect("a call cut off by a failure never runs", () =>
    Effect.gen(function* () {
      let ran = 0
      const trace = yield* play([[call("a"), failing("broke")]], {
        tools: [tool("a", () => Effect.sync(() => `${ran++}`))]
      })
      expect([ran, trace.results.length, trace.reason]).toEqual([0, 0, "error"])
    })
  )

  it.effect("a provider that throws, gives no stream, or dies in giving it", () =>
    Effect.gen(function* () {
      const messageOf = Effect.fnUntraced(function* (stream: () => unknown) {
        const trace = yield* play(provider(untyped(stream)))
        expect(trace.outline.slice(3)).toEqual(["assistant error", "turn)", "run) error"])
        return trace.responses[0]?.errorMessage
      })
      const throwing = () => {
        throw new Error("thrown")
      }
      expect(yield* messageOf(throwing)).toBe("thrown")
      for (const given of [undefined, null, 3, [], Effect.succeed(1), Promise.resolve()]) {
        expect(yield* messageOf(() => given)).toBe("The provider did not give a stream.")
      }
      expect(yield* messageOf(() => Stream.die("dead"))).toBe("dead")
      expect(
        yield* messageOf(() => Stream.fail(new ProviderError({ reason: "network", message: "off", retryable: true })))
      ).toBe("off")
      expect(yield* messageOf(() => Stream.failCause(Cause.die({ message: "odd" })))).toBe("odd")
    })
  )
})

describe("events that make no sense", () => {
  const start: Scripted.Step = { type: "start" }
  const text: Scripted.Step = { type: "text_start", contentIndex: 0 }
  const cases: ReadonlyArray<[string, ReadonlyArray<Scripted.Step>]> = [
    ["a delta of a block that was not started", [start, { type: "text_delta", contentIndex: 0, delta: "x" }]],
    ["a delta of another kind than the block", [start, text, { type: "thinking_delta", contentIndex: 0, delta: "x" }]],
    ["an argument delta of a text block", [start, text, { type: "toolcall_delta", contentIndex: 0, delta: "{" }]],
    ["a text delta of a call", [call("a"), { type: "text_delta", contentIndex: 0, delta: "x" }]],
    ["an end of a block that was not started", [start, { type: "toolcall_end", contentIndex: 0 }]],
    ["an end of another kind than the block", [start, text, { type: "thinking_end", contentIndex: 0 }]],
    ["a second end of a block", [say("x"), { type: "text_end", contentIndex: 0 }]],
    ["a delta behind the end of its block", [say("x"), { type: "text_delta", contentIndex: 0, delta: "y" }]],
    [
      "an end of a block that is unknown",
      [
        { type: "other", contentIndex: 0, data: 1 },
        { type: "text_end", contentIndex: 0 }
      ]
    ],
    ["a block that starts twice", [start, text, text]],
    ["a block that skips an index", [start, { type: "text_start", contentIndex: 1 }]],
    ["a negative index", [start, { type: "text_start", contentIndex: -1 }]],
    ["a second start", [start, start]],
    ["a delta that is no text", [start, text, nonsense({ type: "text_delta", contentIndex: 0, delta: 5 })]],
    ["a delta that is null", [start, text, nonsense({ type: "text_delta", contentIndex: 0, delta: null })]],
    ["a delta without an index", [start, text, nonsense({ type: "text_delta", delta: "x" })]],
    [
      "arguments that are no text",
      [
        call("a"),
        nonsense({ type: "toolcall_start", contentIndex: 1, id: "b", name: "b" }),
        nonsense({ type: "toolcall_delta", contentIndex: 1, delta: {} })
      ]
    ],
    ["an event that is null", [start, nonsense(null)]],
    ["an event that is undefined", [start, nonsense(undefined)]],
    [
      "an event with a getter that throws",
      [
        start,
        nonsense({
          get type() {
            throw new Error("getter")
          }
        })
      ]
    ]
  ]

  for (const [name, turn] of cases) {
    it.effect(`${name}: an error response that keeps what was folded`, () =>
      Effect.gen(function* () {
        const events = turn.flatMap((step) => stepEvents(step))
        const trace = yield* play(
          provider(() => Stream.fromIterable([...events, { type: "done", reason: "stop" } as const])),
          { tools: [tool("a")] }
        )
        expect(trace.reason).toBe("error")
        expect(trace.responses[0]?.errorMessage).toBeTruthy()
        expect(trace.responses[0]?.error?.retryable).toBe(false)
        expect(trace.results).toHaveLength(0)
        const begun = events.filter((event) => /_start$|^other$/.test(typeOf(event))).length
        expect(trace.responses[0]?.content.length).toBeLessThanOrEqual(begun)
        expect(trace.responses[0]?.content.length).toBeGreaterThanOrEqual(begun - 1)
      })
    )
  }

  it.effect("nothing behind the fault is folded", () =>
    Effect.gen(function* () {
      const trace = yield* respond(
        say("kept"),
        { type: "text_delta", contentIndex: 4, delta: "x" },
        say("dropped"),
        pause(5),
        say("dropped")
      )
      expect(trace.responses[0]?.content).toEqual([{ type: "text", text: "kept" }])
      expect(trace.responses[0]?.errorMessage).toContain("text_delta came for block 4")
      expect(trace.endedAt).toBe(0)
      expect(trace.streams).toEqual({ opened: 1, closed: 1 })
    })
  )
})

const typeOf = (event: ProviderEvent): string => {
  const descriptor = event === null || event === undefined ? undefined : Object.getOwnPropertyDescriptor(event, "type")
  return typeof descriptor?.value === "string" ? descriptor.value : ""
}

/** The events of a step, whole blocks taken apart. */
const stepEvents = (step: Scripted.Step): ReadonlyArray<ProviderEvent> => {
  const type = typeOf(step as ProviderEvent)
  if (type === "text") {
    return [
      { type: "start" },
      { type: "text_start", contentIndex: 0 },
      { type: "text_delta", contentIndex: 0, delta: "x" },
      { type: "text_end", contentIndex: 0 }
    ]
  }
  if (type === "toolCall") {
    return [
      { type: "start" },
      { type: "toolcall_start", contentIndex: 0, id: "a", name: "a" },
      { type: "toolcall_end", contentIndex: 0 }
    ]
  }
  return [step as ProviderEvent]
}
