/**
 * Adapts almost-right arguments to a JSON Schema, without loss: "42" where a number is wanted becomes 42, a null where a
 * field may be absent is left out, a JSON text becomes the list or object that it holds. What cannot be adapted stays as
 * it is, for the decoder to refuse. The given value is never changed.
 */
import type { JsonSchema } from "effect/JsonSchema"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"

export type { JsonSchema } from "effect/JsonSchema"
type Node = JsonSchema

export const coerce = (value: unknown, schema: Node): unknown => coerceNode(value, schema, schema)

const coerceNode = (value: unknown, node: unknown, root: Node): unknown => {
  if (!Predicate.isObject(node)) return value
  if (typeof node["$ref"] === "string") return coerceNode(value, resolve(node["$ref"], root), root)
  const typed = Array.isArray(node["type"])
    ? coerceUnion(
        value,
        node["type"].map((type) => ({ ...node, type })),
        root
      )
    : coerceTyped(value, node, root)
  const branches = node["anyOf"] ?? node["oneOf"]
  const chosen = Array.isArray(branches) ? coerceUnion(typed, branches, root) : typed
  const all = Array.isArray(node["allOf"]) ? node["allOf"] : []
  return all.reduce((current: unknown, part) => coerceNode(current, part, root), chosen)
}

/** What a reference of a schema stands for. */
export const resolve = (ref: string, root: Node): unknown => {
  const name = /^#\/\$defs\/(.+)$/.exec(ref)?.[1]
  const definitions = root["$defs"]
  return name !== undefined && Predicate.isObject(definitions)
    ? definitions[name.replaceAll("~1", "/").replaceAll("~0", "~")]
    : undefined
}

/** A branch that wants what the value is comes before one that the value would have to become. */
const coerceUnion = (value: unknown, branches: ReadonlyArray<unknown>, root: Node): unknown => {
  const fitting = branches.find((branch) => fits(value, branch, root))
  if (fitting !== undefined) return coerceNode(value, fitting, root)
  for (const branch of branches) {
    const coerced = coerceNode(value, branch, root)
    if (coerced !== value) return coerced
  }
  return value
}

/** Whether a value is of the kind that a schema wants: its type, its literal, and the literals of its fields. */
const fits = (value: unknown, node: unknown, root: Node): boolean => {
  if (!Predicate.isObject(node)) return node !== false
  if (typeof node["$ref"] === "string") return fits(value, resolve(node["$ref"], root), root)
  const branches = node["anyOf"] ?? node["oneOf"]
  if (Array.isArray(branches) && !branches.some((branch) => fits(value, branch, root))) return false
  if ("const" in node && node["const"] !== value) return false
  if (Array.isArray(node["enum"]) && !node["enum"].includes(value)) return false
  const types = node["type"] === undefined ? [] : [node["type"]].flat()
  if (types.length > 0 && !types.some((type) => isOfType(value, type))) return false
  return !Predicate.isObject(value) || hasLiterals(value, node["properties"], root)
}

const hasLiterals = (value: object, properties: unknown, root: Node): boolean =>
  !Predicate.isObject(properties) ||
  Object.entries(properties).every(([key, property]) => {
    const isLiteral = Predicate.isObject(property) && ("const" in property || "enum" in property)
    return !isLiteral || !Predicate.hasProperty(value, key) || fits(value[key], property, root)
  })

const isOfType = (value: unknown, type: unknown): boolean => {
  switch (type) {
    case "null":
      return value === null
    case "array":
      return Array.isArray(value)
    case "object":
      return Predicate.isObject(value)
    case "integer":
      return Number.isInteger(value)
    default:
      return type === typeof value
  }
}

const coerceTyped = (value: unknown, node: Node, root: Node): unknown => {
  switch (node["type"]) {
    case "number":
      return toNumber(value, () => true)
    case "integer":
      return toNumber(value, Number.isInteger)
    case "boolean":
      return toBoolean(value)
    case "string":
      return typeof value === "number" || typeof value === "boolean" ? String(value) : value
    case "array":
      return coerceItems(parsed(value, Array.isArray), node, root)
    case "object":
      return coerceMembers(parsed(value, Predicate.isObject), node, root)
    default:
      return value
  }
}

const toNumber = (value: unknown, fits: (number: number) => boolean): unknown => {
  if (typeof value === "boolean") return value ? 1 : 0
  if (typeof value !== "string" || value.trim() === "") return value
  const number = Number(value)
  return Number.isFinite(number) && fits(number) && isExact(value, number) ? number : value
}

/** A whole number with more digits than a double can hold would be changed silently. */
const isExact = (text: string, number: number): boolean =>
  !Number.isInteger(number) || Number.isSafeInteger(number) || digits(text) <= SIGNIFICANT_DIGITS

const SIGNIFICANT_DIGITS = 15

const digits = (text: string): number =>
  /^\s*0[box]/i.test(text) ? Infinity : text.toLowerCase().split("e")[0]!.replace(/\D/g, "").length

const toBoolean = (value: unknown): unknown => {
  if (value === "true" || value === 1) return true
  if (value === "false" || value === 0) return false
  return value
}

const parsed = (value: unknown, isWanted: (value: unknown) => boolean): unknown => {
  if (typeof value !== "string") return value
  const json: unknown = Result.getOrElse(
    Result.try(() => JSON.parse(value) as unknown),
    () => undefined
  )
  return isWanted(json) ? json : value
}

const coerceItems = (value: unknown, node: Node, root: Node): unknown => {
  if (!Array.isArray(value)) return value
  const prefix = Array.isArray(node["prefixItems"]) ? node["prefixItems"] : []
  return mapped(value, (item, index) => coerceNode(item, prefix[index] ?? node["items"], root))
}

const mapped = (
  items: ReadonlyArray<unknown>,
  f: (item: unknown, index: number) => unknown
): ReadonlyArray<unknown> => {
  const result = items.map(f)
  return result.every((item, index) => item === items[index]) ? items : result
}

const coerceMembers = (value: unknown, node: Node, root: Node): unknown => {
  if (!Predicate.isObject(value)) return value
  const properties = Predicate.isObject(node["properties"]) ? node["properties"] : {}
  const required = Array.isArray(node["required"]) ? node["required"] : []
  let changed = false
  const members = Object.entries(value).flatMap(([key, member]) => {
    const schema = Object.hasOwn(properties, key) ? properties[key] : node["additionalProperties"]
    if (member === null && Object.hasOwn(properties, key) && !required.includes(key) && !fits(null, schema, root)) {
      changed = true
      return []
    }
    const coerced = coerceNode(member, schema, root)
    changed ||= coerced !== member
    return [[key, coerced] as const]
  })
  return changed ? Object.fromEntries(members) : value
}
