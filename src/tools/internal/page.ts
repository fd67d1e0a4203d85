/**
 * A page of lines out of the chunks of a file, in memory that depends neither on the size of the file nor on the length of
 * its lines. A line ends with LF; a CR before it is part of its end, a lone CR of the line.
 *
 * Lines that are whole in a chunk are copied together and decoded at once, and NULs in them are looked for in the text:
 * that is ten times as fast as in the bytes.
 */
import { characterStart, decode, REACH } from "./text.ts"

export interface Limits {
  readonly lines: number
  readonly bytes: number
  readonly lineBytes: number
}

export interface Page {
  /** Takes the next bytes of the file, which may change afterwards; true if no more are needed. */
  readonly push: (chunk: Uint8Array) => boolean
  /** The file has ended. */
  readonly end: () => void
  /** How many lines of the file were seen. */
  readonly seen: () => number
  /** How many lines are on the page. */
  readonly lines: () => number
  /** Whether the file goes on after the page. */
  readonly hasMore: () => boolean
  /** Whether there was a NUL before the page or in a long line: in the others look at the text. */
  readonly isBinary: () => boolean
  /** Whether lines were cut. */
  readonly hasCuts: () => boolean
  /** The lines of the page, each with its end, and `mark` at the end of those that are cut. */
  readonly text: (mark: string) => string
}

/** The page that begins with the line `first`, counted from 1. */
export const make = (first: number, limits: Limits): Page => {
  const kept = new Uint8Array(limits.bytes + limits.lineBytes + REACH + 2)
  const cuts: Array<number> = []
  let toSkip = first - 1
  let skipped = 0
  let lines = 0
  /** How much of the page is full, and how much of that are lines that have ended. */
  let length = 0
  let ended = 0
  /** The length in bytes of the line that has begun and not ended, and its last byte. */
  let pending = 0
  let last = 0
  let isFull = false
  let isBinary = false

  const copy = (piece: Uint8Array) => {
    kept.set(piece, length)
    length += piece.length
  }

  /** Goes over lines that are not on the page; gives where the page begins in the chunk. */
  const skip = (chunk: Uint8Array): number => {
    let from = 0
    while (toSkip > 0) {
      const at = chunk.indexOf(LF, from)
      if (at === -1) {
        pending += chunk.length - from
        return chunk.length
      }
      toSkip--
      skipped++
      pending = 0
      from = at + 1
    }
    return from
  }

  /** Whether a line of so many bytes has room. */
  const takes = (bytes: number): boolean => {
    if (lines === limits.lines || ended + Math.min(bytes, limits.lineBytes) + 1 > limits.bytes) isFull = true
    return !isFull
  }

  const append = (piece: Uint8Array) => {
    if (piece.length === 0) return
    isBinary ||= piece.includes(0)
    copy(piece.subarray(0, Math.max(0, limits.lineBytes + REACH - (length - ended))))
    pending += piece.length
    last = piece[piece.length - 1]!
  }

  /** Ends the line that has come in pieces; false if it has no room. */
  const endLine = (end: Uint8Array) => {
    const whole = end.length > 0 && last === CR ? pending - 1 : pending
    const hasRoom = takes(whole)
    pending = 0
    if (!hasRoom) {
      length = ended
      return false
    }
    if (whole > limits.lineBytes) {
      length = ended + characterStart(kept.subarray(ended, length), limits.lineBytes)
      cuts.push(length)
    }
    copy(end)
    ended = length
    lines++
    return true
  }

  return {
    push: (chunk) => {
      let from = skip(chunk)
      isBinary ||= from > 0 && chunk.subarray(0, from).includes(0)
      let start = from
      for (let at = chunk.indexOf(LF, from); at !== -1; at = chunk.indexOf(LF, from)) {
        if (pending === 0 && at - from <= limits.lineBytes) {
          if (!takes(at - from)) break
          ended += at + 1 - from
          lines++
          from = at + 1
        } else {
          copy(chunk.subarray(start, from))
          append(chunk.subarray(from, at))
          start = from = at + 1
          if (!endLine(LINE_END)) break
        }
      }
      copy(chunk.subarray(start, from))
      if (isFull) return true
      append(chunk.subarray(from))
      // One byte after the last line tells that there is more; none, that the file may end here.
      isFull ||= lines === limits.lines && pending > 0
      if (isFull) length = ended
      return isFull
    },
    end: () => {
      if (pending === 0) return
      if (toSkip > 0) {
        toSkip--
        skipped++
      } else endLine(NO_END)
    },
    seen: () => skipped + lines,
    lines: () => lines,
    hasMore: () => isFull,
    isBinary: () => isBinary,
    hasCuts: () => cuts.length > 0,
    text: (mark) => {
      if (cuts.length === 0) return decode(kept.subarray(0, length))
      const starts = [0, ...cuts]
      const parts = starts.map((start, index) => decode(kept.subarray(start, starts[index + 1] ?? length)))
      return parts.join(mark)
    }
  }
}

const LF = 10
const CR = 13
const LINE_END = Uint8Array.of(LF)
const NO_END = Uint8Array.of()
