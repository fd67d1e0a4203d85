// Events as data: each survives JSON and back unchanged, and bad data is refused with the path of what is wrong.
import { describe, expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as AgentEvent from "../src/AgentEvent.ts"
import { ProviderError, ProviderEvent } from "../src/services/Provider.ts"
import { assistant, tokensIn, user } from "./support/make.ts"
import { Notice, notice } from "./support/notice.ts"

const thereAndBack = (schema: Schema.Codec<unknown, unknown>, value: unknown): unknown =>
  Schema.decodeUnknownSync(schema)(JSON.parse(JSON.stringify(Schema.encodeSync(schema)(value))))

const isSame = (left: unknown, right: unknown): void => {
  expect(JSON.parse(JSON.stringify(left))).toEqual(JSON.parse(JSON.stringify(right)))
}

const untyped = (schema: unknown) => schema as Schema.Codec<unknown, unknown>
const anyEvent = untyped(AgentEvent.AgentEvent)
const strictEvent = untyped(AgentEvent.schema(Notice))

describe("JSON there and back", () => {
  // With a strict schema for the kinds of messages: that of any JSON is a world of its own to generate.
  const members = (AgentEvent.schema(Notice) as unknown as { readonly members: ReadonlyArray<Schema.Codec<unknown>> })
    .members

  it("covers every event of a run", () => {
    expect(members).toHaveLength(11)
  })

  for (const member of members) {
    const { type } = (member as unknown as { readonly fields: { readonly type: Schema.Codec<unknown> } }).fields
    const name = String((type.ast as { readonly literal?: unknown }).literal ?? "event")

    it.prop(`${name}`, [Arbitrary.schema(member)], ([event]) => {
      isSame(thereAndBack(strictEvent, event), event)
      isSame(thereAndBack(anyEvent, event), event)
    })
  }

  it("every field there is, in one of each kind", () => {
    const call = { toolCallId: "a", toolName: "t" }
    const result = { content: null, details: { a: 1 }, terminate: null, addedToolNames: ["u"] }
    const events: ReadonlyArray<AgentEvent.AgentEvent> = [
      { type: "message_start", message: notice("n") },
      { type: "tool_execution_start", ...call, args: null },
      { type: "tool_execution_update", ...call, args: ["x"], partialResult: result },
      { type: "tool_execution_end", ...call, result: {}, isError: true },
      { type: "tool_execution_end", ...call, result: { ...result, terminate: true }, isError: false },
      {
        type: "retry",
        attempt: 1,
        delayMs: 0.5,
        error: { reason: "network", retryable: true, retryAfterMs: 5 },
        errorMessage: "off",
        usage: tokensIn(1)
      },
      { type: "turn_end", message: assistant([]), toolResults: [] },
      ...(["completed", "terminated", "stopped", "limit", "error", "aborted"] as const).map((reason) => ({
        type: "agent_end" as const,
        messages: [user("x")],
        reason,
        usage: tokensIn(0)
      }))
    ]
    for (const event of events) {
      expect(thereAndBack(anyEvent, event)).toStrictEqual(event)
      expect(thereAndBack(strictEvent, event)).toStrictEqual(event)
    }
  })

  it.prop("what a response does to its message", [Arbitrary.schema(AgentEvent.AssistantMessageEvent)], ([event]) => {
    isSame(thereAndBack(untyped(AgentEvent.AssistantMessageEvent), event), event)
  })

  it.prop("a tool's result, with null and absent told apart", [Arbitrary.schema(AgentEvent.ToolResult)], ([result]) => {
    const back = thereAndBack(untyped(AgentEvent.ToolResult), result)
    isSame(back, result)
    expect(Object.keys(back as object).toSorted()).toEqual(Object.keys(result).toSorted())
  })

  it.prop("a provider's event", [Arbitrary.schema(ProviderEvent)], ([event]) => {
    isSame(thereAndBack(untyped(ProviderEvent), event), event)
  })

  it("a provider's error", () => {
    const error = new ProviderError({
      reason: "network",
      message: "off",
      retryable: true,
      retryAfterMs: 5,
      usage: tokensIn(1)
    })
    const back = Schema.decodeUnknownSync(ProviderError)(
      JSON.parse(JSON.stringify(Schema.encodeSync(ProviderError)(error)))
    )
    expect(back).toBeInstanceOf(ProviderError)
    expect(back).toMatchObject({
      reason: "network",
      message: "off",
      retryable: true,
      retryAfterMs: 5,
      usage: tokensIn(1)
    })
  })
})

describe("bad data is refused with the path of what is wrong", () => {
  const problem = (schema: Schema.Codec<unknown, unknown>, value: unknown): string =>
    Result.match(Schema.decodeUnknownResult(schema)(value), {
      onSuccess: () => "accepted",
      onFailure: ({ message }) => message
    })
  const call = { toolCallId: "a", toolName: "t" }

  const cases: ReadonlyArray<readonly [string, unknown, string]> = [
    ["a message that is none", { type: "message_end", message: { role: "user" } }, '["message"]'],
    [
      "an update of something else than a response",
      { type: "message_update", message: user("x"), assistantMessageEvent: { type: "text_start", contentIndex: 0 } },
      '["message"]'
    ],
    [
      "an update of an unknown kind",
      {
        type: "message_update",
        message: assistant([]),
        assistantMessageEvent: { type: "text_middle", contentIndex: 0 }
      },
      '["assistantMessageEvent"]'
    ],
    [
      "an index that is no whole number",
      {
        type: "message_update",
        message: assistant([]),
        assistantMessageEvent: { type: "text_start", contentIndex: 0.5 }
      },
      '["assistantMessageEvent"]["contentIndex"]'
    ],
    ["arguments that are not JSON", { type: "tool_execution_start", ...call, args: new Map() }, '["args"]'],
    ["a call without a name", { type: "tool_execution_start", toolCallId: "a", args: {} }, '["toolName"]'],
    [
      "a result with content that is a text",
      { type: "tool_execution_end", ...call, result: { content: "x" }, isError: false },
      '["result"]["content"]'
    ],
    ["an end without its error flag", { type: "tool_execution_end", ...call, result: {} }, '["isError"]'],
    [
      "a retry that waits for ever",
      { type: "retry", attempt: 1, delayMs: Infinity, error: { reason: "x", retryable: true }, errorMessage: "" },
      '["delayMs"]'
    ],
    ["a turn end without results", { type: "turn_end", message: assistant([]) }, '["toolResults"]'],
    [
      "an end for no known reason",
      { type: "agent_end", messages: [], reason: "bored", usage: tokensIn(0) },
      '["reason"]'
    ],
    [
      "an end with a message that is none",
      { type: "agent_end", messages: [user("x"), { role: "toolResult" }], reason: "error", usage: tokensIn(0) },
      '["messages"][1]'
    ]
  ]

  it.each(cases)("%s", (_name, value, path) => {
    expect(problem(strictEvent, value)).toContain(path)
    expect(problem(anyEvent, value)).not.toBe("accepted")
  })

  it.each([undefined, null, 5, "agent_start", {}, { type: "agent_pause" }, [[]]])("%j is no event", (value) => {
    expect(problem(anyEvent, value)).not.toBe("accepted")
  })

  it("`schema` checks an application's messages, and refuses kinds it does not know", () => {
    const event = (message: unknown) => ({ type: "message_end", message })
    expect(problem(strictEvent, event(notice("n")))).toBe("accepted")
    expect(problem(strictEvent, event({ ...notice("n"), text: 5 }))).toContain('["message"]["text"]')
    expect(problem(anyEvent, event({ role: "chart", timestamp: 0 }))).toBe("accepted")
    expect(problem(strictEvent, event({ role: "chart", timestamp: 0 }))).not.toBe("accepted")
  })
})
