/**
 * How long a server asks to wait, from its headers: `retry-after-ms`, or `retry-after` in seconds or as an HTTP date. What
 * is none of these, or has passed, says nothing.
 */
import * as DateTime from "effect/DateTime"
import * as Option from "effect/Option"

/** In milliseconds; `now` is in milliseconds since 1970. */
export const retryAfter = (headers: Headers | undefined, now: number): number | undefined => {
  const ms = numberOf(headers?.get("retry-after-ms"))
  if (ms !== undefined) return ms
  const after = headers?.get("retry-after")
  const seconds = numberOf(after)
  return seconds === undefined ? untilDate(after, now) : Math.round(seconds * 1_000)
}

const numberOf = (text: string | null | undefined): number | undefined => {
  const number = /^\s*\d+(\.\d+)?\s*$/.test(text ?? "") ? Number(text) : 0
  return number > 0 && Number.isFinite(number) ? number : undefined
}

/** All three forms of an HTTP date begin with the day of the week; much else that is no date would be read as one. */
const untilDate = (text: string | null | undefined, now: number): number | undefined => {
  if (!/^\s*(mon|tue|wed|thu|fri|sat|sun)[a-z]*,? /i.test(text ?? "")) return undefined
  const date = DateTime.make(text!.replace(/GMT$|$/, "GMT"))
  const wait = Option.isSome(date) ? DateTime.toEpochMillis(date.value) - now : 0
  return wait > 0 ? wait : undefined
}
