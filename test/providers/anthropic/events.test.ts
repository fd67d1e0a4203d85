// What the events of the API come to, one by one, without a network.
import { describe, expect, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { ResponseEvents } from "../../../src/providers/anthropic/events.ts"
import type { ProviderEvent } from "../../../src/services/Provider.ts"
import * as wire from "./wire.ts"

const eventsOf = (...events: ReadonlyArray<wire.WireEvent>) => {
  const response = new ResponseEvents()
  for (const event of events) response.take(event.type, JSON.stringify(event))
  return response
}

/** The events of a response with these events between its start and its end. */
const told = (...events: ReadonlyArray<wire.WireEvent>): ReadonlyArray<ProviderEvent> =>
  eventsOf(wire.start(), ...events, wire.halt("end_turn"), wire.stop)
    .drain()
    .slice(1, -1)

const doneOf = (...events: ReadonlyArray<wire.WireEvent>) =>
  eventsOf(wire.start(), ...events, wire.stop)
    .drain()
    .at(-1)

describe("a block", () => {
  it("of thinking ends with its signature", () => {
    expect(told(...wire.thinking(0, "c2ln", "I ", "think"))).toEqual([
      { type: "thinking_start", contentIndex: 0 },
      { type: "thinking_delta", contentIndex: 0, delta: "I " },
      { type: "thinking_delta", contentIndex: 0, delta: "think" },
      { type: "thinking_end", contentIndex: 0, signature: "c2ln" }
    ])
  })

  it("of thinking may have only a signature, also in parts", () => {
    const parts = ["c2", "ln"].map((signature) => wire.delta(0, { type: "signature_delta", signature }))
    expect(told(wire.begin(0, { type: "thinking", thinking: "", signature: "" }), ...parts, wire.end(0))).toEqual([
      { type: "thinking_start", contentIndex: 0 },
      { type: "thinking_end", contentIndex: 0, signature: "c2ln" }
    ])
  })

  it("of redacted thinking has its data for a signature", () => {
    expect(told(wire.begin(0, { type: "redacted_thinking", data: "opaque" }), wire.end(0))).toEqual([
      { type: "thinking_start", contentIndex: 0, redacted: true, signature: "opaque" },
      { type: "thinking_end", contentIndex: 0 }
    ])
  })

  it("of a call has its arguments as text, with or without an end", () => {
    expect(told(...wire.call(0, "read", "toolu_1", "", '{"path":', '"a"}'))).toEqual([
      { type: "toolcall_start", contentIndex: 0, id: "toolu_1", name: "read" },
      { type: "toolcall_delta", contentIndex: 0, delta: '{"path":' },
      { type: "toolcall_delta", contentIndex: 0, delta: '"a"}' },
      { type: "toolcall_end", contentIndex: 0 }
    ])
    expect(told(...wire.call(0, "now", "toolu_1"))).toEqual([
      { type: "toolcall_start", contentIndex: 0, id: "toolu_1", name: "now" },
      { type: "toolcall_end", contentIndex: 0 }
    ])
  })

  it("of a call may come with its arguments", () => {
    const block = { type: "tool_use", id: "toolu_1", name: "read", input: { path: "a" } }
    expect(told(wire.begin(0, block), wire.end(0))[1]).toEqual({
      type: "toolcall_delta",
      contentIndex: 0,
      delta: '{"path":"a"}'
    })
  })

  it("may begin with a text", () => {
    expect(
      told(wire.begin(0, { type: "text", text: "a" }), wire.delta(0, { type: "text_delta", text: "b" }), wire.end(0))
    ).toEqual([
      { type: "text_start", contentIndex: 0 },
      { type: "text_delta", contentIndex: 0, delta: "a" },
      { type: "text_delta", contentIndex: 0, delta: "b" },
      { type: "text_end", contentIndex: 0 }
    ])
  })

  it("that nobody knows is told as a whole, in its place, with the input that came in parts", () => {
    const search = { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} }
    const found = { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [{ url: "x" }] }
    expect(
      told(
        ...wire.text(0, "Let me see."),
        wire.begin(1, search),
        ...['{"query":', '"effect"}'].map((partial_json) => wire.delta(1, { type: "input_json_delta", partial_json })),
        wire.end(1),
        wire.begin(2, found),
        wire.delta(2, { type: "text_delta", text: "of an unknown kind" }),
        wire.end(2),
        ...wire.text(3, "Found.")
      ).filter(({ type }) => !type.endsWith("delta"))
    ).toEqual([
      { type: "text_start", contentIndex: 0 },
      { type: "text_end", contentIndex: 0 },
      { type: "other", contentIndex: 1, data: { ...search, input: { query: "effect" } } },
      { type: "other", contentIndex: 2, data: found },
      { type: "text_start", contentIndex: 3 },
      { type: "text_end", contentIndex: 3 }
    ])
  })

  it("may come between the parts of another", () => {
    const deltas = told(
      wire.begin(0, { type: "text", text: "" }),
      wire.begin(7, { type: "text", text: "" }),
      wire.delta(0, { type: "text_delta", text: "a" }),
      wire.delta(7, { type: "text_delta", text: "b" }),
      wire.end(0),
      wire.delta(7, { type: "text_delta", text: "c" }),
      wire.end(7)
    ).filter((event) => event.type === "text_delta")
    expect(deltas.map(({ contentIndex, delta }) => [contentIndex, delta])).toEqual([
      [0, "a"],
      [1, "b"],
      [1, "c"]
    ])
  })
})

describe("a delta of text", () => {
  const spellings = [
    (text: string, index: number) => JSON.stringify(wire.delta(index, { type: "text_delta", text })),
    (text: string, index: number) =>
      JSON.stringify({ index, type: "content_block_delta", delta: { text, type: "text_delta" } }),
    (text: string, index: number) => JSON.stringify(wire.delta(index, { type: "text_delta", text }), null, 1),
    (text: string, index: number) => JSON.stringify({ ...wire.delta(index, { type: "text_delta", text }), more: "}" }),
    (text: string, index: number) =>
      JSON.stringify(wire.delta(index, { type: "text_delta", text, more: { text: "x" } }))
  ]

  it.prop(
    "is the text that a parser reads, however it is written",
    [Schema.String, Schema.Literals(["", '"', "\\", '"}}', '\\"', "\n", "\ud800", "🦊", '","text":"'])],
    ([before, after]) => {
      const text = before + after
      for (const write of spellings) {
        for (const index of [0, 1]) {
          const response = eventsOf(wire.start(), wire.begin(0, { type: "text", text: "" }))
          response.take("", JSON.stringify(wire.begin(1, { type: "text", text: "" })))
          response.drain()
          response.take("", write(text, index))
          const { text: read } = (JSON.parse(write(text, index)) as { readonly delta: { readonly text: string } }).delta
          expect(response.drain()).toEqual(
            read === "" ? [] : [{ type: "text_delta", contentIndex: index, delta: read }]
          )
          expect(response.wasActive()).toBe(true)
        }
      }
    },
    { arbitrary: { runs: 500 } }
  )
})

describe("the end", () => {
  const usage = { input: 10, output: 5, cacheRead: 0, cacheWrite: 0, totalTokens: 15 }
  const call = wire.call(0, "read", "toolu_1", "{}")

  it.each<[reason: string | null, ending: object]>([
    ["end_turn", { reason: "stop" }],
    ["stop_sequence", { reason: "stop" }],
    ["max_tokens", { reason: "length" }],
    ["tool_use", { reason: "toolUse" }],
    ["pause_turn", { reason: "stop", stopDetail: { type: "pause_turn" } }],
    ["model_context_window_exceeded", { reason: "length", stopDetail: { type: "model_context_window_exceeded" } }],
    ["refusal", { reason: "stop", stopDetail: { type: "refusal" } }],
    ["bored", { reason: "stop", stopDetail: { type: "bored" } }],
    [null, { reason: "stop" }]
  ])("for the reason %s", (reason, ending) => {
    expect(doneOf(wire.halt(reason))).toEqual({ type: "done", ...ending, usage })
  })

  it("says why it was refused, by its category where nothing else is said", () => {
    const refusal = (details: object) => doneOf(wire.halt("refusal", { stop_details: { type: "refusal", ...details } }))
    expect(refusal({ category: "bio", explanation: "no" })).toMatchObject({
      stopDetail: { type: "refusal", message: "no" }
    })
    expect(refusal({ category: "bio", explanation: null })).toMatchObject({
      stopDetail: { type: "refusal", message: "bio" }
    })
  })

  it("is a fault where a refusal comes after a call", () => {
    const response = eventsOf(wire.start(), ...call, wire.halt("refusal"), wire.stop)
    expect([response.isOver, response.fault]).toEqual([false, { _tag: "Refused", why: "" }])
  })

  it("without a reason is known by the calls", () => {
    expect(doneOf(...call)).toMatchObject({ reason: "toolUse" })
    expect(doneOf()).toMatchObject({ reason: "stop" })
  })

  it("is the end", () => {
    const response = eventsOf(wire.start(), wire.stop, wire.start(), ...wire.text(0, "more"))
    expect(response.drain().map(({ type }) => type)).toEqual(["start", "done"])
    expect(response.fault).toBeUndefined()
  })
})

describe("usage", () => {
  const request = { input_tokens: 7, output_tokens: 1, cache_read_input_tokens: 100, cache_creation_input_tokens: 20 }

  it("is the last of the sums, and what is null is as before", () => {
    const response = eventsOf(
      wire.start(request),
      wire.halt(null, {}, { output_tokens: 30, input_tokens: null, cache_read_input_tokens: null }),
      wire.halt("end_turn", {}, { output_tokens: 42, input_tokens: 9, cache_creation_input_tokens: 0 }),
      wire.stop
    )
    expect(response.usage).toEqual({ input: 9, output: 42, cacheRead: 100, cacheWrite: 20, totalTokens: 171 })
    expect(response.drain().at(-1)).toMatchObject({ reason: "stop", usage: response.usage })
  })

  it("is there before the end, but not before the start", () => {
    expect(new ResponseEvents().usage).toBeUndefined()
    expect(eventsOf(wire.start(request)).usage).toMatchObject({ input: 7, output: 1 })
  })

  it("counts what is written to the cache by its parts, where nothing else is said of it", () => {
    const cache_creation = { ephemeral_5m_input_tokens: 30, ephemeral_1h_input_tokens: 40 }
    const costs: Array<unknown> = []
    const response = new ResponseEvents(({ cacheWrite, cacheWrite1h }) => {
      costs.push([cacheWrite, cacheWrite1h])
      return undefined
    })
    const event = wire.start({ input_tokens: 7, cache_creation_input_tokens: null, cache_creation })
    response.take(event.type, JSON.stringify(event))
    expect(response.usage).toMatchObject({ input: 7, cacheWrite: 70, totalTokens: 77 })
    expect(costs).toEqual([[70, 40]])
  })

  it("of a server that counts nothing is zero", () => {
    expect(eventsOf({ type: "message_start" }).usage).toMatchObject({ totalTokens: 0 })
  })
})
