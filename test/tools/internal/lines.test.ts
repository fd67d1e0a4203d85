import { expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as Lines from "../../../src/tools/internal/lines.ts"

/** Texts of the characters that matter, and the sizes of the chunks that they come in. */
const Piece = Schema.Literals(["a", "bc", "\n", "\r", "\r\n", "é", "€", "😀"])
const ChunkSize = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 5 }))
const pieces = Arbitrary.schema(Schema.Array(Piece))
const chunkSizes = Arbitrary.schema(Schema.NonEmptyArray(ChunkSize))

const split = (bytes: Uint8Array, sizes: ReadonlyArray<number>, maxBytes: number, skip: number) => {
  const splitter = Lines.make(maxBytes, skip)
  const lines: Array<Lines.Line> = []
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length]!
    // A buffer of its own that is overwritten afterwards: nothing may be kept of it.
    const chunk = bytes.slice(at, at + size)
    lines.push(...splitter.push(chunk))
    chunk.fill(0)
    at += size
  }
  const last = splitter.end()
  return { lines: last === undefined ? lines : [...lines, last], count: splitter.count() }
}

/** The same, from the whole text at once. */
const expected = (text: string) => {
  const lines = text.split("\n")
  if (lines.at(-1) === "") lines.pop()
  const ended = text.endsWith("\n") ? lines.length : lines.length - 1
  return lines.map((line, i) => (i < ended && line.endsWith("\r") ? line.slice(0, -1) : line))
}

it.prop("lines are the same, however the bytes are cut into chunks", [pieces, chunkSizes], ([some, sizes]) => {
  const text = some.join("")
  const { count, lines } = split(Buffer.from(text), sizes, 1000, 0)
  expect(lines.map((line) => line.text)).toEqual(expected(text))
  expect(count).toBe(lines.length)
})

it.prop("skipped lines are counted and not given", [pieces, chunkSizes], ([some, sizes]) => {
  const text = some.join("")
  const { count, lines } = split(Buffer.from(text), sizes, 1000, 2)
  expect(lines.map((line) => line.text)).toEqual(expected(text).slice(2))
  expect(count).toBe(expected(text).length)
})

it.prop("a long line is cut to the longest start of whole characters", [pieces, chunkSizes], ([some, sizes]) => {
  const text = some.join("")
  const { lines } = split(Buffer.from(text), sizes, 4, 0)
  const whole = expected(text)
  expect(lines.length).toBe(whole.length)
  for (const [i, line] of lines.entries()) {
    expect(line.isCut).toBe(Buffer.byteLength(whole[i]!) > 4)
    let start = ""
    for (const char of whole[i]!) {
      if (Buffer.byteLength(start + char) > 4) break
      start += char
    }
    expect(line.text).toBe(start)
  }
})
