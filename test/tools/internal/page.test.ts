// A page of lines is the same, however the bytes of a file are cut into chunks.
import { expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as Page from "../../../src/tools/internal/page.ts"
import { characterStart } from "../../../src/tools/internal/text.ts"

const Piece = Schema.Literals(["a", "bc", "\n", "\n", "\r", "\r\n", "é", "€", "😀", "e\u0301", "👨‍👩‍👧", "long ".repeat(4)])
const Small = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))
const Options = Schema.Struct({
  pieces: Schema.Array(Piece),
  sizes: Schema.NonEmptyArray(Small(1, 9)),
  first: Small(1, 4),
  lines: Small(1, 4),
  bytes: Small(40, 60)
})
const given = Arbitrary.schema(Options)
const LINE_BYTES = 12

const pageOf = (text: string, { bytes, first, lines, sizes }: typeof Options.Type) => {
  const all = Buffer.from(text)
  const page = Page.make(first, { lines, bytes, lineBytes: LINE_BYTES })
  let isFull = false
  for (let at = 0, i = 0; at < all.length && !isFull; i++) {
    const size = sizes[i % sizes.length]!
    // A buffer that is overwritten afterwards: nothing may be kept of it.
    const chunk = Uint8Array.from(all.subarray(at, at + size))
    isFull = page.push(chunk)
    chunk.fill(0)
    at += size
  }
  if (!isFull) page.end()
  return page
}

/** The same, line by line and character by character. */
const expected = (text: string, { bytes, first, lines }: typeof Options.Type) => {
  const all = text.split("\n")
  if (all.at(-1) === "") all.pop()
  const page: Array<string> = []
  let room = bytes
  for (const line of all.slice(first - 1, first - 1 + lines)) {
    const whole = line.endsWith("\r") ? line.slice(0, -1) : line
    const isCut = Buffer.byteLength(whole) > LINE_BYTES
    // A CR counts where its line is not cut.
    const cost = Math.min(Buffer.byteLength(line), LINE_BYTES) + 1
    if (cost > room) break
    const shown = isCut ? startOf(whole) : line
    room -= Buffer.byteLength(shown) + 1
    page.push(isCut ? `${shown}…` : line)
  }
  return { page, all: all.length }
}

const startOf = (line: string) => {
  const parts = [...new Intl.Segmenter("en").segment(line)].map(({ segment }) => segment)
  let start = ""
  for (const part of parts) {
    if (Buffer.byteLength(start + part) > LINE_BYTES) break
    start += part
  }
  if (start !== "") return start
  // One character that is longer than the limit is cut between its parts.
  for (const part of line) {
    if (Buffer.byteLength(start + part) > LINE_BYTES) break
    start += part
  }
  return start
}

it.prop(
  "a page has the same lines, however the bytes are cut into chunks",
  [given],
  ([options]) => {
    const text = options.pieces.join("")
    const page = pageOf(text, options)
    const { all, page: lines } = expected(text, options)
    const shown = page.text("…")
    expect(shown.replace(/\n$/, "")).toBe(lines.join("\n"))
    expect(page.lines()).toBe(lines.length)
    expect(page.hasCuts()).toBe(lines.some((line) => line.endsWith("…")))
    const next = options.first - 1 + lines.length
    expect(page.hasMore()).toBe(options.first <= all && next < all)
    if (!page.hasMore()) expect(page.seen()).toBe(all)
  },
  { arbitrary: { runs: 2000 } }
)

it("a NUL is noticed before the page and in what is cut off a line", () => {
  const notices = (text: string, first: number) => {
    const page = Page.make(first, { lines: 10, bytes: 100, lineBytes: LINE_BYTES })
    page.push(Buffer.from(text))
    page.end()
    return page.isBinary() || page.text("…").includes("\0")
  }
  expect(notices("a\0\nb\n", 2)).toBe(true)
  expect(notices("a\nb\0\n", 2)).toBe(true)
  expect(notices(`a\n${"b".repeat(50)}\0\n`, 2)).toBe(true)
  expect(notices("a\nb\n", 2)).toBe(false)
})

it("a place in bytes is moved to the start of the character that it falls into", () => {
  const cases: ReadonlyArray<readonly [string, number, number]> = [
    ["abc", 2, 2],
    ["aé", 2, 1],
    ["a😀", 4, 1],
    // The accent belongs to the letter, the CR LF together, the family to one another.
    ["ae\u0301x", 2, 1],
    ["a\r\n", 2, 1],
    ["a👨‍👩‍👧b", 12, 1],
    ["a👨‍👩‍👧b", 19, 19],
    // A character without end is cut all the same, between its code points.
    [`x${"\u0301".repeat(500)}`, 400, 399],
    ["👨‍👩‍👧", 5, 4]
  ]
  for (const [text, at, place] of cases) {
    expect([text, at, characterStart(Buffer.from(text), at)]).toEqual([text, at, place])
  }
})
