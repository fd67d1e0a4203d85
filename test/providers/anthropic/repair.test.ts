// Whatever was cut out of a transcript, put into it or aborted: what is sent is a valid request.
import { describe, expect, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { LlmMessage } from "../../../src/Message.ts"
import { toTurns } from "../../../src/providers/anthropic/repair.ts"
import { prepare } from "../../../src/providers/anthropic/request.ts"
import type { Settings } from "../../../src/providers/anthropic/settings.ts"
import { assistant, user } from "../../support/make.ts"
import { model, requestOf, settings as defaults } from "./play.ts"
import { violationsOf } from "./rules.ts"

// ---------------------------------------------------------------------------------------------------------------------
// Transcripts of all sorts
// ---------------------------------------------------------------------------------------------------------------------

const Text = Schema.Literals(["", " \n", "a", "b\ud800", "🦊"])
const Id = Schema.Literals(["1", "2", "a|b", "a:b", ""])
const texts = Schema.Struct({ type: Schema.tag("text"), text: Text })
const images = Schema.Struct({
  type: Schema.tag("image"),
  data: Schema.Literals(["", "aGk="]),
  mimeType: Schema.Literals(["image/png", "image/bmp"])
})
const thoughts = Schema.Struct({
  type: Schema.tag("thinking"),
  thinking: Text,
  thinkingSignature: Schema.optionalKey(Schema.Literals(["", "c2ln"])),
  redacted: Schema.optionalKey(Schema.Boolean)
})
const calls = Schema.Struct({
  type: Schema.tag("toolCall"),
  id: Id,
  name: Schema.Literals(["read", "my.tool", ""]),
  arguments: Schema.Union([
    Schema.Null,
    Schema.Literals(["x\ud800", 1]),
    Schema.Struct({ path: Text }),
    Schema.Array(Text)
  ])
})
const others = Schema.Struct({
  type: Schema.tag("other"),
  provider: Schema.Literals(["anthropic", "elsewhere"]),
  data: Schema.Union([
    Schema.Struct({
      type: Schema.tag("server_tool_use"),
      id: Schema.Literals(["s1", "s2"]),
      name: Schema.tag("web_search")
    }),
    Schema.Struct({ type: Schema.tag("web_search_tool_result"), tool_use_id: Schema.Literals(["s1", "s2"]) }),
    Schema.Struct({ type: Schema.tag("of_the_future") }),
    Schema.Null,
    Schema.String
  ])
})

const tokens = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 }

const Transcript = Schema.Array(
  Schema.Union([
    Schema.Struct({
      role: Schema.tag("user"),
      content: Schema.Union([Text, Schema.Array(Schema.Union([texts, images]))])
    }),
    Schema.Struct({
      role: Schema.tag("assistant"),
      content: Schema.Array(Schema.Union([texts, thoughts, calls, others])),
      provider: Schema.Literals(["anthropic", "elsewhere"]),
      model: Schema.Literals(["claude-sonnet-4-6", "claude-haiku-4-5", "claude-opus-5-5", "m"]),
      stopReason: Schema.Literals(["stop", "toolUse", "length", "error", "aborted"]),
      stopDetail: Schema.optionalKey(Schema.Struct({ type: Schema.Literals(["pause_turn", "refusal"]) }))
    }),
    Schema.Struct({
      role: Schema.tag("toolResult"),
      toolCallId: Id,
      toolName: Schema.tag("read"),
      content: Schema.Array(Schema.Union([texts, images])),
      isError: Schema.Boolean
    })
  ])
)

const messagesOf = (transcript: typeof Transcript.Type): ReadonlyArray<LlmMessage> =>
  transcript.map(
    (message) =>
      (message.role === "assistant"
        ? { ...message, usage: tokens, timestamp: 0 }
        : { ...message, timestamp: 0 }) as LlmMessage
  )

const Settled = Schema.Struct({
  id: Schema.Literals([
    "claude-sonnet-4-6",
    "claude-haiku-4-5",
    "claude-opus-5-5",
    "claude-sonnet-5-5",
    "claude-x",
    "m"
  ]),
  level: Schema.UndefinedOr(Schema.Literals(["minimal", "high", "xhigh"])),
  cache: Schema.Literals(["5m", "1h", "off"]),
  hasTools: Schema.Boolean
})

const settings: Settings = { ...defaults, cache: "5m" }

const tools = [{ name: "read", description: "Reads.", parameters: { type: "object" } }]

describe("any transcript", () => {
  it.prop(
    "gives a valid request, or nothing to send",
    [Transcript, Settled],
    ([transcript, { id, level, cache, hasTools }]) => {
      const messages = messagesOf(transcript)
      const request = requestOf({
        messages,
        model: { id, provider: "anthropic" },
        thinkingLevel: level,
        systemPrompt: "s",
        tools: hasTools ? tools : undefined
      })
      const prepared = prepare(request, { ...settings, cache })
      if (Result.isFailure(prepared)) {
        expect(prepared.failure.message).toContain("nothing to ask")
        expect(toTurns(messages, { model: request.model, images: true, thinking: true })).toEqual([])
      } else expect(violationsOf(prepared.success.params as never)).toEqual([])
    },
    { arbitrary: { runs: 5_000 } }
  )

  it.prop(
    "begins the same when more was said, so that what the API has kept is found again",
    [Transcript, Transcript],
    ([before, after]) => {
      const first = [...messagesOf(before), user("and?")]
      const second = [...first, assistant([{ type: "text", text: "well" }]), ...messagesOf(after)]
      const target = { model, images: true, thinking: true }
      const turns = toTurns(first, target)
      expect(toTurns(second, target).slice(0, turns.length)).toEqual(turns)
    },
    { arbitrary: { runs: 2_000 } }
  )
})

// ---------------------------------------------------------------------------------------------------------------------
// By name
// ---------------------------------------------------------------------------------------------------------------------

const said = (content: Parameters<typeof assistant>[0], over: Parameters<typeof assistant>[1] = {}) =>
  assistant(content, { provider: model.provider, model: model.id, ...over })
const text = (text: string) => ({ type: "text", text }) as const
const call = (id: string) => ({ type: "toolCall", id, name: "read", arguments: {} }) as const
const result = (toolCallId: string, content = "ok"): LlmMessage => ({
  role: "toolResult",
  toolCallId,
  toolName: "read",
  content: [text(content)],
  isError: false,
  timestamp: 0
})
const other = (data: object) => ({ type: "other", provider: "anthropic", data: data as never }) as const

const outline = (messages: ReadonlyArray<LlmMessage>) =>
  toTurns(messages, { model, images: true, thinking: true }).map(
    ({ role, content }) =>
      `${role}: ${content
        .map((block) => {
          if (block.type === "text") return block.text
          if (block.type === "tool_use") return `call ${block.id}`
          if (block.type !== "tool_result") return block.type
          return `result ${block.tool_use_id} ${JSON.stringify(block.content).replace(/.*"text":"(.*?)".*/, "$1")}`
        })
        .join(" | ")}`
  )

describe("a transcript", () => {
  it("that begins with a response is told to be cut", () => {
    expect(outline([result("0"), said([text("hi"), call("1")]), result("1"), user("go")])).toEqual([
      "user: (The beginning of this conversation is not shown.)",
      "assistant: hi | call 1",
      "user: result 1 ok | go"
    ])
  })

  it("that ends with a response is gone on with", () => {
    expect(outline([user("go"), said([text("hi")])])).toEqual(["user: go", "assistant: hi", "user: Continue."])
  })

  it("that ends with calls has results for them, which say that there are none", () => {
    expect(outline([user("go"), said([call("1"), call("2")]), result("2")])).toEqual([
      "user: go",
      "assistant: call 1 | call 2",
      "user: result 1 No result of this call was kept. | result 2 ok"
    ])
  })

  it("has no result twice, and none whose call is gone", () => {
    expect(
      outline([user("go"), result("9"), said([call("1")]), result("1", "first"), result("1", "second"), result("2")])
    ).toEqual(["user: go", "assistant: call 1", "user: result 1 first"])
  })

  it("may have an id in two responses", () => {
    expect(outline([user("go"), said([call("1")]), result("1", "a"), said([call("1")]), result("1", "b")])).toEqual([
      "user: go",
      "assistant: call 1",
      "user: result 1 a",
      "assistant: call 1_2",
      "user: result 1_2 b"
    ])
  })

  it("of which a response was aborted keeps its text, and those of its calls that have a result", () => {
    const aborted = said([text("I wi"), call("1"), call("2")], { stopReason: "aborted" })
    expect(outline([user("go"), aborted, user("again")])).toEqual(["user: go", "assistant: I wi", "user: again"])
    expect(outline([user("go"), aborted, result("2"), user("again")])).toEqual([
      "user: go",
      "assistant: I wi | call 2",
      "user: result 2 ok | again"
    ])
  })

  it("of which a response was aborted before it said anything is as if it had not been", () => {
    const empty = said([text(" "), { type: "thinking", thinking: "hm" }], { stopReason: "aborted" })
    expect(outline([user("a"), empty, user("b")])).toEqual(["user: a | b"])
  })

  it("that the API has paused goes back as it is", () => {
    const search = other({ type: "server_tool_use", id: "s1", name: "web_search" })
    const paused = said([text("I search."), search], { stopDetail: { type: "pause_turn" } })
    expect(outline([user("go"), paused])).toEqual(["user: go", "assistant: I search. | server_tool_use"])
    expect(outline([user("go"), { ...paused, stopReason: "aborted" }])).toEqual([
      "user: go",
      "assistant: I search.",
      "user: Continue."
    ])
    expect(outline([user("go"), paused, user("stop")])).toEqual(["user: go", "assistant: I search.", "user: stop"])
  })

  it("has the tools of the API with their results, also where these come with the next response", () => {
    const search = other({ type: "server_tool_use", id: "s1", name: "web_search" })
    const found = other({ type: "web_search_tool_result", tool_use_id: "s1", content: [] })
    expect(outline([user("go"), said([search, call("1")]), result("1"), said([found, text("so")]), user("b")])).toEqual(
      [
        "user: go",
        "assistant: server_tool_use | call 1",
        "user: result 1 ok",
        "assistant: web_search_tool_result | so",
        "user: b"
      ]
    )
    expect(outline([user("go"), said([found, text("so")]), user("b")])).toEqual([
      "user: go",
      "assistant: so",
      "user: b"
    ])
  })

  it("has blocks that nobody knows unchanged, for the provider that made them", () => {
    const data = { type: "of_the_future", deep: [{ x: null }] }
    const turns = (provider: string) =>
      toTurns([user("go"), said([{ ...other(data), provider }]), user("b")], { model, images: true, thinking: true })
    expect(turns("anthropic")[1]!.content[0]).toBe(data)
    expect(turns("elsewhere").map(({ role }) => role)).toEqual(["user"])
  })
})
