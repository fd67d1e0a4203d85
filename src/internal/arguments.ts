/**
 * Decodes the arguments of a call: by the tool's Schema first, and only if that fails once more after a lossless coercion.
 * A refusal names every wrong field, what was wanted and what was received, in words that a model can act on.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import * as SchemaParser from "effect/SchemaParser"
import type * as Tool from "../Tool.ts"
import { coerce, type JsonSchema, resolve } from "./coerce.ts"

type Decoder = (input: unknown) => Effect.Effect<unknown, SchemaIssue.Issue>

const decoders = new WeakMap<Schema.Top, Decoder>()

/** One decoder a tool, built when it is first called. */
const decoderOf = (tool: Tool.Any): Decoder => {
  let decoder = decoders.get(tool.schema)
  if (decoder === undefined) {
    decoder = SchemaParser.decodeUnknownEffect(tool.schema, {
      errors: "all",
      onExcessProperty: tool.onExcessProperty
    })
    decoders.set(tool.schema, decoder)
  }
  return decoder
}

/**
 * The arguments that the tool and its hooks get, or in words why the call is refused. An `Exit` where nothing has to be
 * waited for.
 */
export const decodeArguments = (tool: Tool.Any, args: unknown): Effect.Effect<unknown, string> => {
  const decoder = decoderOf(tool)
  const decode = (input: unknown) => Effect.mapEager(decoder(input), (decoded) => keepUnknown(decoded, input, tool))
  return Effect.catchEager(decode(args), (issue) => {
    const coerced = coerce(args, tool.parameters)
    return coerced === args
      ? Exit.fail(describeIssue(tool, args, args, issue))
      : Effect.mapErrorEager(decode(coerced), (again) => describeIssue(tool, args, coerced, again))
  })
}

/** Gives decoded objects the fields back that no schema names: a decoder drops those that it allows. */
const keepUnknown = (decoded: unknown, received: unknown, { parameters }: Tool.Any): unknown =>
  isWhole(decoded, received)
    ? decoded
    : withUnknown(decoded, received, alternatives(parameters, parameters), parameters)

/** Whether a decoded value has all fields that were received: then nothing was dropped. */
const isWhole = (decoded: unknown, received: unknown): boolean => {
  if (decoded === received) return true
  if (Array.isArray(decoded) && Array.isArray(received)) {
    return decoded.every((item, index) => isWhole(item, received[index]))
  }
  if (!isPlainObject(decoded) || !isPlainObject(received)) return true
  return Object.keys(received).every((key) => Object.hasOwn(decoded, key) && isWhole(decoded[key], received[key]))
}

const withUnknown = (
  decoded: unknown,
  received: unknown,
  schemas: ReadonlyArray<JsonSchema>,
  root: JsonSchema
): unknown => {
  if (decoded === received) return decoded
  if (Array.isArray(decoded) && Array.isArray(received)) {
    return decoded.map((item, index) => withUnknown(item, received[index], below(schemas, index, root), root))
  }
  if (!isPlainObject(decoded) || !isPlainObject(received)) return decoded
  const known = Object.entries(decoded).map(([key, value]) => [
    key,
    withUnknown(value, member(received, key), below(schemas, key, root), root)
  ])
  const isNamed = (key: string) => schemas.some((schema) => member(schema["properties"], key) !== undefined)
  const unknown = Object.entries(received).filter(([key]) => !Object.hasOwn(decoded, key) && !isNamed(key))
  return Object.fromEntries([...unknown, ...known])
}

/** The schemas that may hold for a field or an item of what these schemas may hold for. */
const below = (schemas: ReadonlyArray<JsonSchema>, key: PropertyKey, root: JsonSchema): ReadonlyArray<JsonSchema> => [
  ...new Set(
    schemas.flatMap((schema) =>
      alternatives(
        typeof key === "number"
          ? (member(schema["prefixItems"], key) ?? schema["items"])
          : (member(schema["properties"], key) ?? schema["additionalProperties"]),
        root
      )
    )
  )
]

/** A schema, what it refers to, and its branches, each once. */
const alternatives = (schema: unknown, root: JsonSchema): ReadonlyArray<JsonSchema> => {
  const found = new Set<JsonSchema>()
  const visit = (node: unknown): void => {
    if (!Predicate.isObject(node) || found.has(node)) return
    found.add(node)
    if (typeof node["$ref"] === "string") visit(resolve(node["$ref"], root))
    for (const branches of [node["anyOf"], node["oneOf"], node["allOf"]]) {
      if (Array.isArray(branches)) branches.forEach(visit)
    }
  }
  visit(schema)
  return [...found]
}

/** A copy of plain objects, lists and dates, on every level; anything else is kept as it is. Undefined fields are left out. */
export const copyPlain = <A>(value: A): A => {
  if (Array.isArray(value)) return value.map(copyPlain) as A
  if (value instanceof Date) return structuredClone(value)
  if (!isPlainObject(value)) return value
  const copy: Record<string, unknown> = {}
  for (const key of Object.keys(value)) {
    const member = value[key]
    if (member === undefined) continue
    if (key === "__proto__") Object.defineProperty(copy, key, { ...ownField, value: copyPlain(member) })
    else copy[key] = copyPlain(member)
  }
  return copy as A
}

/** Assigning `__proto__` would change the prototype. */
const ownField = { configurable: true, enumerable: true, writable: true }

const isPlainObject = (value: unknown): value is Readonly<Record<string, unknown>> => {
  if (typeof value !== "object" || value === null) return false
  const prototype = Object.getPrototypeOf(value) as unknown
  return prototype === Object.prototype || prototype === null
}

// ---------------------------------------------------------------------------------------------------------------------
// Refusals
// ---------------------------------------------------------------------------------------------------------------------

/** How much of what was received is shown again, in characters. */
const MAX_SHOWN = 500

const describeIssue = (tool: Tool.Any, args: unknown, coerced: unknown, issue: SchemaIssue.Issue): string => {
  const { issues } = formatIssue(issue)
  const lines = issues.map(({ message, path = [] }) => {
    const keys = path.map((segment) => (typeof segment === "object" ? segment.key : segment))
    return `- ${keys.length === 0 ? "arguments" : showPath(keys)}: ${explain(tool, [args, coerced], keys, message)}`
  })
  return [
    `The arguments of "${tool.name}" do not fit its parameters:`,
    ...lines,
    `Received: ${show(args)}`,
    "Correct them and call the tool again."
  ].join("\n")
}

const formatIssue = SchemaIssue.makeFormatterStandardSchemaV1()

/** What is wrong with a field: `versions` are the arguments as they were sent, and as they were read. */
const explain = (
  tool: Tool.Any,
  versions: ReadonlyArray<unknown>,
  path: ReadonlyArray<PropertyKey>,
  message: string
): string => {
  if (message === "Missing key") return `required, but missing (${wanted(tool, path)})`
  if (message === "Expected no excess property") return "unknown field, which is not allowed"
  const values = versions.map((args) => path.reduce<unknown>(member, args))
  return `${message}, got ${show(values.find((value) => value !== undefined))}`
}

/** What the declared schema says of a field that is missing. */
const wanted = (tool: Tool.Any, path: ReadonlyArray<PropertyKey>): string => {
  const node = path.reduce<unknown>(
    (schema, key) => (typeof key === "number" ? member(schema, "items") : member(member(schema, "properties"), key)),
    tool.parameters
  )
  const type = member(node, "type")
  return typeof type === "string" ? `expected ${type}` : "see the tool's parameters"
}

const member = (value: unknown, key: PropertyKey): unknown =>
  Predicate.hasProperty(value, key) && Object.hasOwn(value, key) ? value[key] : undefined

const showPath = (path: ReadonlyArray<PropertyKey>): string =>
  path
    .map((key, index) => (typeof key === "number" ? `[${key}]` : index === 0 ? String(key) : `.${String(key)}`))
    .join("")

const show = (value: unknown): string => shorten(JSON.stringify(value) ?? String(value))

const shorten = (text: string): string =>
  text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN).toWellFormed()}… (${text.length} characters)`

/** Why a call does not run whose arguments are not valid JSON. */
export const brokenArguments = (tool: string, received: string): string =>
  `The arguments of "${tool}" are not valid JSON, so the call was not executed. Received: ${shorten(received)}\n` +
  "Call the tool again with complete, valid JSON."
