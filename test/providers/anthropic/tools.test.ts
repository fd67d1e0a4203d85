// What the API is told of parameters: always an object, whatever their schema is.
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { toTool } from "../../../src/providers/anthropic/tools.ts"
import * as Tool from "../../../src/Tool.ts"

const schemaOf = (parameters: object) =>
  toTool({ name: "t", description: "d", parameters: parameters as never }).input_schema

const string = { type: "string" }
const number = { type: "number" }

describe("the schema of a tool", () => {
  it("is as it was, where it is an object", () => {
    const parameters = {
      type: "object",
      properties: { path: { ...string, description: "where" }, to: { $ref: "#/$defs/place" } },
      required: ["path"],
      additionalProperties: false,
      $defs: { place: string }
    }
    expect(schemaOf(parameters)).toEqual(parameters)
  })

  it("is an object where nothing is said", () => {
    expect(schemaOf({})).toEqual({ type: "object" })
    expect(schemaOf({ type: "string" })).toEqual({ type: "object" })
  })

  it("is what the root refers to, also where that refers to itself", () => {
    const node = { type: "object", properties: { next: { $ref: "#/$defs/node" } }, required: ["next"] }
    expect(schemaOf({ $ref: "#/$defs/node", $defs: { node } })).toEqual({ ...node, $defs: { node } })
    expect(schemaOf({ $ref: "#/$defs/alias", $defs: { alias: { $ref: "#/$defs/node" }, node } })).toMatchObject(node)
  })

  it("ends where references go round in circles, or nowhere", () => {
    const $defs = { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } }
    expect(schemaOf({ $ref: "#/$defs/a", $defs })).toEqual({ type: "object", $defs })
    expect(schemaOf({ $ref: "#/$defs/none" })).toEqual({ type: "object" })
    expect(schemaOf({ $ref: "#" })).toEqual({ type: "object" })
    expect(schemaOf({ $ref: "#/%" })).toEqual({ type: "object" })
    const round = { anyOf: [{ $ref: "#" }, { type: "object", properties: { a: string } }] }
    expect(schemaOf(round)).toMatchObject({ type: "object", properties: { a: string } })
  })

  it("allows what each of its alternatives allows, and wants what all of them want", () => {
    const alternatives = [
      { type: "object", properties: { kind: { const: "a" }, x: string }, required: ["kind", "x"] },
      { $ref: "#/$defs/b" }
    ]
    const $defs = {
      b: { type: "object", properties: { kind: { const: "b" }, x: string, y: number }, required: ["kind"] }
    }
    for (const keyword of ["anyOf", "oneOf"]) {
      expect(schemaOf({ description: "d", [keyword]: alternatives, $defs })).toEqual({
        type: "object",
        description: "d",
        properties: { kind: { anyOf: [{ const: "a" }, { const: "b" }] }, x: string, y: number },
        required: ["kind"],
        $defs
      })
    }
  })

  it("wants all that its parts want together", () => {
    expect(
      schemaOf({
        properties: { z: string },
        required: ["z"],
        allOf: [
          { type: "object", properties: { x: string }, required: ["x"] },
          { type: "object", properties: { y: number }, required: ["y"] }
        ]
      })
    ).toEqual({ type: "object", properties: { z: string, x: string, y: number }, required: ["z", "x", "y"] })
  })

  it("of a tool of ours is valid, also with a name of its own and with alternatives", () => {
    const Place = Schema.Struct({ x: Schema.Finite, y: Schema.Finite }).annotate({ identifier: "Place" })
    const Choice = Schema.Union([Place, Schema.Struct({ name: Schema.String })])
    for (const parameters of [Place, Choice] as ReadonlyArray<Schema.Codec<unknown>>) {
      const tool = Tool.make({ name: "t", description: "d", parameters, execute: () => Effect.succeed("") })
      const schema = toTool(tool).input_schema
      expect(schema).toMatchObject({ type: "object", properties: expect.anything() })
      expect(Object.keys(schema)).not.toContain("$ref")
      expect(Object.keys(schema)).not.toContain("anyOf")
    }
  })
})
