// Decoding the arguments of a call: first by the schema alone, then once more after a coercion; and what a refusal says.
import { describe, expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as JsonSchema from "effect/JsonSchema"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { brokenArguments, copyPlain, decodeArguments } from "../../src/internal/arguments.ts"
import * as Tool from "../../src/Tool.ts"
import { deepFrozen } from "../support/play.ts"

const toolOf = <P, E>(parameters: Schema.Codec<P, E>) =>
  Tool.make({ name: "t", description: "", parameters, execute: () => Effect.succeed("") })

const dynamic = (parameters: JsonSchema.JsonSchema) =>
  Tool.dynamic({ name: "t", description: "", parameters, execute: () => Effect.succeed("") })

/** The decoded arguments; frozen ones in, so that a decoder that changes them is found out. */
const decode = (tool: Tool.Any, args: unknown) => Effect.runSyncExit(decodeArguments(tool, deepFrozen(args)))

const decoded = (tool: Tool.Any, args: unknown) => {
  const exit = decode(tool, args)
  return Exit.isSuccess(exit) ? exit.value : exit
}

const refused = (tool: Tool.Any, args: unknown): string => Option.getOrThrow(Exit.findErrorOption(decode(tool, args)))

describe("decoding", () => {
  it("gives what the schema makes of the arguments", () => {
    const tool = toolOf(Schema.Struct({ at: Schema.FiniteFromString, n: Schema.Int }))
    expect(decoded(tool, { at: "1.5", n: 2 })).toEqual({ at: 1.5, n: 2 })
  })

  it("is done without coercion where it can be: a text stays a text", () => {
    const tool = toolOf(Schema.Struct({ either: Schema.Union([Schema.Finite, Schema.String]) }))
    expect(decoded(tool, { either: "5" })).toEqual({ either: "5" })
    const declared = { type: "object", properties: { x: { type: "number" } } }
    const lenient = { ...toolOf(Schema.Struct({ x: Schema.String })), parameters: declared }
    expect(decoded(lenient, { x: "5" })).toEqual({ x: "5" })
  })

  it("is tried again with coerced arguments, on every level", () => {
    const tool = toolOf(
      Schema.Struct({
        deep: Schema.Array(Schema.Struct({ n: Schema.Finite, s: Schema.optionalKey(Schema.String) })),
        flag: Schema.Boolean
      })
    )
    expect(decoded(tool, { deep: [{ n: "5", s: null }], flag: "true" })).toEqual({ deep: [{ n: 5 }], flag: true })
    expect(decoded(tool, '{"deep":"[]","flag":0}')).toEqual({ deep: [], flag: false })
  })

  it("takes what is there at once as an exit, without a fiber", () => {
    expect(Exit.isExit(decodeArguments(toolOf(Schema.Struct({ n: Schema.Finite })), { n: "1" }))).toBe(true)
    expect(Exit.isExit(decodeArguments(toolOf(Schema.Struct({ n: Schema.Finite })), {}))).toBe(true)
  })

  it("coerces to what a default, a check or a transformation takes", () => {
    const tool = toolOf(Schema.Struct({ n: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 })) }))
    expect(decoded(tool, { n: "9" })).toEqual({ n: 9 })
    expect(refused(tool, { n: "10" })).toContain("- n: ")
  })
})

describe("unknown fields", () => {
  it("are kept, on every level that is a plain object", () => {
    const tool = toolOf(
      Schema.Struct({
        inner: Schema.Struct({ n: Schema.Finite }),
        list: Schema.Array(Schema.Struct({ n: Schema.Finite }))
      })
    )
    const args = {
      inner: { n: 1, more: true },
      list: [
        { n: 1, a: 1 },
        { n: 2, b: 2 }
      ],
      extra: "x"
    }
    expect(decoded(tool, args)).toEqual(args)
  })

  const Inner = Schema.Struct({ n: Schema.Finite })
  const kept = { n: 1, extra: 2 }
  const places: ReadonlyArray<[string, Schema.Codec<unknown, unknown>, unknown]> = [
    ["an object that may be absent", Schema.Struct({ f: Schema.optional(Inner) }), { f: kept }],
    ["an object that may be null", Schema.Struct({ f: Schema.NullOr(Inner) }), { f: kept }],
    ["an object behind a reference", Schema.Struct({ f: Inner.annotate({ identifier: "Inner" }) }), { f: kept }],
    ["an object in a record", Schema.Struct({ f: Schema.Record(Schema.String, Inner) }), { f: { any: kept } }],
    ["an object in a tuple", Schema.Struct({ f: Schema.Tuple([Inner]) }), { f: [kept] }],
    ["a branch of a union", Schema.Struct({ f: Schema.Union([Schema.String, Inner]) }), { f: kept }],
    ["a root that is a union", Schema.Union([Inner, Schema.Struct({ s: Schema.String })]), kept]
  ]
  for (const [name, parameters, args] of places) {
    it(`are kept in ${name}`, () => {
      expect(decoded(toolOf(parameters), args)).toEqual(args)
    })
  }

  it("that the schema knows by another name are no unknown ones, wherever they stand", () => {
    const Renamed = Schema.Struct({ path: Schema.String }).pipe(Schema.encodeKeys({ path: "file_path" }))
    const received = { file_path: "x", extra: 1 }
    const given = { path: "x", extra: 1 }
    for (const parameters of [Schema.NullOr(Renamed), Schema.Union([Inner, Renamed]), Schema.Array(Renamed)]) {
      const isList = parameters.ast._tag === "Arrays"
      const tool = toolOf(Schema.Struct({ f: parameters as Schema.Codec<unknown, unknown> }))
      expect(decoded(tool, { f: isList ? [received] : received })).toEqual({ f: isList ? [given] : given })
    }
  })

  it("are kept beside fields that were coerced", () => {
    expect(decoded(toolOf(Schema.Struct({ n: Schema.Finite })), { n: "1", extra: "2" })).toEqual({ n: 1, extra: "2" })
  })

  it("are kept where the JSON Schema of a dynamic tool allows them", () => {
    const open = dynamic({ type: "object", properties: { n: { type: "number" } }, additionalProperties: true })
    expect(decoded(open, { n: 1, extra: 2 })).toEqual({ n: 1, extra: 2 })
  })

  it("named __proto__ change no prototype", () => {
    const args = JSON.parse('{"n":1,"__proto__":{"polluted":true}}') as object
    const given = decoded(toolOf(Schema.Struct({ n: Schema.Finite })), args) as object
    expect(Object.getPrototypeOf(given)).toBe(Object.prototype)
    expect(Object.keys(given).toSorted()).toEqual(["__proto__", "n"])
  })

  it("are refused by name where the schema forbids them", () => {
    const closed = dynamic({ type: "object", properties: { n: { type: "number" } }, additionalProperties: false })
    expect(refused(closed, { n: 1, extra: 2, other: 3 })).toContain(
      "- extra: unknown field, which is not allowed\n- other: "
    )
    const strict = toolOf(
      Schema.StructWithRest(Schema.Struct({ n: Schema.Finite }), [Schema.Record(Schema.String, Schema.Never)])
    )
    expect(refused(strict, { n: 1, extra: 2 })).toContain("- extra: ")
  })
})

describe("a refusal", () => {
  const tool = toolOf(
    Schema.Struct({
      path: Schema.String,
      limit: Schema.Int,
      edits: Schema.Array(Schema.Struct({ old: Schema.String }))
    })
  )

  it("names every wrong field with its path, what was wanted and what was received", () => {
    expect(refused(tool, { limit: 1.5, edits: [{ old: "a" }, { old: [] }] })).toBe(
      [
        'The arguments of "t" do not fit its parameters:',
        "- path: required, but missing (expected string)",
        "- limit: Expected an integer, got 1.5",
        "- edits[1].old: Expected string, got []",
        'Received: {"limit":1.5,"edits":[{"old":"a"},{"old":[]}]}',
        "Correct them and call the tool again."
      ].join("\n")
    )
  })

  it("speaks of the arguments as a whole where no field is at fault", () => {
    for (const args of [null, 5, "text", [1]]) expect(refused(tool, args)).toMatch(/^- arguments: Expected object/m)
  })

  it("knows what a missing field deep inside was to be", () => {
    expect(refused(tool, { path: "p", limit: 1, edits: [{}] })).toContain(
      "- edits[0].old: required, but missing (expected string)"
    )
  })

  it("null for a required field is an error", () => {
    expect(refused(tool, { path: null, limit: 1, edits: [] })).toContain("- path: Expected string, got null")
  })

  it("shows what the model sent, not what was made of it", () => {
    const parameters = Schema.Struct({ n: Schema.Finite, s: Schema.String })
    expect(refused(toolOf(parameters), { n: "42", s: {} })).toContain('Received: {"n":"42","s":{}}')
    const small = Schema.Struct({ n: Schema.Int.check(Schema.isLessThan(10)) })
    expect(refused(toolOf(small), { n: "12" })).toMatch(/- n: .*got "12"$/m)
  })

  it("of a union of objects speaks of the branch that its kind names, and of no value that was not sent", () => {
    const Edit = Schema.Struct({
      edit: Schema.Union([
        Schema.Struct({ kind: Schema.Literal("line"), at: Schema.Finite }),
        Schema.Struct({ kind: Schema.Literal("text"), at: Schema.String, count: Schema.Finite })
      ])
    })
    const message = refused(toolOf(Edit), { edit: { kind: "text", at: "5", count: "many" } })
    expect(message).not.toContain("edit.at")
    expect(message).toContain('- edit.count: Expected number, got "many"')
    const given = decoded(toolOf(Edit), { edit: { kind: "text", at: "5", count: "2" } })
    expect(given).toEqual({ edit: { kind: "text", at: "5", count: 2 } })
  })

  it("shows no more of a long value than a model needs, and cuts no character in two", () => {
    const message = refused(toolOf(Schema.Struct({ n: Schema.Finite })), { n: "x" + "😀".repeat(5000) })
    expect(message.length).toBeLessThan(1500)
    expect(message.isWellFormed()).toBe(true)
    expect(message).toContain("characters)")
  })

  it("of text that is not JSON shows what arrived, cut in the same way", () => {
    expect(brokenArguments("t", '{"a":')).toContain('Received: {"a":')
    const long = brokenArguments("t", "{" + "😀".repeat(5000))
    expect([long.length < 1500, long.isWellFormed()]).toEqual([true, true])
  })
})

describe("copies", () => {
  it("share nothing that is a plain object or a list", () => {
    const value = { a: [{ b: 1 }], c: { d: null } }
    const copy = copyPlain(value)
    expect(copy).toEqual(value)
    expect([copy === value, copy.a === value.a, copy.a[0] === value.a[0], copy.c === value.c]).toEqual([
      false,
      false,
      false,
      false
    ])
  })

  it("keep everything else as it is", () => {
    const map = new Map()
    expect(copyPlain({ map, f: Math.max })).toStrictEqual({ map, f: Math.max })
    expect(copyPlain({ map }).map).toBe(map)
    expect(copyPlain("text")).toBe("text")
  })

  it("copy dates, which can be changed, and leave out fields that are undefined", () => {
    const date = new Date(0)
    const copy = copyPlain({ date, n: undefined })
    expect(copy).toStrictEqual({ date })
    expect(copy.date).not.toBe(date)
  })

  it("keep a member named __proto__ as a member", () => {
    const copy = copyPlain(JSON.parse('{"__proto__":{"x":1}}') as object)
    expect(JSON.stringify(copy)).toBe('{"__proto__":{"x":1}}')
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype)
  })

  it.prop("of any JSON are equal to it", [Schema.Json], ([value]) => {
    expect(copyPlain(value)).toEqual(value)
  })
})

// ---------------------------------------------------------------------------------------------------------------------
// Properties
// ---------------------------------------------------------------------------------------------------------------------

const Parameters = Schema.Struct({
  name: Schema.String,
  count: Schema.optionalKey(Schema.Int),
  mode: Schema.Literals(["a", "b"]),
  list: Schema.Array(Schema.Union([Schema.Finite, Schema.String])),
  nested: Schema.optionalKey(Schema.Struct({ flag: Schema.Boolean, any: Schema.Json }))
})
const parametersTool = toolOf(Parameters)

it.prop("arguments that fit are given as they were sent", [Arbitrary.schema(Parameters)], ([args]) => {
  expect(decoded(parametersTool, args)).toEqual(args)
})

it.prop("any JSON is decoded or refused, never worse, and stays as it was", [Schema.Json], ([args]) => {
  const before = JSON.stringify(args)
  const exit = decode(parametersTool, args)
  expect(JSON.stringify(args)).toBe(before)
  if (Exit.isFailure(exit)) expect(refused(parametersTool, args)).toContain("do not fit")
})

it("a union that contains itself is decoded at any depth", () => {
  interface Node {
    readonly kind: string
    readonly children: ReadonlyArray<Node>
  }
  const kind = (name: string) =>
    Schema.Struct({
      kind: Schema.Literal(name),
      children: Schema.Array(Schema.suspend((): Schema.Codec<Node> => Node))
    })
  const Node = Schema.Union([kind("a"), kind("b"), kind("c"), kind("d")]).annotate({ identifier: "Node" })
  let root: Node = { kind: "a", children: [] }
  for (let level = 0; level < 60; level++) root = { kind: "b", children: [root] }
  // One that looks at every branch of every level would not come back.
  const nested = Tool.make({
    name: "t",
    description: "",
    parameters: Schema.Struct({ root: Node }),
    execute: () => Effect.succeed("")
  })
  expect(decoded(nested, { root })).toEqual({ root })
})
