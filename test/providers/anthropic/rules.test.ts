// The rules of the API are no rules if nothing breaks them: each is broken once.
import { describe, expect, it } from "@effect/vitest"
import { violationsOf } from "./rules.ts"

const text = (text: string) => ({ type: "text", text })
const call = (id: string) => ({ type: "tool_use", id, name: "read", input: {} })
const result = (id: string) => ({ type: "tool_result", tool_use_id: id, content: [text("ok")] })
const thought = { type: "thinking", thinking: "hm", signature: "c2ln" }
const cache_control = { type: "ephemeral" }
const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "aGk=" } }

const valid = {
  model: "m",
  max_tokens: 5_000,
  stream: true,
  system: [{ ...text("s"), cache_control }],
  tools: [{ name: "read", input_schema: { type: "object" } }],
  thinking: { type: "enabled", budget_tokens: 2_000 },
  messages: [
    { role: "user", content: [text("a"), image] },
    { role: "assistant", content: [thought, text("b"), call("1"), call("2")] },
    { role: "user", content: [result("1"), result("2"), { ...text("c"), cache_control }] }
  ]
}

const withTurns = (...turns: ReadonlyArray<readonly [role: string, ...content: ReadonlyArray<object>]>) => ({
  ...valid,
  messages: turns.map(([role, ...content]) => ({ role, content }))
})
const withTurn = (index: number, ...content: ReadonlyArray<object>) => ({
  ...valid,
  messages: valid.messages.with(index, { role: valid.messages[index]!.role, content: [...content] as never })
})

describe("a body", () => {
  it("that breaks no rule is valid", () => {
    expect(violationsOf(valid)).toEqual([])
  })

  it.each<[rule: string, body: object]>([
    ["model: is missing", { ...valid, model: "" }],
    ["max_tokens", { ...valid, max_tokens: 0.5 }],
    ["stream", { ...valid, stream: false }],
    ["system: is empty", { ...valid, system: [] }],
    ["system: text must not be blank", { ...valid, system: [text(" ")] }],
    ["tools: is empty", { ...valid, tools: [] }],
    ["names must be unique", { ...valid, tools: [...valid.tools, ...valid.tools] }],
    ["is no name", { ...valid, tools: [{ ...valid.tools[0], name: "a.b" }] }],
    ["the schema must be of an object", { ...valid, tools: [{ name: "read", input_schema: {} }] }],
    ["$ref must not", { ...valid, tools: [{ name: "read", input_schema: { type: "object", $ref: "#" } }] }],
    ["anyOf must not", { ...valid, tools: [{ name: "read", input_schema: { type: "object", anyOf: [] } }] }],
    ["must be declared", { ...valid, tools: undefined }],
    ["at least 1024", { ...valid, thinking: { type: "enabled", budget_tokens: 100 } }],
    ["less than max_tokens", { ...valid, thinking: { type: "enabled", budget_tokens: 5_000 } }],
    ["this effort needs thinking", { ...valid, thinking: { type: "between_tools" }, output_config: { effort: "max" } }],
    ["only 4 are allowed", withTurn(0, ...Array.from({ length: 4 }, () => ({ ...text("a"), cache_control })))],
    ["thinking cannot be marked", withTurn(1, { ...thought, cache_control }, call("1"), call("2"))],
    ["1h must come before 5m", withTurn(0, { ...text("a"), cache_control: { ...cache_control, ttl: "1h" } })],
    ["a surrogate is alone", withTurn(0, text("a\ud800"))],
    ["messages: there must be one", { ...valid, messages: [] }],
    ["messages.0: must be of the user", withTurns(["assistant", text("a")], ["user", text("b")])],
    ["the last must be of the user", withTurns(["user", text("a")], ["assistant", text("b")])],
    ["is no role", withTurns(["user", text("a")], ["tool", text("b")], ["user", text("c")])],
    ["two turns of the user", withTurns(["user", text("a")], ["user", text("b")])],
    ["must not be empty", withTurn(0)],
    ["messages.0.0: text must not be blank", withTurn(0, text("\n"))],
    ["this image cannot be read", withTurn(0, { ...image, source: { ...image.source, media_type: "image/bmp" } })],
    ["an image must be of the user", withTurn(1, thought, image, call("1"), call("2"))],
    ["thinking must have its proof", withTurn(1, { ...thought, signature: "" }, call("1"), call("2"))],
    ["thinking must be of the assistant", withTurn(0, text("a"), thought)],
    [
      "must not end with thinking",
      withTurns(["user", text("a")], ["assistant", text("b"), thought], ["user", text("c")])
    ],
    ["there is thinking without thinking", { ...valid, thinking: { type: "disabled" } }],
    ["the calls must begin with thinking", withTurn(1, call("1"), call("2"))],
    ["a call must be of the assistant", withTurn(0, call("9"))],
    ["was there before", withTurn(1, thought, call("1"), call("2"), call("1"))],
    ["is no id", withTurn(1, thought, { ...call("1"), id: "a|b" }, call("2"))],
    ["is no name", withTurn(1, thought, { ...call("1"), name: "a.b" }, call("2"))],
    ["the input must be an object", withTurn(1, thought, { ...call("1"), input: [] }, call("2"))],
    ["the call 2 has no result", withTurn(2, result("1"))],
    ["the result 3 has no call", withTurn(2, result("1"), result("2"), result("3"))],
    ["a call has two results", withTurn(2, result("1"), result("2"), result("2"))],
    ["results must come first", withTurn(2, text("a"), result("1"), result("2"))],
    ["the result is empty", withTurn(2, { ...result("1"), content: [] }, result("2"))],
    [
      "the result of an error must be text",
      withTurn(2, { ...result("1"), is_error: true, content: [image] }, result("2"))
    ],
    ["messages.2.0.0: text must not be blank", withTurn(2, { ...result("1"), content: [text("")] }, result("2"))],
    ["is no block of a user", withTurn(0, { type: "server_tool_use" })]
  ])("is refused: %s", (rule, body) => {
    expect(violationsOf(body as never).filter((violation) => violation.includes(rule))).not.toEqual([])
  })
})
