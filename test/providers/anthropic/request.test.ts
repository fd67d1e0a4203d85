// The exact bodies of requests.
import type { Anthropic } from "@anthropic-ai/sdk"
import { describe, expect, it } from "@effect/vitest"
import * as Result from "effect/Result"
import type { AssistantMessage, LlmMessage, ToolResultMessage } from "../../../src/Message.ts"
import { lookup } from "../../../src/providers/anthropic/models.ts"
import type { Params } from "../../../src/providers/anthropic/params.ts"
import { prepare } from "../../../src/providers/anthropic/request.ts"
import type { Settings } from "../../../src/providers/anthropic/settings.ts"
import type { ProviderRequest } from "../../../src/services/Provider.ts"
import { assistant, user } from "../../support/make.ts"
import { model, requestOf, settings } from "./play.ts"

const prepared = (request: Partial<ProviderRequest>, over: Partial<Settings> = {}) =>
  Result.getOrThrow(prepare(requestOf(request), { ...settings, ...over }))

/** The compiler holds every body against the SDK's own type. */
export const asSdk = (params: Params): Anthropic.Beta.Messages.MessageCreateParamsStreaming => params

const bodyOf = (request: Partial<ProviderRequest>, over?: Partial<Settings>): Params => prepared(request, over).params

const messagesOf = (messages: ReadonlyArray<LlmMessage>, request: Partial<ProviderRequest> = {}) =>
  bodyOf({ messages, ...request }).messages

const said = (content: AssistantMessage["content"], over: Partial<AssistantMessage> = {}) =>
  assistant(content, { provider: model.provider, model: model.id, ...over })

const callOf = (id: string, args: unknown = {}, name = "read") =>
  ({ type: "toolCall", id, name, arguments: args as never }) as const

const resultOf = (toolCallId: string, content: ToolResultMessage["content"], isError = false): ToolResultMessage => ({
  role: "toolResult",
  toolCallId,
  toolName: "read",
  content,
  isError,
  timestamp: 0
})

const textBlock = (text: string) => ({ type: "text", text }) as const
const png = { type: "image", data: "aGk=", mimeType: "image/png" } as const
const pngBlock = { type: "image", source: { type: "base64", media_type: "image/png", data: "aGk=" } }

const tools = [
  {
    name: "read",
    description: "Reads a file.",
    parameters: { type: "object", properties: { path: { type: "string" } } }
  },
  { name: "now", description: "  ", parameters: { type: "object" } }
]

describe("a request", () => {
  it("has what it needs and no more", () => {
    expect(bodyOf({})).toEqual({
      model: "claude-sonnet-4-6",
      max_tokens: 128_000,
      stream: true,
      thinking: { type: "disabled" },
      messages: [{ role: "user", content: [textBlock("hi")] }]
    })
  })

  it("has the system prompt, the tools, and what the model is told of them", () => {
    expect(bodyOf({ systemPrompt: "Be brief.", tools, thinkingLevel: "high" })).toEqual({
      model: "claude-sonnet-4-6",
      max_tokens: 128_000,
      stream: true,
      system: [textBlock("Be brief.")],
      tools: [
        {
          name: "read",
          description: "Reads a file.",
          input_schema: { type: "object", properties: { path: { type: "string" } } }
        },
        { name: "now", input_schema: { type: "object" } }
      ],
      thinking: { type: "adaptive", display: "summarized" },
      output_config: { effort: "high" },
      messages: [{ role: "user", content: [textBlock("hi")] }]
    })
  })

  it("has no system prompt of blanks, and no list of tools without a tool", () => {
    const body = bodyOf({ systemPrompt: " \n", tools: [] })
    expect([body.system, body.tools]).toEqual([undefined, undefined])
  })

  it("asks for as many tokens as the model can give, or fewer", () => {
    const limit = (id: string, maxTokens?: number) => bodyOf({ model: { ...model, id } }, { maxTokens }).max_tokens
    expect(limit("claude-haiku-4-5-20251001")).toBe(64_000)
    expect(limit("qwen3")).toBe(8_192)
    expect(limit("claude-haiku-4-5", 1_000)).toBe(1_000)
    expect(limit("claude-haiku-4-5", 1_000_000)).toBe(64_000)
  })

  it("is the same each time", () => {
    const messages = [user("a"), said([callOf("1")]), resultOf("1", [textBlock("ok")])]
    expect(JSON.stringify(bodyOf({ messages, tools }))).toBe(JSON.stringify(bodyOf({ messages, tools })))
  })

  it("declares the tools that the transcript speaks of, where there are none", () => {
    const messages = [user("a"), said([callOf("1"), callOf("2", {}, "my.tool")]), resultOf("1", []), user("b")]
    expect(bodyOf({ messages })).toMatchObject({
      tools: [{ name: "read", input_schema: { type: "object" } }, { name: "my_tool" }],
      tool_choice: { type: "none" }
    })
  })
})

describe("a turn", () => {
  it("of the user has texts and images", () => {
    const content = [textBlock("What is this?"), png, textBlock(" "), { ...png, mimeType: "image/svg+xml" }]
    expect(messagesOf([{ role: "user", content, timestamp: 0 }])).toEqual([
      {
        role: "user",
        content: [
          textBlock("What is this?"),
          pngBlock,
          textBlock("(An image of the type image/svg+xml is not shown: the model cannot read it.)")
        ]
      }
    ])
  })

  it("has no images for a model that reads none", () => {
    const modelInfo = (id: string) => ({ ...lookup(id), images: false })
    const { messages } = bodyOf({ messages: [{ role: "user", content: [png], timestamp: 0 }] }, { modelInfo })
    expect(messages[0]!.content).toEqual([
      textBlock("(An image of the type image/png is not shown: the model cannot read it.)")
    ])
  })

  it("of results has them in the order of the calls, before what the user says", () => {
    const calls = [textBlock("I look."), callOf("1", { path: "a" }), callOf("2", { path: "b" })]
    expect(
      messagesOf([
        user("go"),
        said(calls, { stopReason: "toolUse" }),
        resultOf("2", [textBlock("B"), png]),
        user("and be quick"),
        resultOf("1", [textBlock("A")])
      ])
    ).toEqual([
      { role: "user", content: [textBlock("go")] },
      {
        role: "assistant",
        content: [
          textBlock("I look."),
          { type: "tool_use", id: "1", name: "read", input: { path: "a" } },
          { type: "tool_use", id: "2", name: "read", input: { path: "b" } }
        ]
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "1", content: [textBlock("A")] },
          { type: "tool_result", tool_use_id: "2", content: [textBlock("B"), pngBlock] },
          textBlock("and be quick")
        ]
      }
    ])
  })

  it("of failed calls says so in words, and has their images after all results", () => {
    const messages = [
      user("go"),
      said([callOf("1"), callOf("2"), callOf("3"), callOf("4")]),
      resultOf("1", [textBlock("no"), png], true),
      resultOf("2", [png], true),
      resultOf("3", [textBlock(" \n")]),
      resultOf("4", [])
    ]
    expect(messagesOf(messages)[2]!.content).toEqual([
      { type: "tool_result", tool_use_id: "1", content: [textBlock("no")], is_error: true },
      { type: "tool_result", tool_use_id: "2", content: [textBlock("(the images are below)")], is_error: true },
      { type: "tool_result", tool_use_id: "3", content: [textBlock("(no output)")] },
      { type: "tool_result", tool_use_id: "4", content: [textBlock("(no output)")] },
      pngBlock,
      pngBlock
    ])
  })

  it("has only objects for arguments", () => {
    const args = [{ a: 1 }, [1], "text", 5, null]
    const calls = said(args.map((each, index) => callOf(`${index}`, each)))
    expect(messagesOf([user("go"), calls])[1]!.content.map((block) => "input" in block && block.input)).toEqual([
      { a: 1 },
      { arguments: [1] },
      { arguments: "text" },
      { arguments: 5 },
      { arguments: null }
    ])
  })

  it("has no lone surrogate in it, wherever it was", () => {
    const bad = "a\ud800b"
    const good = "a\ufffdb"
    const body = bodyOf({
      systemPrompt: bad,
      tools: [
        {
          name: "read",
          description: bad,
          parameters: { type: "object", properties: { [bad]: { const: bad }, [`${bad}2`]: {} } }
        }
      ],
      messages: [
        user(bad),
        said([textBlock(bad), callOf("1", { [bad]: [{ deep: bad }], more: { [bad]: 1 } })]),
        resultOf("1", [textBlock(bad)])
      ]
    })
    expect(JSON.stringify(body)).not.toMatch(/\\ud[89a-f]/i)
    expect(body.tools![0]!.input_schema).toEqual({
      type: "object",
      properties: { [good]: { const: good }, [`${good}2`]: {} }
    })
    expect(body.messages[1]!.content[1]).toMatchObject({ input: { [good]: [{ deep: good }], more: { [good]: 1 } } })
  })
})

describe("a name", () => {
  it("of a call is made of what the API takes, and its id is no other's", () => {
    const ids = ["call|1", "call:1", "", "x".repeat(80)]
    const messages = [
      user("go"),
      said(ids.map((id) => callOf(id, {}, "fs.read"))),
      ...ids.map((id) => resultOf(id, [textBlock(id)]))
    ]
    const [, calls, results] = messagesOf(messages)
    const wanted = ["call_1", "call_1_2", "call", "x".repeat(56)]
    expect(calls!.content.map((block) => "id" in block && block.id)).toEqual(wanted)
    expect(results!.content.map((block) => "tool_use_id" in block && block.tool_use_id)).toEqual(wanted)
    expect(calls!.content[0]).toMatchObject({ name: "fs_read" })
  })
})

describe("thinking", () => {
  const thought = { type: "thinking", thinking: "hm", thinkingSignature: "c2ln" } as const
  const blocks: AssistantMessage["content"] = [
    thought,
    { type: "thinking", thinking: "", thinkingSignature: "b25seQ==" },
    { type: "thinking", thinking: "[Reasoning redacted]", thinkingSignature: "b3BhcXVl", redacted: true },
    { type: "thinking", thinking: "cut off" },
    { type: "thinking", thinking: "from elsewhere", thinkingSignature: "" },
    textBlock("so"),
    thought
  ]
  const transcript = (over: Partial<AssistantMessage> = {}) => [user("a"), said(blocks, over), user("b")]

  it("goes back as it came to the model that made it, with its signature or not at all", () => {
    expect(messagesOf(transcript(), { thinkingLevel: "low" })[1]!.content).toEqual([
      { type: "thinking", thinking: "hm", signature: "c2ln" },
      { type: "thinking", thinking: "", signature: "b25seQ==" },
      { type: "redacted_thinking", data: "b3BhcXVl" },
      textBlock("so")
    ])
  })

  it("goes to no other model, and nowhere without thinking", () => {
    const plain = [textBlock("so")]
    expect(messagesOf(transcript({ model: "claude-opus-4-6" }), { thinkingLevel: "low" })[1]!.content).toEqual(plain)
    expect(messagesOf(transcript({ provider: "other" }), { thinkingLevel: "low" })[1]!.content).toEqual(plain)
    expect(messagesOf(transcript())[1]!.content).toEqual(plain)
    const local = { id: "qwen3", provider: "anthropic" }
    const ofLocal = (thinkingLevel: ProviderRequest["thinkingLevel"]) =>
      messagesOf(transcript({ model: local.id }), { model: local, thinkingLevel })[1]!.content
    expect(ofLocal(undefined)).toEqual(plain)
    expect(ofLocal("low")).not.toEqual(plain)
  })

  it("waits where a model with a budget is in the middle of calls that began without it", () => {
    const haiku = { id: "claude-haiku-4-5", provider: "anthropic" }
    const body = (content: AssistantMessage["content"]) =>
      bodyOf({
        model: haiku,
        thinkingLevel: "low",
        messages: [
          user("go"),
          said(content, { model: haiku.id }),
          resultOf("1", [textBlock("ok")]),
          said([callOf("2")], { model: haiku.id }),
          resultOf("2", [textBlock("ok")])
        ]
      })
    expect(body([thought, callOf("1")]).thinking).toEqual({ type: "enabled", budget_tokens: 2_048 })
    const without = body([callOf("1"), thought])
    expect(without.thinking).toEqual({ type: "disabled" })
    expect(JSON.stringify(without)).not.toContain("c2ln")
  })

  const asked = (id: string, level: ProviderRequest["thinkingLevel"], over?: Partial<Settings>) => {
    const { params, betas } = prepared({ model: { id, provider: "anthropic" }, thinkingLevel: level }, over)
    return { thinking: params.thinking, effort: params.output_config?.effort, betas }
  }
  const summarized = { type: "adaptive", display: "summarized" }
  const bound = { ...summarized, block_binding: { prefix_mismatch_behavior: "drop_block" } }
  const beta = ["thinking-binding-controls-2026-08-01"]

  it("is asked for by an effort, where the model takes one", () => {
    const efforts = (["minimal", "low", "medium", "high", "xhigh"] as const).map(
      (level) => asked("claude-opus-4-7", level).effort
    )
    expect(efforts).toEqual(["low", "low", "medium", "high", "xhigh"])
    expect(asked("claude-opus-4-6", "xhigh")).toEqual({ thinking: summarized, effort: "max", betas: [] })
    expect(asked("claude-unheard-of", "xhigh")).toEqual({ thinking: summarized, effort: "high", betas: [] })
  })

  it("is asked for by a budget where it must be, within the tokens of the response", () => {
    const budget = (id: string, level: ProviderRequest["thinkingLevel"], maxTokens?: number) =>
      asked(id, level, { maxTokens }).thinking
    const levels = (["minimal", "low", "medium", "high", "xhigh"] as const).map((level) =>
      budget("claude-haiku-4-5", level)
    )
    expect(levels).toEqual(
      [1_024, 2_048, 8_192, 16_384, 32_000].map((budget_tokens) => ({ type: "enabled", budget_tokens }))
    )
    expect(budget("qwen3", "high")).toEqual({ type: "enabled", budget_tokens: 4_096 })
    expect(budget("claude-haiku-4-5", "high", 2_000)).toEqual({ type: "disabled" })
  })

  it("is switched off in the way of the model, or held to the least", () => {
    expect(asked("claude-opus-5", undefined)).toEqual({ thinking: { type: "disabled" }, effort: undefined, betas: [] })
    expect(asked("claude-sonnet-5-5", undefined)).toEqual({
      thinking: { type: "between_tools" },
      effort: undefined,
      betas: []
    })
    expect(asked("claude-opus-5-5", undefined)).toEqual({ thinking: bound, effort: "low", betas: beta })
    expect(asked("claude-unheard-of", undefined)).toEqual({ thinking: undefined, effort: undefined, betas: [] })
    expect(asked("qwen3", undefined)).toEqual({ thinking: undefined, effort: undefined, betas: [] })
  })

  it("that no longer fits what is before it may be dropped by an API that would refuse it, where it can be told to", () => {
    expect(asked("claude-sonnet-5-5", "high")).toEqual({ thinking: bound, effort: "high", betas: beta })
    expect(asked("claude-sonnet-5-5", "high", { betas: ["a"] }).betas).toEqual(["a", ...beta])
    expect(asked("claude-sonnet-5-5", "high", { baseUrl: "http://gateway" })).toEqual({
      thinking: summarized,
      effort: "high",
      betas: []
    })
  })
})

describe("what the API keeps", () => {
  const mark = { cache_control: { type: "ephemeral" } }
  const messages = [
    user("1"),
    said([callOf("1")]),
    resultOf("1", [textBlock("ok")]),
    said([textBlock("2")]),
    { role: "user" as const, content: [textBlock("3"), png], timestamp: 0 }
  ]

  /** Where the marks are: what they end. */
  const marksOf = (body: Params) => [
    ...(body.tools ?? []).flatMap((tool) => (tool.cache_control ? [`tool ${tool.name}`] : [])),
    ...(body.system ?? []).flatMap((block) => (block.cache_control ? ["system"] : [])),
    ...body.messages.flatMap(({ content }, turn) =>
      content.flatMap((block, at) => ("cache_control" in block ? [`${turn}.${at} ${block.type}`] : []))
    )
  ]

  it("ends with the tools, the system prompt, and the last two turns of the user", () => {
    const body = bodyOf({ messages, tools, systemPrompt: "s" }, { cache: "5m" })
    expect(marksOf(body)).toEqual(["tool now", "system", "2.0 tool_result", "4.1 image"])
    expect(body.messages[4]!.content).toEqual([textBlock("3"), { ...pngBlock, ...mark }])
    expect(body.tools![1]).toEqual({ name: "now", input_schema: { type: "object" }, ...mark })
    expect(body.system).toEqual([{ ...textBlock("s"), ...mark }])
  })

  it("may be kept for an hour, or not at all", () => {
    const hour = bodyOf({ messages, systemPrompt: "s" }, { cache: "1h" })
    expect(hour.system![0]!.cache_control).toEqual({ type: "ephemeral", ttl: "1h" })
    expect(marksOf(hour)).toHaveLength(4)
    expect(marksOf(bodyOf({ messages, systemPrompt: "s" }))).toEqual([])
  })

  it("is found again by the next request, however many calls came in between", () => {
    const calls = Array.from({ length: 30 }, (_, index) => callOf(`many_${index}`))
    const next = [...messages, said(calls), ...calls.map(({ id }) => resultOf(id, [textBlock("ok")]))]
    const [before, after] = [messages, next].map((each) =>
      bodyOf({ messages: each, tools, systemPrompt: "s" }, { cache: "5m" })
    )
    const prefixEndingWith = (body: Params, turn: number) =>
      JSON.stringify([body.tools, body.system, body.messages.slice(0, turn + 1)]).replaceAll(
        /,"cache_control":\{[^}]*\}/g,
        ""
      )
    const last = before!.messages.length - 1
    expect(marksOf(after!)).toContain(`${last}.1 image`)
    expect(prefixEndingWith(after!, last)).toBe(prefixEndingWith(before!, last))
  })
})
