/**
 * Lines out of chunks of bytes, in memory that does not grow with them: of a line longer than a limit only the start is
 * kept. A line ends with LF or CR LF, as in grep and in editors' line numbers; a lone CR is part of its line.
 */
import { decode, decodeStart } from "./text.ts"

export interface Line {
  /** The line without its end, or its start if it is cut. */
  readonly text: string
  /** The length of `text` in bytes. */
  readonly bytes: number
  readonly isCut: boolean
  readonly isCrlf: boolean
}

export interface Splitter {
  /** The lines that a chunk completes. */
  readonly push: (chunk: Uint8Array) => ReadonlyArray<Line>
  /** The length in bytes of the line that has begun and not ended. */
  readonly pending: () => number
  /** The last line, if it has begun and not ended. */
  readonly end: () => Line | undefined
  /** How many lines have ended, with those that were skipped. */
  readonly count: () => number
}

/** Splits into lines of at most `maxBytes`. The first `skip` lines are only counted. */
export const make = (maxBytes: number, skip = 0): Splitter => {
  const kept = new Uint8Array(maxBytes)
  let count = 0
  let length = 0
  let lastByte = 0

  const append = (piece: Uint8Array) => {
    if (piece.length === 0) return
    if (count >= skip && length < maxBytes) kept.set(piece.subarray(0, maxBytes - length), length)
    length += piece.length
    lastByte = piece[piece.length - 1]!
  }

  const take = (isEnded: boolean): Line | undefined => {
    const isCrlf = isEnded && length > 0 && lastByte === CR
    const whole = isCrlf ? length - 1 : length
    const isCut = whole > maxBytes
    const bytes = isCut ? maxBytes : whole
    length = 0
    if (count++ < skip) return undefined
    return { text: isCut ? decodeStart(kept) : decode(kept.subarray(0, bytes)), bytes, isCut, isCrlf }
  }

  return {
    push: (chunk) => {
      const lines: Array<Line> = []
      let from = 0
      for (let at = chunk.indexOf(LF); at !== -1; at = chunk.indexOf(LF, from)) {
        append(chunk.subarray(from, at))
        const line = take(true)
        if (line !== undefined) lines.push(line)
        from = at + 1
      }
      append(chunk.subarray(from))
      return lines
    },
    pending: () => length,
    end: () => (length === 0 ? undefined : take(false)),
    count: () => count
  }
}

const CR = 13
const LF = 10
