/**
 * Text as the API takes it. A surrogate without its other half makes the whole body invalid, and a text without anything
 * to read in it is refused; both come from tools and from users who paste.
 */
import type * as Schema from "effect/Schema"

/** The same JSON with lone surrogates replaced by U+FFFD; the very same value where there are none. */
export const wellFormed = <A extends Schema.Json>(json: A): A => repair(json) as A

const repair = (json: Schema.Json): Schema.Json => {
  if (typeof json === "string") return json.toWellFormed()
  if (json === null || typeof json !== "object") return json
  if (Array.isArray(json)) {
    const items = json.map(repair)
    return items.every((item, index) => item === json[index]) ? json : items
  }
  const members = Object.entries(json).map(([key, value]) => [key.toWellFormed(), repair(value), key, value] as const)
  return members.every(([key, value, oldKey, old]) => key === oldKey && value === old)
    ? json
    : Object.fromEntries(members)
}

/** The API refuses a text block without a character that is not white space. */
export const isBlank = (text: string): boolean => text.trim() === ""

/** The beginning of a text, in one line. */
export const excerpt = (text: string): string => {
  const line = text.replaceAll(/\s+/g, " ").trim()
  return line.length > 120 ? `${line.slice(0, 120).toWellFormed()}…` : line
}
