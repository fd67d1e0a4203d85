// Messages as data: each survives JSON and back unchanged, and bad data is refused with the path of what is wrong.
import { describe, expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Message from "../src/Message.ts"
import { assistant, tokensIn, user } from "./support/make.ts"
import { Notice, notice } from "./support/notice.ts"

/** By way of JSON text, encoded and decoded by the Schema. */
const thereAndBack = <S extends Schema.Codec<unknown, unknown>>(schema: S, value: S["Type"]): unknown =>
  Schema.decodeUnknownSync(schema)(JSON.parse(JSON.stringify(Schema.encodeSync(schema)(value))))

/** Negative zero is the one number that JSON does not know. */
const isSame = (left: unknown, right: unknown): void => {
  expect(JSON.parse(JSON.stringify(left))).toEqual(JSON.parse(JSON.stringify(right)))
}

const schemas = {
  Text: Message.Text,
  Image: Message.Image,
  Thinking: Message.Thinking,
  ToolCall: Message.ToolCall,
  Other: Message.Other,
  Usage: Message.Usage,
  ResponseError: Message.ResponseError,
  StopDetail: Message.StopDetail,
  UserMessage: Message.UserMessage,
  AssistantMessage: Message.AssistantMessage,
  ToolResultMessage: Message.ToolResultMessage,
  LlmMessage: Message.LlmMessage,
  Notice
}

describe("JSON there and back", () => {
  for (const [name, schema] of Object.entries(schemas)) {
    it.prop(name, [Arbitrary.schema(schema as Schema.Codec<unknown, unknown>)], ([value]) => {
      const back = thereAndBack(schema as Schema.Codec<unknown, unknown>, value)
      isSame(back, value)
      // What is absent stays absent, and nothing is added.
      expect(Object.keys(back as object).toSorted()).toEqual(Object.keys(value as object).toSorted())
    })
  }

  it.prop("any message, as any message", [Arbitrary.schema(Message.LlmMessage)], ([value]) => {
    isSame(thereAndBack(Message.Message, value), value)
    isSame(thereAndBack(Message.schema(Notice), value), value)
  })

  it.prop("an application's own kind, as any message", [Arbitrary.schema(Notice)], ([value]) => {
    isSame(thereAndBack(Message.Message, value), value)
    isSame(thereAndBack(Message.schema(Notice), value), value)
  })

  it("every field there is, in one of each kind", () => {
    const cost = { input: 1, output: 2, cacheRead: 3, cacheWrite: 4, total: 10 }
    const usage = { input: 1, output: 2, cacheRead: 3, cacheWrite: 4, totalTokens: 10, cost }
    const image = { type: "image", data: "aGk=", mimeType: "image/png" } as const
    const messages: ReadonlyArray<Message.LlmMessage> = [
      user("text"),
      { role: "user", content: [{ type: "text", text: "" }, image], timestamp: 1.5 },
      assistant(
        [
          { type: "text", text: "x" },
          { type: "thinking", thinking: "hm", thinkingSignature: "proof", redacted: true },
          { type: "toolCall", id: "a", name: "t", arguments: [null, { deep: "x" }], rawArguments: "{" },
          { type: "other", provider: "acme", data: null }
        ],
        {
          usage,
          stopReason: "error",
          stopDetail: { type: "refusal", message: "no" },
          errorMessage: "broke",
          error: { reason: "rateLimit", retryable: true, retryAfterMs: 5 }
        }
      ),
      {
        role: "toolResult",
        toolCallId: "a",
        toolName: "t",
        content: [image],
        details: { a: [1, null] },
        addedToolNames: ["u"],
        isError: true,
        timestamp: 0
      }
    ]
    for (const message of messages) {
      expect(thereAndBack(Message.LlmMessage, message)).toStrictEqual(message)
      expect(thereAndBack(Message.Message, message)).toStrictEqual(message)
    }
  })

  it("what an application keeps beside its own fields is kept", () => {
    const value = { role: "chart", timestamp: 1, series: [[1, 2], { deep: null }], title: "t" }
    expect(Schema.decodeUnknownSync(Message.Message)(value)).toEqual(value)
  })
})

const problem = (schema: Schema.Codec<unknown, unknown>, value: unknown): string =>
  Result.match(Schema.decodeUnknownResult(schema)(value), {
    onSuccess: () => "accepted",
    onFailure: ({ message }) => message
  })

describe("bad data is refused with the path of what is wrong", () => {
  const answer = assistant([{ type: "text", text: "x" }])
  const cases: ReadonlyArray<readonly [string, unknown, string]> = [
    ["a user message without content", { role: "user", timestamp: 0 }, '["content"]'],
    ["a text that is a number", { ...user("x"), content: [{ type: "text", text: 5 }] }, '["content"][0]["text"]'],
    [
      "an image without media type",
      { ...user("x"), content: [{ type: "image", data: "" }] },
      '["content"][0]["mimeType"]'
    ],
    ["a timestamp that is no number", { ...user("x"), timestamp: "now" }, '["timestamp"]'],
    ["a timestamp that is not finite", { ...user("x"), timestamp: Number.NaN }, '["timestamp"]'],
    ["an unknown stop reason", { ...answer, stopReason: "tired" }, '["stopReason"]'],
    [
      "a usage with a count missing",
      { ...answer, usage: { ...tokensIn(1), output: undefined } },
      '["usage"]["output"]'
    ],
    [
      "a second block that is wrong",
      { ...answer, content: [answer.content[0], { type: "toolCall", id: "a" }] },
      '["content"][1]'
    ],
    [
      "arguments that are not JSON",
      { ...answer, content: [{ type: "toolCall", id: "a", name: "n", arguments: () => 1 }] },
      '["content"][0]["arguments"]'
    ],
    [
      "details that are not JSON",
      { role: "toolResult", toolCallId: "a", toolName: "n", content: [], details: 1n, isError: false, timestamp: 0 },
      '["details"]'
    ],
    [
      "a result without its error flag",
      { role: "toolResult", toolCallId: "a", toolName: "n", content: [], timestamp: 0 },
      '["isError"]'
    ]
  ]

  it.each(cases)("%s", (_name, value, path) => {
    expect(problem(Message.LlmMessage as Schema.Codec<unknown, unknown>, value)).toContain(path)
    expect(problem(Message.Message as Schema.Codec<unknown, unknown>, value)).not.toBe("accepted")
  })

  it.each([undefined, null, 5, "user", [[]], {}, { role: 5, timestamp: 0 }])("%j is no message", (value) => {
    expect(problem(Message.Message as Schema.Codec<unknown, unknown>, value)).not.toBe("accepted")
  })

  it("an application's own kind must be JSON with a role and a timestamp", () => {
    const message = Message.Message as Schema.Codec<unknown, unknown>
    expect(problem(message, { role: "chart" })).toContain('["timestamp"]')
    expect(problem(message, { role: "chart", timestamp: 0, draw: () => 1 })).toContain('["draw"]')
  })

  it("a broken message of the field's own roles is not taken for an application's", () => {
    for (const role of ["user", "assistant", "toolResult"]) {
      expect(problem(Message.Message as Schema.Codec<unknown, unknown>, { role, timestamp: 0 })).not.toBe("accepted")
    }
  })

  it("`schema` checks the kinds it is given, and refuses others", () => {
    const strict = Message.schema(Notice) as Schema.Codec<unknown, unknown>
    expect(problem(strict, notice("n"))).toBe("accepted")
    expect(problem(strict, { role: "notice", text: 5, timestamp: 0 })).toContain('["text"]')
    expect(problem(strict, { role: "chart", timestamp: 0 })).not.toBe("accepted")
    expect(problem(Message.schema() as Schema.Codec<unknown, unknown>, notice("n"))).not.toBe("accepted")
  })
})

describe("usage", () => {
  const cost = (total: number) => ({ input: total, output: 0, cacheRead: 0, cacheWrite: 0, total })
  const priced = (tokens: number, total: number) => ({ ...tokensIn(tokens), totalTokens: tokens, cost: cost(total) })
  const plain = (tokens: number) => ({ ...tokensIn(tokens), totalTokens: tokens })

  it("adds up count by count", () => {
    const left = { input: 1, output: 2, cacheRead: 3, cacheWrite: 4, totalTokens: 10 }
    expect(Message.addUsage(left, { input: 10, output: 20, cacheRead: 30, cacheWrite: 40, totalTokens: 100 })).toEqual({
      input: 11,
      output: 22,
      cacheRead: 33,
      cacheWrite: 44,
      totalTokens: 110
    })
  })

  it("has a cost only where each side that counts tokens knows its own", () => {
    expect(Message.addUsage(priced(1, 2), priced(3, 4)).cost).toEqual(cost(6))
    expect(Message.addUsage(priced(1, 2), plain(3))).not.toHaveProperty("cost")
    expect(Message.addUsage(plain(3), priced(1, 2))).not.toHaveProperty("cost")
    expect(Message.addUsage(Message.emptyUsage, priced(1, 2))).toEqual(priced(1, 2))
    expect(Message.addUsage(priced(1, 2), Message.emptyUsage)).toEqual(priced(1, 2))
  })
})
