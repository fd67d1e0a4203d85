// Whole runs against a fake of the API that others made (aimock), and what a retry policy makes of failures. What the fake
// cannot do is done by a server of bytes.
import { type Fixture, LLMock } from "@copilotkit/aimock"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import * as RetryPolicy from "../../../src/RetryPolicy.ts"
import * as Tool from "../../../src/Tool.ts"
import { play } from "./play.ts"
import { breaks, fails, providerOf, serve, streams } from "./server.ts"
import * as wire from "./wire.ts"
import { says, sse } from "./wire.ts"

/** A fake that answers the n-th request with the n-th response. */
const fakeOf = Effect.fnUntraced(function* (
  responses: ReadonlyArray<Fixture["response"]>,
  options: Omit<Fixture, "match" | "response"> = {}
) {
  let asked = 0
  const mock = new LLMock({ port: 0, host: "127.0.0.1", strict: true, logLevel: "silent" })
  for (const [index, response] of responses.entries()) {
    mock.addFixture({
      match: { predicate: () => asked === index },
      response: () => (asked++, response as never),
      ...options
    })
  }
  const url = yield* Effect.acquireRelease(
    Effect.promise(() => mock.start()),
    () => Effect.promise(() => mock.stop())
  )
  return { url, requests: () => mock.getRequests() }
})

const City = Schema.Struct({ city: Schema.String })
const weather = Tool.make({
  name: "weather",
  description: "The weather of a city.",
  parameters: City,
  execute: ({ city }) =>
    city === "Atlantis"
      ? Effect.fail(new Tool.ToolFailure({ message: "There is no such city." }))
      : Effect.succeed(`Sunny in ${city}`)
})
const time = Tool.make({
  name: "time",
  description: "The time of a city.",
  parameters: City,
  execute: ({ city }) => Effect.succeed(`Noon in ${city}`)
})

const callsOf = (...calls: ReadonlyArray<readonly [name: string, city: string]>) =>
  calls.map(([name, city], index) => ({ id: `toolu_${city}_${index}`, name, arguments: JSON.stringify({ city }) }))

describe("a conversation", () => {
  it.live("with several tools, text before and between them, and small deltas", () =>
    Effect.gen(function* () {
      const fake = yield* fakeOf(
        [
          {
            content: "I look it up.",
            toolCalls: callsOf(["weather", "Rome"], ["time", "Oslo"], ["weather", "Atlantis"])
          },
          {
            blocks: [
              { type: "toolCall", ...callsOf(["time", "Rome"])[0]! },
              { type: "text", text: "One more." }
            ]
          },
          { content: "Sunny, and noon.", usage: { input_tokens: 12, output_tokens: 3 } }
        ],
        { chunkSize: 3 }
      )
      const { reason, responses, results, events } = yield* play(yield* providerOf(fake), {
        tools: [weather, time],
        systemPrompt: "Answer."
      })
      expect(reason).toBe("completed")
      expect(responses.map(({ stopReason }) => stopReason)).toEqual(["toolUse", "toolUse", "stop"])
      expect(responses[0]!.content).toMatchObject([
        { type: "text", text: "I look it up." },
        { type: "toolCall", name: "weather", arguments: { city: "Rome" } },
        { type: "toolCall", name: "time", arguments: { city: "Oslo" } },
        { type: "toolCall", name: "weather", arguments: { city: "Atlantis" } }
      ])
      expect(responses[2]!.content).toEqual([{ type: "text", text: "Sunny, and noon." }])
      expect(results.map(({ content, isError }) => [content[0], isError])).toEqual([
        [{ type: "text", text: "Sunny in Rome" }, false],
        [{ type: "text", text: "Noon in Oslo" }, false],
        [{ type: "text", text: "There is no such city." }, true],
        [{ type: "text", text: "Noon in Rome" }, false]
      ])
      expect(events.filter(({ type }) => type === "message_update").length).toBeGreaterThan(30)
      expect(responses[2]!.usage).toMatchObject({ input: 12, output: 3, cacheRead: 0, cacheWrite: 0, totalTokens: 15 })
    })
  )

  it.live.each(["claude-haiku-4-5", "claude-sonnet-4-6"])("with thinking that goes back to %s", (id) =>
    Effect.gen(function* () {
      const fake = yield* fakeOf([
        {
          reasoning: "I must ask.",
          reasoningSignature: "c2ln",
          redactedThinking: ["b3BhcXVl"],
          toolCalls: callsOf(["weather", "Rome"])
        },
        { content: "Sunny." },
        { content: "You are welcome." }
      ])
      const provider = yield* providerOf(fake)
      const options = { tools: [weather], thinkingLevel: "medium", model: { id, provider: "anthropic" } } as const
      const first = yield* play(provider, options)
      expect(first.reason).toBe("completed")
      expect(first.responses[0]!.content.filter(({ type }) => type === "thinking")).toEqual(
        expect.arrayContaining([
          { type: "thinking", thinking: "I must ask.", thinkingSignature: "c2ln" },
          { type: "thinking", thinking: "[Reasoning redacted]", thinkingSignature: "b3BhcXVl", redacted: true }
        ])
      )
      const second = yield* play(provider, { ...options, messages: first.messages })
      expect(second.responses[0]!.content).toEqual([{ type: "text", text: "You are welcome." }])
    })
  )

  it.live("that fails ends in peace", () =>
    Effect.gen(function* () {
      const fake = yield* fakeOf([
        { toolCalls: callsOf(["weather", "Rome"]) },
        { error: { type: "invalid_request_error", message: "prompt is too long: 9 tokens > 8 maximum" }, status: 400 }
      ])
      const { reason, responses } = yield* play(yield* providerOf(fake), { tools: [weather] })
      expect(reason).toBe("error")
      expect(responses.at(-1)).toMatchObject({
        stopReason: "error",
        error: { reason: "contextWindow", retryable: false }
      })
    })
  )
})

describe("a failure that may pass", () => {
  const retry = RetryPolicy.standard

  it.effect("is waited for as the server asks: 429 and 529, on the virtual clock", () =>
    Effect.gen(function* () {
      const fake = yield* fakeOf([
        { error: { type: "rate_limit_error", message: "slow down" }, status: 429, retryAfter: 40 },
        { error: { type: "overloaded_error", message: "Overloaded" }, status: 529 },
        { content: "At last." }
      ])
      const running = yield* Effect.forkChild(play(yield* providerOf(fake, { idleLimit: 0 }), { retry }), {
        startImmediately: true
      })
      const { events, responses, reason } = yield* adjustUntilDone(running)
      expect(reason).toBe("completed")
      expect(responses).toMatchObject([{ content: [{ type: "text", text: "At last." }], stopReason: "stop" }])
      expect(events.filter((event) => event.type === "retry")).toMatchObject([
        { attempt: 1, delayMs: 40_000, error: { reason: "rateLimit", retryAfterMs: 40_000 } },
        { attempt: 2, error: { reason: "overloaded", retryable: true } }
      ])
      expect(fake.requests().length).toBe(3)
    })
  )

  it.effect("of a broken connection begins anew: no text twice, no half call", () =>
    Effect.gen(function* () {
      const half = sse(
        wire.start(),
        ...wire.text(0, "I will "),
        ...wire.call(1, "weather", "toolu_1", '{"city":"Ro').slice(0, -1)
      )
      const server = yield* serve(
        breaks(half),
        fails(503, "api_error", "busy", { "retry-after-ms": "500" }),
        streams(
          sse(
            wire.start(),
            ...wire.text(0, "I will look."),
            ...wire.call(1, "weather", "toolu_1", '{"city":"Rome"}'),
            wire.halt("tool_use"),
            wire.stop
          )
        ),
        streams(says("Sunny."))
      )
      const running = yield* Effect.forkChild(
        play(yield* providerOf(server, { idleLimit: 0 }), { retry, tools: [weather] }),
        {
          startImmediately: true
        }
      )
      const { messages, events, results } = yield* adjustUntilDone(running)
      expect(events.flatMap((event) => (event.type === "retry" ? [event.error.reason] : []))).toEqual([
        "brokenStream",
        "overloaded"
      ])
      expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "toolResult", "assistant"])
      expect(messages[1]!.content).toMatchObject([{ text: "I will look." }, { arguments: { city: "Rome" } }])
      expect(results.length).toBe(1)
      expect(server.requests.slice(0, 3).map(({ body }) => body)).toEqual(
        Array.from({ length: 3 }, () => server.requests[0]!.body)
      )
    })
  )
})

/** Lets virtual time pass until a run is over that waits for a real connection in between. That has no limit here. */
const adjustUntilDone = <A>(running: Fiber.Fiber<A>): Effect.Effect<A> =>
  Effect.suspend(() =>
    running.pollUnsafe() === undefined
      ? Effect.andThen(nextTask, Effect.andThen(TestClock.adjust("10 seconds"), adjustUntilDone(running)))
      : Fiber.join(running)
  )

const nextTask = Effect.callback<void>((resume) => void setImmediate(() => resume(Effect.void)))
