/**
 * JSON mode: one event a line on standard output, and nothing else.
 *
 * A line is complete JSON whatever the event holds: where a tool's details are beyond JSON (a cycle, a bigint, a getter that
 * throws), that part alone is replaced by a text that says so.
 */
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import type { AgentEvent } from "../AgentEvent.ts"
import * as Tool from "../Tool.ts"
import type { Format } from "./print.ts"
import { escapeJson } from "./sanitize.ts"

/** Values nested deeper than this are replaced where the whole cannot be encoded. */
export const MAX_DEPTH = 256

/**
 * Events as lines. A `message_update` has only `assistantMessageEvent`, from which a reader builds the message itself;
 * whole messages, asked for by `fullUpdates`, grow with the square of the response's length.
 */
export const format = (options: { readonly fullUpdates: boolean }): Format<void> => ({
  initial: undefined,
  step: (_, event) => [undefined, [{ to: "stdout", text: `${encode(options.fullUpdates ? event : slim(event))}\n` }]]
})

const slim = (event: AgentEvent) =>
  event.type === "message_update" ? { type: event.type, assistantMessageEvent: event.assistantMessageEvent } : event

/** JSON text without control characters, of any value. */
export const encode = (value: unknown): string =>
  escapeJson(Result.getOrElse(stringify(value), () => encodeParts(value)))

const encodeParts = (value: unknown): string =>
  Result.getOrElse(stringify(toEncodable(() => value, [])), (why) => JSON.stringify(notJson(why)))

// The types leave out that JSON.stringify gives undefined for undefined and for functions.
const stringify = (value: unknown) => attempt(() => (JSON.stringify(value) as string | undefined) ?? "null")

const attempt = <A>(f: () => A): Result.Result<A, unknown> => Result.try({ try: f, catch: (defect) => defect })

const notJson = (why: unknown): string => `[not JSON: ${Tool.describeDefect(why)}]`

const toEncodable = (read: () => unknown, ancestors: ReadonlyArray<object>): unknown =>
  Result.getOrElse(
    attempt(() => {
      const value = read()
      if (typeof value === "bigint") return value.toString()
      if (typeof value !== "object" || value === null) return value
      if (ancestors.includes(value)) return notJson("it contains itself")
      if (ancestors.length >= MAX_DEPTH) return notJson("it is nested too deep")
      return members(value, [...ancestors, value])
    }),
    notJson
  )

const members = (value: object, ancestors: ReadonlyArray<object>): unknown => {
  if (Predicate.hasProperty(value, "toJSON") && typeof value.toJSON === "function") {
    const toJSON = value.toJSON
    return toEncodable(() => toJSON.call(value), ancestors)
  }
  if (Array.isArray(value)) return value.map((item) => toEncodable(() => item, ancestors))
  return Object.fromEntries(
    Object.keys(value).map((key) => [key, toEncodable(() => Reflect.get(value, key), ancestors)])
  )
}
