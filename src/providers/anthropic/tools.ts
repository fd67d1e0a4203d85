/**
 * What the model is told of the tools. The API wants an object at the root of a schema, not a `$ref` and no alternatives. A
 * root that is something else is put as one object that allows all that it allowed; the tool decodes by its own schema
 * anyway.
 */
import type { Anthropic } from "@anthropic-ai/sdk"
import * as JsonPointer from "effect/JsonPointer"
import type * as JsonSchema from "effect/JsonSchema"
import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"
import type { Declaration } from "../../Tool.ts"
import { isBlank, wellFormed } from "./text.ts"

export const toTool = ({ name, description, parameters }: Declaration): Anthropic.Tool => ({
  name,
  ...(!isBlank(description) && { description: description.toWellFormed() }),
  input_schema: wellFormed(objectSchema(parameters) as Schema.JsonObject) as unknown as Anthropic.Tool.InputSchema
})

/** A tool that only calls in the transcript speak of. */
export const toFormerTool = (name: string): Anthropic.Tool => ({
  name,
  description: "This tool is no longer available.",
  input_schema: { type: "object" }
})

const objectSchema = (parameters: JsonSchema.JsonSchema): JsonSchema.JsonSchema => {
  const { $defs } = parameters
  const root: JsonSchema.JsonSchema = { ...follow(parameters, parameters), ...($defs !== undefined && { $defs }) }
  const { anyOf, oneOf, allOf, ...rest } = root
  if (anyOf === undefined && oneOf === undefined && allOf === undefined) return { ...rest, type: "object" }
  const { properties, required } = fieldsOf(root, parameters, 0)
  return { ...rest, type: "object", properties, required }
}

/** The schema itself, or what it refers to. */
const follow = (schema: JsonSchema.JsonSchema, root: JsonSchema.JsonSchema, depth = 0): JsonSchema.JsonSchema => {
  const { $ref, ...rest } = schema
  if (typeof $ref !== "string" || depth > MAX_DEPTH) return rest
  let target: unknown = root
  for (const token of JsonPointer.parseUriFragment($ref) ?? []) target = isSchema(target) ? target[token] : undefined
  return isSchema(target) && target !== schema ? { ...follow(target, root, depth + 1), ...rest } : rest
}

/** References may go round in circles. */
const MAX_DEPTH = 20

interface Fields {
  readonly properties: Readonly<Record<string, unknown>>
  readonly required: ReadonlyArray<string>
}

/** The fields that an object may have by a schema or by one of its alternatives, and those that it has by all of them. */
const fieldsOf = (schema: JsonSchema.JsonSchema, root: JsonSchema.JsonSchema, depth: number): Fields => {
  const { properties, required, allOf, anyOf, oneOf } = follow(schema, root)
  const inner = (parts: unknown) =>
    depth > MAX_DEPTH || !Array.isArray(parts)
      ? []
      : parts.filter(isSchema).map((part) => fieldsOf(part, root, depth + 1))
  const own = { properties: isSchema(properties) ? properties : {}, required: namesIn(required) }
  const together = [own, ...inner(allOf)]
  const alternatives = [inner(anyOf), inner(oneOf)]
  return {
    properties: merge([...together, ...alternatives.flat()].map((fields) => fields.properties)),
    required: [...new Set([...together.flatMap((fields) => fields.required), ...alternatives.flatMap(requiredByAll)])]
  }
}

/** A field that several alternatives have may be as any of them says. */
const merge = (all: ReadonlyArray<Fields["properties"]>): Fields["properties"] => {
  const merged: Record<string, unknown> = {}
  for (const name of new Set(all.flatMap(Object.keys))) {
    const byText = new Map(
      all.filter((each) => name in each).map((each) => [JSON.stringify(each[name]), each[name]] as const)
    )
    const schemas = [...byText.values()]
    merged[name] = schemas.length === 1 ? schemas[0] : { anyOf: schemas }
  }
  return merged
}

const requiredByAll = (alternatives: ReadonlyArray<Fields>): ReadonlyArray<string> =>
  (alternatives[0]?.required ?? []).filter((name) => alternatives.every(({ required }) => required.includes(name)))

const isSchema = (value: unknown): value is JsonSchema.JsonSchema => Predicate.isObject(value) && !Array.isArray(value)

const namesIn = (value: unknown): ReadonlyArray<string> =>
  Array.isArray(value) ? value.filter((name) => typeof name === "string") : []
