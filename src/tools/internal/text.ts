/**
 * Bytes and names to text that a model can be sent. No function here cuts a character in two, and what leaves a tool
 * is well-formed (no lone surrogates) and never only blanks: both make a provider refuse the whole request.
 */
import type * as Schema from "effect/Schema"
import * as Tool from "../../Tool.ts"

const decoder = new TextDecoder("utf-8", { ignoreBOM: true })

/** Bytes that are not UTF-8 become U+FFFD. */
export const decode = (bytes: Uint8Array): string => decoder.decode(bytes)

/** The text of bytes that were cut off at their end: an unfinished character is left out. */
export const decodeStart = (bytes: Uint8Array): string =>
  new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes, { stream: true })

/** The text of bytes that were cut off at their start: the rest of a character is left out. */
export const decodeEnd = (bytes: Uint8Array): string => {
  let start = 0
  while (start < 3 && isContinuation(bytes[start])) start++
  return decode(bytes.subarray(start))
}

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80

/**
 * The last place, at `at` bytes or before, that does not fall into a character as a person sees it: a letter with its
 * accents, an emoji of several. Characters are looked at with up to `REACH` bytes on both sides.
 */
export const characterStart = (bytes: Uint8Array, at: number): number => {
  let place = at
  while (place > 0 && isContinuation(bytes[place])) place--
  let from = Math.max(0, place - REACH)
  while (from < place && isContinuation(bytes[from])) from++
  const before = decode(bytes.subarray(from, place))
  const around = before + decodeStart(bytes.subarray(place, place + REACH))
  const start = characters.segment(around).containing(before.length)?.index ?? before.length
  // What is not UTF-8 has no characters, and one without end has to be cut somewhere.
  if (start === 0 || around.includes("\ufffd")) return place
  return place - encoder.encode(before.slice(start)).length
}

export const REACH = 128
const characters = new Intl.Segmenter("en", { granularity: "grapheme" })
const encoder = new TextEncoder()

/** `100,000,000` */
export const count = (n: number): string => n.toLocaleString("en-US")

/** `1 line`, `2 lines` */
export const plural = (n: number, noun: string): string => `${count(n)} ${noun}${n === 1 ? "" : "s"}`

/**
 * A file name on one line: one with control characters, or others that move text about, is quoted and escaped, and of a
 * very long one only the beginning and the end are given.
 */
export const showName = (name: string): string => {
  const short = name.length > MAX_NAME ? `${name.slice(0, MAX_NAME / 2)}…${name.slice(-MAX_NAME / 2)}` : name
  return unprintable.test(short)
    ? JSON.stringify(short).replaceAll(new RegExp(unprintable, "gu"), (char) => `\\u${hex(char)}`)
    : short
}

const MAX_NAME = 400

const unprintable = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u200e\u200f\u202a-\u202e\u2066-\u2069]/u

const hex = (char: string): string => char.charCodeAt(0).toString(16).padStart(4, "0")

/** A text that can be sent: well-formed, and with a sign for each NUL, which some receivers refuse. */
export const clean = (text: string): string => text.toWellFormed().replaceAll("\0", "\u2400")

/** A result of one text block. */
export const result = (text: string, details: Schema.Json): Tool.ToolResult => ({ ...Tool.text(clean(text)), details })

export const failure = (message: string, cause?: unknown): Tool.ToolFailure =>
  new Tool.ToolFailure({ message: clean(message), ...(cause !== undefined && { cause }) })

/** `text`, or what stands for it if there is nothing to see in it. */
export const orElse = (text: string, placeholder: string): string => (text.trim() === "" ? placeholder : text)
