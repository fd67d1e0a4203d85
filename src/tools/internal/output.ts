/**
 * The output of a command in bounded memory: its first bytes, its last bytes, and how much there was.
 *
 * A text of it shows the beginning and the end, and says between them what is left out. The end gets most of the room:
 * it is where commands say how it went.
 */
import { characterStart, decode, decodeEnd, decodeStart, REACH } from "./text.ts"

export const MAX_LINES = 2000
export const MAX_BYTES = 50 * 1024

const HEAD_LINES = MAX_LINES / 5
const HEAD_BYTES = MAX_BYTES / 5
const TAIL_LINES = MAX_LINES - HEAD_LINES
const TAIL_BYTES = MAX_BYTES - HEAD_BYTES

/** Where more than this would have to be dropped to end at a line's end, a line is cut instead. */
const MAX_DROPPED = 1000

const LF = 10

export interface Output {
  readonly add: (chunk: Uint8Array) => void
  /** How many bytes there were. */
  readonly bytes: () => number
  /** How many lines there were. */
  readonly lines: () => number
  /** All that was kept: everything, if there were at most `MAX_BYTES`. */
  readonly kept: () => Uint8Array
  /** The last of it, for a look at a command that runs. */
  readonly tail: (bytes: number) => string
  readonly parts: () => Parts
}

/** All of it, or its beginning and end with something left out between. */
export type Parts =
  | { readonly isWhole: true; readonly text: string }
  | { readonly isWhole: false; readonly head: string; readonly tail: string }

export const make = (): Output => {
  const head = new Uint8Array(HEAD_BYTES)
  const ring = makeRing(TAIL_BYTES)
  let bytes = 0
  let newlines = 0
  let lastByte = LF

  const kept = () => {
    const last = ring.contents()
    const first = Math.min(bytes, HEAD_BYTES)
    const all = new Uint8Array(first + last.length)
    all.set(head.subarray(0, first))
    all.set(last, first)
    return all
  }

  return {
    add: (chunk) => {
      const room = Math.max(0, HEAD_BYTES - bytes)
      head.set(chunk.subarray(0, room), HEAD_BYTES - room)
      ring.add(chunk.subarray(room))
      bytes += chunk.length
      lastByte = chunk.at(-1) ?? lastByte
      for (let i = 0; i < chunk.length; i++) if (chunk[i] === LF) newlines++
    },
    bytes: () => bytes,
    lines: () => (bytes === 0 || lastByte === LF ? newlines : newlines + 1),
    kept,
    tail: (n) => {
      const all = kept()
      return all.length <= n ? decode(all) : `…${decodeEnd(all.subarray(characterEnd(all, all.length - n)))}`
    },
    parts: () => {
      if (bytes <= MAX_BYTES) return byLines(decode(kept()))
      const last = ring.contents()
      return {
        isWhole: false,
        // What is next to the cut is not there any more: characters are told apart a little further in.
        head: firstLines(toLineEnd(decodeStart(head.subarray(0, characterStart(head, HEAD_BYTES - REACH))))),
        tail: lastLines(fromLineStart(decodeEnd(last.subarray(characterEnd(last, REACH)))))
      }
    }
  }
}

/** The first place, at `at` bytes or after, that does not fall into a character as a person sees it. */
const characterEnd = (bytes: Uint8Array, at: number): number => {
  const start = characterStart(bytes, at)
  if (start === at) return at
  const text = decodeStart(bytes.subarray(start, start + 2 * REACH))
  const first = characters.segment(text).containing(0)?.segment ?? ""
  const end = start + new TextEncoder().encode(first).length
  // What is not UTF-8 has no characters, and one without end has to be cut somewhere.
  const isEndless = first === text && end < bytes.length
  return isEndless || text.includes("\ufffd") ? at : end
}

const characters = new Intl.Segmenter("en", { granularity: "grapheme" })

/** Keeps the last `size` bytes. */
const makeRing = (size: number) => {
  const ring = new Uint8Array(size)
  let at = 0
  let filled = 0
  return {
    add: (chunk: Uint8Array) => {
      const bytes = chunk.length > size ? chunk.subarray(chunk.length - size) : chunk
      const first = Math.min(bytes.length, size - at)
      ring.set(bytes.subarray(0, first), at)
      ring.set(bytes.subarray(first))
      at = (at + bytes.length) % size
      filled = Math.min(size, filled + bytes.length)
    },
    contents: (): Uint8Array => {
      if (filled < size) return ring.slice(0, filled)
      const all = new Uint8Array(size)
      all.set(ring.subarray(at))
      all.set(ring.subarray(0, at), size - at)
      return all
    }
  }
}

const byLines = (text: string): Parts => {
  const lines = text.split("\n").length - (text.endsWith("\n") ? 1 : 0)
  return lines <= MAX_LINES
    ? { isWhole: true, text }
    : { isWhole: false, head: firstLines(text), tail: lastLines(text) }
}

const firstLines = (text: string): string => {
  let at = 0
  for (let line = 0; line < HEAD_LINES; line++) {
    const next = text.indexOf("\n", at)
    if (next === -1) return text
    at = next + 1
  }
  return text.slice(0, at)
}

const lastLines = (text: string): string => {
  let at = text.endsWith("\n") ? text.length - 1 : text.length
  for (let line = 0; line < TAIL_LINES; line++) {
    const before = at === 0 ? -1 : text.lastIndexOf("\n", at - 1)
    if (before === -1) return text
    at = before
  }
  return text.slice(at + 1)
}

const toLineEnd = (text: string): string => {
  const end = text.lastIndexOf("\n") + 1
  return end === 0 || text.length - end > MAX_DROPPED ? `${text}…` : text.slice(0, end)
}

const fromLineStart = (text: string): string => {
  const start = text.indexOf("\n") + 1
  return start === 0 || start > MAX_DROPPED ? `…${text}` : text.slice(start)
}
