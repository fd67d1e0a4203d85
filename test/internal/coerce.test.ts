// The table of SPEC 8, row by row and on every level; and that nothing is adapted which need not be.
import { describe, expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import type * as JsonSchema from "effect/JsonSchema"
import * as Schema from "effect/Schema"
import { coerce } from "../../src/internal/coerce.ts"
import { deepFrozen } from "../support/play.ts"

type Row = readonly [received: unknown, wanted: JsonSchema.JsonSchema, given: unknown]

const number = { type: "number" } as const
const integer = { type: "integer" } as const
const boolean = { type: "boolean" } as const
const string = { type: "string" } as const
const array = { type: "array", items: string } as const
const object = { type: "object", properties: { k: number } } as const

const adapted: ReadonlyArray<Row> = [
  ["42", number, 42],
  [" 5 ", number, 5],
  ["1e3", number, 1000],
  ["0x10", number, 16],
  ["-0.5", number, -0.5],
  ["7", integer, 7],
  ["7.0", integer, 7],
  ["1e3", integer, 1000],
  [true, number, 1],
  [false, number, 0],
  [true, integer, 1],
  [false, integer, 0],
  ["true", boolean, true],
  ["false", boolean, false],
  [1, boolean, true],
  [0, boolean, false],
  [5, string, "5"],
  [-1.5, string, "-1.5"],
  [true, string, "true"],
  [false, string, "false"],
  ['["x","y"]', array, ["x", "y"]],
  [" [] ", array, []],
  ['{"k":1}', object, { k: 1 }]
]

const kept: ReadonlyArray<readonly [unknown, JsonSchema.JsonSchema]> = [
  ["7.5", integer],
  [7.5, integer],
  ["", number],
  [" ", number],
  ["", integer],
  ["Infinity", number],
  ["NaN", number],
  ["1e999", number],
  ["12 apples", number],
  ["0x", number],
  ["9007199254740993", integer],
  ["9007199254740993", number],
  ["9007199254740993.0", number],
  ["9007199254740993e0", number],
  ["0x20000000000001", number],
  [null, number],
  [null, integer],
  [null, boolean],
  [null, string],
  [null, array],
  [null, object],
  ["True", boolean],
  ["yes", boolean],
  ["", boolean],
  [2, boolean],
  [-1, boolean],
  ["1", boolean],
  [{}, string],
  [{}, number],
  [{}, boolean],
  [[], string],
  [[1], number],
  [[true], boolean],
  ["x", array],
  ["x,y", array],
  [1, array],
  [{}, array],
  ['{"k":1}', array],
  ['["x"', array],
  ["x", object],
  [[], object],
  ["[1]", object],
  ["null", object],
  ['{"k":1', object],
  [undefined, string]
]

/** Ways to put a value and its schema one level deeper. */
const levels: Record<
  string,
  (value: unknown, schema: JsonSchema.JsonSchema) => readonly [unknown, JsonSchema.JsonSchema]
> = {
  "at the top": (value, schema) => [value, schema],
  "in a field": (value, schema) => [{ f: value }, { type: "object", properties: { f: schema }, required: ["f"] }],
  "in a list": (value, schema) => [["s", value], { type: "array", prefixItems: [string], items: schema }],
  "in a tuple": (value, schema) => [[value], { type: "array", prefixItems: [schema] }],
  "in a record": (value, schema) => [{ any: value }, { type: "object", additionalProperties: schema }],
  "in a field of a list of a field": (value, schema) => [
    { f: [{ g: value }] },
    {
      type: "object",
      properties: { f: { type: "array", items: { type: "object", properties: { g: schema }, required: ["g"] } } }
    }
  ],
  "behind a reference": (value, schema) => [
    { f: value },
    { type: "object", properties: { f: { $ref: "#/$defs/F" } }, required: ["f"], $defs: { F: schema } }
  ],
  "behind an escaped reference": (value, schema) => [
    [value],
    { type: "array", items: { $ref: "#/$defs/a~1b~0c" }, $defs: { "a/b~c": schema } }
  ],
  "as a part of allOf": (value, schema) => [value, { allOf: [{}, schema] }],
  "as the second branch of anyOf": (value, schema) => [value, { anyOf: [{ type: "null" }, schema] }],
  "as a branch of oneOf": (value, schema) => [value, { oneOf: [schema, { type: "null" }] }],
  "as one of several types": (value, schema) => [value, { ...schema, type: [schema["type"] as string, "null"] }]
}

for (const [level, put] of Object.entries(levels)) {
  const wants = (schema: JsonSchema.JsonSchema) => JSON.stringify(schema["type"])

  describe(`adapted ${level}`, () => {
    it.each(
      adapted.map(
        ([received, schema, given]) => [JSON.stringify(received), wants(schema), given, received, schema] as const
      )
    )("%s for %s", (_name, _wanted, given, received, schema) => {
      const [value, node] = put(received, schema)
      const [expected] = put(given, schema)
      expect(coerce(deepFrozen(value), node)).toEqual(expected)
    })
  })

  describe(`kept ${level}`, () => {
    it.each(
      kept.map(
        ([received, schema]) => [JSON.stringify(received) ?? "undefined", wants(schema), received, schema] as const
      )
    )("%s for %s", (_name, _wanted, received, schema) => {
      const [value, node] = put(received, schema)
      expect(coerce(value, node)).toBe(value)
    })
  })
}

describe("fields that are null", () => {
  const fields = {
    type: "object",
    properties: { needed: string, free: string, nullable: { anyOf: [string, { type: "null" }] } },
    required: ["needed"]
  }

  it("are left out where they may be absent", () => {
    expect(coerce({ needed: "x", free: null }, fields)).toEqual({ needed: "x" })
    expect(coerce({ free: null, needed: "x", extra: 1 }, fields)).toEqual({ needed: "x", extra: 1 })
  })

  it("stay where the field is required, where null is meant, and where the field is unknown", () => {
    for (const value of [{ needed: null }, { needed: "x", nullable: null }, { needed: "x", extra: null }]) {
      expect(coerce(value, fields)).toBe(value)
    }
  })

  it("are left out on every level", () => {
    const deep = { type: "array", items: { type: "object", properties: { inner: fields } } }
    expect(coerce([{ inner: { needed: "x", free: null } }], deep)).toEqual([{ inner: { needed: "x" } }])
  })
})

describe("null where it is meant", () => {
  const withField = (f: object) => ({ type: "object", properties: { f, n: { type: "number" } }, required: ["n"] })
  const fields = [{ type: ["string", "null"] }, { enum: ["x", null] }, { const: null }, {}, { anyOf: [{}, string] }]
  it.each(fields.map((field) => [JSON.stringify(field), field] as const))(
    "stays in a field that is %s",
    (_name, field) => {
      expect(coerce({ f: null, n: "1" }, withField(field))).toEqual({ f: null, n: 1 })
    }
  )
})

describe("objects that have fields and branches", () => {
  it("are adapted by both", () => {
    const schema = {
      type: "object",
      properties: { n: number },
      anyOf: [
        { type: "object", properties: { m: number } },
        { type: "object", required: ["k"] }
      ]
    }
    expect(coerce({ n: "1", m: "2" }, schema)).toEqual({ n: 1, m: 2 })
  })
})

describe("texts that hold lists and objects", () => {
  it("are adapted inside too", () => {
    expect(coerce('{"k":"5"}', object)).toEqual({ k: 5 })
    expect(coerce("[1,true]", array)).toEqual(["1", "true"])
    expect(coerce('{"list":"[1]"}', { type: "object", properties: { list: array } })).toEqual({ list: ["1"] })
  })
})

describe("unions", () => {
  it("leave a value that one branch wants as it is, wherever it stands", () => {
    const either = { anyOf: [number, string, boolean, array] }
    for (const value of ["5", 5, true, "true", ["x"], '["x"]']) expect(coerce(value, either)).toBe(value)
  })

  it("adapt a value that fits none to the first that it can become", () => {
    expect(coerce("7", { anyOf: [boolean, integer] })).toBe(7)
    expect(coerce("true", { anyOf: [integer, boolean] })).toBe(true)
  })
})

describe("unions of objects", () => {
  const branch = (kind: object, of: object) => ({ type: "object", properties: { kind, at: of } })
  const kinds = [
    ["const", { const: "a" }, { const: "b" }],
    ["enum", { type: "string", enum: ["a"] }, { type: "string", enum: ["b", "c"] }]
  ] as const

  it.each(kinds)("are adapted by the branch whose %s fits", (_name, a, b) => {
    const either = { anyOf: [branch(a, number), branch(b, string)] }
    expect(coerce({ kind: "b", at: 5 }, either)).toEqual({ kind: "b", at: "5" })
    expect(coerce({ kind: "a", at: "5" }, either)).toEqual({ kind: "a", at: 5 })
    const right = { kind: "b", at: "5" }
    expect(coerce(right, either)).toBe(right)
  })

  it("whose kind is missing are adapted by the first", () => {
    expect(coerce({ at: "5" }, { anyOf: [branch({ const: "a" }, number), branch({ const: "b" }, string)] })).toEqual({
      at: 5
    })
  })
})

describe("literals in a union", () => {
  it("are left where they are meant, and adapted to where not", () => {
    const either = { anyOf: [{ type: "string", enum: ["auto"] }, number] }
    expect(coerce("auto", either)).toBe("auto")
    expect(coerce("5", either)).toBe(5)
    expect(coerce("5", { anyOf: [{ const: "5" }, number] })).toBe("5")
  })
})

describe("keys", () => {
  it("named __proto__ are members like any other", () => {
    const value = JSON.parse('{"__proto__":{"x":1},"k":"5"}') as object
    const given = coerce(value, object) as object
    expect(Object.getPrototypeOf(given)).toBe(Object.prototype)
    expect(JSON.stringify(given)).toBe('{"__proto__":{"x":1},"k":5}')
  })

  it("that the schema's own prototype has are not taken for fields", () => {
    const value = { toString: null, constructor: "5" }
    expect(coerce(value, object)).toBe(value)
  })
})

// ---------------------------------------------------------------------------------------------------------------------
// Properties
// ---------------------------------------------------------------------------------------------------------------------

/** Whole numbers beyond those that a double can hold are not adapted. */
const Safe = Schema.Finite.check(Schema.isBetween({ minimum: -1e12, maximum: 1e12 }))

const Parameters = Schema.Struct({
  text: Schema.String,
  count: Schema.Int,
  ratio: Safe,
  flag: Schema.Boolean,
  maybe: Schema.optionalKey(Schema.String),
  nullable: Schema.optionalKey(Schema.NullOr(Schema.Finite)),
  level: Schema.Literals(["low", "high"]),
  either: Schema.Union([Schema.String, Schema.Finite]),
  list: Schema.Array(Schema.Struct({ n: Safe, s: Schema.optionalKey(Schema.String) })),
  record: Schema.Record(Schema.String, Schema.Boolean)
})
const { schema } = Schema.toJsonSchemaDocument(Parameters)

it.prop("a value that already decodes is never changed", [Arbitrary.schema(Parameters)], ([value]) => {
  expect(coerce(deepFrozen(value), schema)).toBe(value)
})

it.prop(
  "any JSON value is adapted without an error, without changing it, and to the same again",
  [Schema.Json],
  ([value]) => {
    const before = JSON.stringify(value)
    const once = coerce(deepFrozen(value), schema)
    expect(JSON.stringify(value)).toBe(before)
    expect(coerce(once, schema)).toEqual(once)
  }
)

/** The value as a model could send it: numbers and booleans as texts, lists as texts, absent fields as null. */
const almost = (value: typeof Parameters.Type, pick: number): unknown => ({
  ...value,
  count: pick & 1 ? String(value.count) : value.count,
  ratio: pick & 2 ? ` ${value.ratio} ` : value.ratio,
  flag: pick & 4 ? String(value.flag) : value.flag ? 1 : 0,
  ...(value.maybe === undefined && { maybe: null }),
  list: pick & 8 ? JSON.stringify(value.list) : value.list.map((item) => ({ s: null, ...item, n: String(item.n) }))
})

it.prop(
  "what was sent almost right becomes what was meant",
  [Arbitrary.schema(Parameters), Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 15 }))],
  ([value, pick]) => {
    const sent = almost(value, pick)
    // By way of JSON, which knows no negative zero.
    expect(JSON.parse(JSON.stringify(coerce(deepFrozen(sent), schema)))).toEqual(JSON.parse(JSON.stringify(value)))
  }
)
