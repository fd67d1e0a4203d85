// SPEC 5: how a provider's events become one message, and what becomes of a stream that fails or makes no sense.
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { AgentEvent } from "../../src/AgentEvent.ts"
import type * as Scripted from "../../src/providers/Scripted.ts"
import type { ProviderEvent } from "../../src/services/Provider.ts"
import { call, provider, rawCall, say, tokensIn, tool } from "../support/make.ts"
import { of, play } from "../support/play.ts"

/** Plays one response, made of these steps. */
const respond = (...turn: ReadonlyArray<Scripted.Step>) => play([turn])

const done: Scripted.Step = { type: "done", reason: "stop" }

describe("folding", () => {
  it.effect("blocks of all kinds, in the order of their index", () =>
    Effect.gen(function* () {
      const trace = yield* respond(
        { type: "thinking", text: "hm hm", chunk: 2 },
        say("hello", 3),
        { type: "other", contentIndex: 2, data: { kind: "search" } },
        { type: "thinking_start", contentIndex: 3, redacted: true, signature: "opaque" },
        { type: "thinking_end", contentIndex: 3 },
        { type: "thinking_start", contentIndex: 4 },
        { type: "thinking_delta", contentIndex: 4, delta: "why" },
        { type: "thinking_end", contentIndex: 4, signature: "proof" }
      )
      expect(trace.responses[0]?.content).toEqual([
        { type: "thinking", thinking: "hm hm" },
        { type: "text", text: "hello" },
        { type: "other", provider: "acme", data: { kind: "search" } },
        { type: "thinking", thinking: "[Reasoning redacted]", redacted: true, thinkingSignature: "opaque" },
        { type: "thinking", thinking: "why", thinkingSignature: "proof" }
      ])
    })
  )

  for (const size of [1, 1023, 1024, 1025, 3000]) {
    it.effect(`every event of arrays of ${size}, in order`, () =>
      Effect.gen(function* () {
        const deltas = Array.from({ length: 4000 }, (_, index): ProviderEvent => ({
          type: "text_delta",
          contentIndex: 0,
          delta: `${index} `
        }))
        const events: ReadonlyArray<ProviderEvent> = [
          { type: "start" },
          { type: "text_start", contentIndex: 0 },
          ...deltas,
          { type: "text_end", contentIndex: 0 },
          { type: "done", reason: "stop" }
        ]
        const arrays = Array.from({ length: Math.ceil(events.length / size) }, (_, index) =>
          Stream.fromIterable(events.slice(index * size, (index + 1) * size), { chunkSize: size })
        )
        const source = provider(() => Stream.flatten(Stream.fromIterable(arrays)))
        const { responses } = yield* play(source)
        expect(responses[0]?.content).toEqual([
          { type: "text", text: Array.from({ length: 4000 }, (_, index) => `${index} `).join("") }
        ])
      })
    )
  }

  it.effect("blocks may interleave", () =>
    Effect.gen(function* () {
      const trace = yield* play(
        [
          [
            { type: "start" },
            { type: "text_start", contentIndex: 0 },
            { type: "toolcall_start", contentIndex: 1, id: "a", name: "a" },
            { type: "toolcall_start", contentIndex: 2, id: "b", name: "b" },
            { type: "toolcall_delta", contentIndex: 2, delta: '{"n"' },
            { type: "text_delta", contentIndex: 0, delta: "x" },
            { type: "toolcall_delta", contentIndex: 1, delta: '{"m":1}' },
            { type: "toolcall_delta", contentIndex: 2, delta: ":2}" },
            { type: "text_delta", contentIndex: 0, delta: "y" },
            { type: "toolcall_end", contentIndex: 2 },
            { type: "text_end", contentIndex: 0 },
            { type: "toolcall_end", contentIndex: 1 }
          ],
          [say("ok")]
        ],
        { tools: [tool("a"), tool("b")] }
      )
      expect(trace.responses[0]?.content).toEqual([
        { type: "text", text: "xy" },
        { type: "toolCall", id: "a", name: "a", arguments: { m: 1 } },
        { type: "toolCall", id: "b", name: "b", arguments: { n: 2 } }
      ])
      expect(trace.resultTexts).toEqual(["a done", "b done"])
    })
  )

  it.effect("an update carries the provider's event; ends carry what they end", () =>
    Effect.gen(function* () {
      const trace = yield* respond(say("hello", 3), { type: "thinking", text: "hm" }, rawCall("t", "{bad"))
      const events = of(trace, "message_update").map((update) => update.assistantMessageEvent)
      expect(events).toEqual([
        { type: "text_start", contentIndex: 0 },
        { type: "text_delta", contentIndex: 0, delta: "hel" },
        { type: "text_delta", contentIndex: 0, delta: "lo" },
        { type: "text_end", contentIndex: 0, content: "hello" },
        { type: "thinking_start", contentIndex: 1 },
        { type: "thinking_delta", contentIndex: 1, delta: "hm" },
        { type: "thinking_end", contentIndex: 1, content: "hm" },
        { type: "toolcall_start", contentIndex: 2, id: "t", name: "t" },
        { type: "toolcall_delta", contentIndex: 2, delta: "{bad" },
        {
          type: "toolcall_end",
          contentIndex: 2,
          toolCall: { type: "toolCall", id: "t", name: "t", arguments: {}, rawArguments: "{bad" }
        }
      ])
    })
  )

  it.effect("events before start are folded and give no update", () =>
    Effect.gen(function* () {
      const trace = yield* respond(
        { type: "text_start", contentIndex: 0 },
        { type: "text_delta", contentIndex: 0, delta: "early" },
        { type: "start" },
        { type: "text_delta", contentIndex: 0, delta: " late" },
        { type: "text_end", contentIndex: 0 },
        done
      )
      expect(trace.tokens.slice(3, 7)).toEqual(["assistant(", ".text_delta", ".text_end", "assistant) stop"])
      expect(of(trace, "message_start")[1]?.message).toMatchObject({ content: [{ type: "text", text: "early" }] })
      expect(trace.responses[0]?.content).toEqual([{ type: "text", text: "early late" }])
    })
  )

  it.effect("without any start the message starts with its final form", () =>
    Effect.gen(function* () {
      const trace = yield* respond(
        { type: "text_start", contentIndex: 0 },
        { type: "text_delta", contentIndex: 0, delta: "all" },
        { type: "done", reason: "length", usage: tokensIn(3) }
      )
      expect(trace.tokens.slice(3, 5)).toEqual(["assistant length", "turn)"])
      expect(of(trace, "message_start")[1]?.message).toEqual(trace.responses[0])
    })
  )

  it.effect("blocks that were not ended are ended by done", () =>
    Effect.gen(function* () {
      const trace = yield* play(
        [
          [
            { type: "start" },
            { type: "text_start", contentIndex: 0 },
            { type: "text_delta", contentIndex: 0, delta: "x" },
            { type: "toolcall_start", contentIndex: 1, id: "a", name: "a" },
            { type: "toolcall_delta", contentIndex: 1, delta: '{"n":1}' },
            { type: "done", reason: "toolUse" }
          ],
          [say("ok")]
        ],
        { tools: [tool("a")] }
      )
      expect(trace.responses[0]?.content[1]).toEqual({ type: "toolCall", id: "a", name: "a", arguments: { n: 1 } })
      expect(trace.resultTexts).toEqual(["a done"])
    })
  )

  it.effect("what the provider said of the end is in the message", () =>
    Effect.gen(function* () {
      const stopDetail = { type: "refusal", message: "no" }
      const trace = yield* respond(say("x"), { type: "done", reason: "stop", stopDetail, usage: tokensIn(9) })
      expect(trace.responses[0]).toMatchObject({ stopReason: "stop", stopDetail, usage: tokensIn(9) })
      expect(Object.keys(trace.responses[0] ?? {})).not.toContain("errorMessage")
    })
  )

  it.effect("unknown event types are ignored", () =>
    Effect.gen(function* () {
      const events = [
        { type: "ping" },
        { type: "start" },
        { type: "text_start", contentIndex: 0 },
        { type: "citation", index: 7, data: 1 },
        { type: "text_delta", contentIndex: 0, delta: "a" },
        { type: "text_end", contentIndex: 0 },
        done
      ] as ReadonlyArray<ProviderEvent>
      const trace = yield* play(provider(() => Stream.fromIterable(events)))
      expect(trace.reason).toBe("completed")
      expect(trace.responses[0]?.content).toEqual([{ type: "text", text: "a" }])
      expect(trace.tokens).not.toContain(".citation")
    })
  )

  it.effect("after done nothing more is pulled, and what came behind it in its array is ignored", () =>
    Effect.gen(function* () {
      let pulls = 0
      const events = (array: ReadonlyArray<ProviderEvent>) =>
        Effect.sync(() => {
          pulls++
          return array as [ProviderEvent]
        })
      const endless = Stream.fromPull(
        Effect.sync(() => {
          const arrays: ReadonlyArray<ReadonlyArray<ProviderEvent>> = [
            [{ type: "start" }, { type: "text_start", contentIndex: 0 }],
            [
              { type: "text_delta", contentIndex: 0, delta: "x" },
              { type: "done", reason: "stop" },
              { type: "text_delta", contentIndex: 0, delta: "never" },
              { type: "done", reason: "length" }
            ]
          ]
          return Effect.suspend(() => events(arrays[pulls] ?? [{ type: "ping" } as never]))
        })
      )
      const trace = yield* play(provider(() => endless))
      expect(pulls).toBe(2)
      expect(trace.responses[0]).toMatchObject({ stopReason: "stop", content: [{ text: "x" }] })
    })
  )

  it.effect("the stream is closed once the response is over, before any tool runs", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const streams = [[call("a")], [say("ok")]]
      const closing = provider((_, index) =>
        Stream.ensuring(
          Stream.fromIterable<ProviderEvent>(
            index === 0
              ? [
                  { type: "toolcall_start", contentIndex: 0, id: "a", name: "a" },
                  { type: "done", reason: "toolUse" }
                ]
              : [{ type: "done", reason: "stop" }]
          ),
          Effect.sync(() => void seen.push("closed"))
        )
      )
      yield* play(closing, { tools: [tool("a", () => Effect.sync(() => (seen.push("tool"), "x")))] })
      expect(seen).toEqual(["closed", "tool", "closed"])
      expect((yield* play(streams, { tools: [tool("a")] })).streams).toEqual({ opened: 2, closed: 2 })
    })
  )
})

describe("large and empty arrays", () => {
  it.effect("5,000 events in one array are one response", () =>
    Effect.gen(function* () {
      const text = "abcde".repeat(1000)
      const trace = yield* respond(say(text, 1))
      expect(of(trace, "message_update")).toHaveLength(5002)
      expect(trace.responses[0]?.content).toEqual([{ type: "text", text }])
    })
  )

  it.effect("empty arrays change nothing", () =>
    Effect.gen(function* () {
      const arrays: Array<ReadonlyArray<ProviderEvent>> = [
        [],
        [{ type: "start" }],
        [],
        [],
        [{ type: "done", reason: "stop" }]
      ]
      const stream = Stream.fromPull(Effect.sync(() => Effect.sync(() => arrays.shift() as [ProviderEvent])))
      const trace = yield* play(provider(() => stream))
      expect(trace.outline.slice(3)).toEqual(["assistant stop", "turn)", "run) completed"])
    })
  )

  it.effect("one event an array gives the same events as all in one", () =>
    Effect.gen(function* () {
      const turns = [[say("hello", 2), call("a", { n: 1 })], [say("ok")]]
      const whole = yield* play(turns, { tools: [tool("a")] })
      const single = yield* play(turns, { tools: [tool("a")] }, { arrays: 1 })
      expect(single.events.map(untimed)).toEqual(whole.events.map(untimed))
    })
  )
})

const untimed = (event: AgentEvent) => JSON.stringify(event).replaceAll(/"timestamp":\d+/g, "")
