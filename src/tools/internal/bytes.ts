/**
 * Bytes of a file as a text that gives exactly the same bytes back. Where they are not UTF-8, each of them becomes a lone
 * surrogate (U+DC80 to U+DCFF), which no text of a model has: it stays as it is, and nothing matches it.
 */
import { decode } from "./text.ts"

const encoder = new TextEncoder()

export const toText = (bytes: Uint8Array): string => {
  const whole = decode(bytes)
  return whole.includes("\ufffd") ? toTextSlowly(bytes) : whole
}

const toTextSlowly = (bytes: Uint8Array): string => {
  let text = ""
  let from = 0
  while (from < bytes.length) {
    const valid = validLength(bytes, from)
    text += decode(bytes.subarray(from, valid))
    if (valid < bytes.length) text += String.fromCharCode(ESCAPE + bytes[valid]!)
    from = valid + 1
  }
  return text
}

export const toBytes = (text: string): Uint8Array => {
  if (text.isWellFormed()) return encoder.encode(text)
  const parts = text.split(/([\udc80-\udcff])/u).map((part, index) =>
    // Every second one is a byte.
    index % 2 === 1 ? Uint8Array.of(part.charCodeAt(0) - ESCAPE) : encoder.encode(part)
  )
  const all = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

const ESCAPE = 0xdc00

/** Up to where bytes are UTF-8. */
const validLength = (bytes: Uint8Array, from: number): number => {
  let at = from
  while (at < bytes.length) {
    const length = sequenceLength(bytes, at)
    if (length === 0) return at
    at += length
  }
  return at
}

/** How many bytes the character at a place has; 0 if there is none (table 3-7 of the Unicode standard). */
const sequenceLength = (bytes: Uint8Array, at: number): number => {
  const first = bytes[at]!
  if (first < 0x80) return 1
  const second = bytes[at + 1] ?? 0
  if (first < 0xc2 || first > 0xf4) return 0
  if (first < 0xe0) return isWithin(second, 0x80, 0xbf) ? 2 : 0
  const third = isWithin(bytes[at + 2] ?? 0, 0x80, 0xbf)
  if (first < 0xf0) {
    return third && isWithin(second, first === 0xe0 ? 0xa0 : 0x80, first === 0xed ? 0x9f : 0xbf) ? 3 : 0
  }
  const fourth = isWithin(bytes[at + 3] ?? 0, 0x80, 0xbf)
  return third && fourth && isWithin(second, first === 0xf0 ? 0x90 : 0x80, first === 0xf4 ? 0x8f : 0xbf) ? 4 : 0
}

const isWithin = (byte: number, least: number, most: number): boolean => byte >= least && byte <= most
