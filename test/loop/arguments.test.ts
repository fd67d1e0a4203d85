// SPEC 5.6 and 8 in a run: who sees arguments as the model sent them, and who sees them decoded. The rules themselves are
// tested in internal/coerce and internal/arguments.
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Tool from "../../src/Tool.ts"
import * as Hooks from "../../src/services/Hooks.ts"
import { call, rawCall, say } from "../support/make.ts"
import { of, play } from "../support/play.ts"

const ok = [say("ok")]

const echo = (parameters: Schema.Codec<unknown, unknown>, more: Partial<Tool.Options<unknown, never>> = {}) =>
  Tool.make({
    name: "echo",
    description: "",
    parameters,
    execute: (params) => Effect.succeed(JSON.stringify(params) ?? "undefined"),
    ...more
  })

const point = Schema.Struct({ x: Schema.Finite, y: Schema.optionalKey(Schema.Int) })

const echoed = Effect.fnUntraced(function* (args: Schema.Json, tool = echo(point)) {
  const trace = yield* play([[call("echo", args)], ok], { tools: [tool] })
  return { trace, text: trace.resultTexts[0] ?? "", isError: trace.results[0]?.isError }
})

describe("arguments of a call", () => {
  it.effect("that fit reach the tool as they are", () =>
    Effect.gen(function* () {
      expect((yield* echoed({ x: 1, y: 2 })).text).toBe('{"x":1,"y":2}')
    })
  )

  it.effect("that almost fit reach hooks and tool adapted; events, messages and requests keep what was sent", () =>
    Effect.gen(function* () {
      const sent = { x: " 5 ", y: null }
      const seen: Array<unknown> = []
      const trace = yield* play([[call("echo", sent)], ok], {
        tools: [echo(point)],
        hooks: {
          beforeToolCall: ({ args, toolCall }) => Effect.sync(() => (seen.push(args, toolCall.arguments), Hooks.allow)),
          afterToolCall: ({ args, toolCall }) => Effect.sync(() => void seen.push(args, toolCall.arguments))
        }
      })
      expect(seen).toEqual([{ x: 5 }, sent, { x: 5 }, sent])
      expect(trace.resultTexts).toEqual(['{"x":5}'])
      expect(of(trace, "tool_execution_start")[0]?.args).toEqual(sent)
      expect(trace.responses[0]?.content).toMatchObject([{ arguments: sent }])
      expect(trace.requests[1]?.messages[1]?.content).toMatchObject([{ arguments: sent }])
    })
  )

  it.effect("that do not fit refuse the call, naming every wrong field", () =>
    Effect.gen(function* () {
      const { text, isError } = yield* echoed({ x: "many", y: 1.5 })
      expect(isError).toBe(true)
      expect(text).toContain('The arguments of "echo" do not fit its parameters:')
      expect(text).toMatch(/- x: .*got "many"/)
      expect(text).toMatch(/- y: .*got 1.5/)
      expect(text).toContain('Received: {"x":"many","y":1.5}')
    })
  )

  it.effect("may be any JSON value that the schema takes", () =>
    Effect.gen(function* () {
      expect((yield* echoed([1, 2], echo(Schema.Array(Schema.Finite)))).text).toBe("[1,2]")
      expect((yield* echoed("x", echo(Schema.String))).text).toBe('"x"')
      expect((yield* echoed(null, echo(Schema.Null))).text).toBe("null")
    })
  )

  for (const [name, raw] of [
    ["no text at all", ""],
    ["only blanks", " \n\t "]
  ] as const) {
    it.effect(`${name} are {}`, () =>
      Effect.gen(function* () {
        const trace = yield* play([[rawCall("echo", raw)], ok], { tools: [echo(Schema.Struct({}))] })
        expect(trace.resultTexts).toEqual(["{}"])
        expect(trace.responses[0]?.content).toEqual([{ type: "toolCall", id: "echo", name: "echo", arguments: {} }])
      })
    )
  }

  for (const raw of [
    '{"x":1',
    '{"x":1}}',
    "{x:1}",
    "nonsense",
    '{"x":1} and more',
    "{'x':1}",
    '{"x":NaN}',
    '{"x":1,}',
    "\u00ef\u00bb\u00bf{}"
  ]) {
    it.effect(`${raw} is not JSON: the call never runs, the raw text is kept and shown`, () =>
      Effect.gen(function* () {
        let ran = 0
        const counting = echo(Schema.Struct({}), { execute: () => Effect.sync(() => `${ran++}`) })
        const trace = yield* play([[rawCall("echo", raw)], ok], { tools: [counting] })
        expect([ran, trace.results[0]?.isError]).toEqual([0, true])
        expect(trace.responses[0]?.content).toMatchObject([{ rawArguments: raw }])
        expect(trace.resultTexts[0]).toContain("not valid JSON")
        expect(trace.resultTexts[0]).toContain(raw)
      })
    )
  }

  it.effect("broken ones of an unknown tool say that the tool is unknown", () =>
    Effect.gen(function* () {
      const trace = yield* play([[rawCall("nobody", "{")], ok])
      expect(trace.resultTexts[0]).toContain('no tool "nobody"')
    })
  )
})

describe("prepareArguments", () => {
  it.effect("mends them before they are decoded and coerced", () =>
    Effect.gen(function* () {
      const mending = echo(point, {
        prepareArguments: (args) => ({ x: (args as { readonly value: unknown }).value })
      })
      expect((yield* echoed({ value: "7" }, mending)).text).toBe('{"x":7}')
    })
  )

  it.effect("may give any value; one that does not fit is refused", () =>
    Effect.gen(function* () {
      for (const value of [undefined, null, 5, () => 1, Promise.resolve({ x: 1 }), new Date(0), { x: 1n }]) {
        const { isError, trace } = yield* echoed({}, echo(point, { prepareArguments: () => value }))
        expect([isError, trace.reason]).toEqual([true, "completed"])
      }
    })
  )
})

describe("tools whose parameters are a JSON Schema", () => {
  const closed = Tool.dynamic({
    name: "echo",
    description: "",
    parameters: {
      type: "object",
      properties: { n: { type: "integer" }, tags: { type: "array", items: { type: "string" } } },
      required: ["n"],
      additionalProperties: false
    },
    execute: (params) => Effect.succeed(JSON.stringify(params))
  })

  it.effect("are decoded and coerced by it, and refuse what it forbids by name", () =>
    Effect.gen(function* () {
      const run = Effect.fnUntraced(function* (args: Schema.Json) {
        const trace = yield* play([[call("echo", args)], ok], { tools: [closed] })
        return trace.resultTexts[0] ?? ""
      })
      expect(yield* run({ n: "7.0", tags: '["a"]' })).toBe('{"n":7,"tags":["a"]}')
      expect(yield* run({ n: 1, typo: 2 })).toContain("- typo: unknown field, which is not allowed")
      expect(yield* run({ tags: [] })).toContain("- n: required, but missing (expected integer)")
      expect(yield* run({ n: 1, tags: [{}] })).toContain("- tags[0]: ")
    })
  )

  it.effect("are declared to the model as they are", () =>
    Effect.gen(function* () {
      const trace = yield* play([ok], { tools: [closed] })
      expect(trace.requests[0]?.tools?.[0]?.parameters).toMatchObject({
        type: "object",
        required: ["n"],
        additionalProperties: false
      })
    })
  )
})
