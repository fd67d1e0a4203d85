import { expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as Output from "../../../src/tools/internal/output.ts"

const make = (bytes: Uint8Array, sizes: ReadonlyArray<number>) => {
  const output = Output.make()
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length]!
    const chunk = bytes.slice(at, at + size)
    output.add(chunk)
    chunk.fill(0)
    at += size
  }
  return output
}

const Size = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 2 * Output.MAX_BYTES }))
const sizes = Arbitrary.schema(Schema.NonEmptyArray(Size))
const Unit = Schema.Literals(["x", "é", "€", "😀", "👩‍👧", "e\u0301\u0323", "line\n", "a longer line of text\n"])
const around = Schema.Int.check(Schema.isBetween({ minimum: -8, maximum: 8 }))

it.prop(
  "the beginning and the end are those of the text, in whole characters, however it came",
  [Arbitrary.schema(Unit), Arbitrary.schema(around), Arbitrary.schema(Schema.Literals([0.2, 1, 1.2, 3])), sizes],
  ([unit, off, times, chunks]) => {
    const length = Math.floor((Output.MAX_BYTES * times) / Buffer.byteLength(unit)) + off
    const text = `${"-".repeat(Math.abs(off) % 4)}${unit.repeat(length)}`
    const bytes = Buffer.from(text)
    const output = make(bytes, chunks)
    const parts = output.parts()

    expect(output.bytes()).toBe(bytes.length)
    expect(output.lines()).toBe(text.split("\n").length - (text.endsWith("\n") ? 1 : 0))
    if (parts.isWhole) {
      expect(parts.text).toBe(text)
      expect(bytes.length).toBeLessThanOrEqual(Output.MAX_BYTES)
      expect(output.lines()).toBeLessThanOrEqual(Output.MAX_LINES)
      return
    }
    expect(bytes.length > Output.MAX_BYTES || output.lines() > Output.MAX_LINES).toBe(true)
    const head = parts.head.replace(/…$/, "")
    const tail = parts.tail.replace(/^…/, "")
    expect(text.startsWith(head)).toBe(true)
    expect(text.endsWith(tail)).toBe(true)
    expect(Buffer.byteLength(head + tail)).toBeLessThanOrEqual(Output.MAX_BYTES)
    // Nothing is cut in two: neither a line nor what a person sees as one character.
    const prefix = Math.abs(off) % 4
    expect((head.length - prefix) % unit.length).toBe(0)
    expect((text.length - tail.length - prefix) % unit.length).toBe(0)
    // What is dropped at the cuts is little more than that.
    const lines = (head + tail).split("\n").length - 1
    expect(Buffer.byteLength(head + tail) > Output.MAX_BYTES - 400 || lines >= Output.MAX_LINES - 2).toBe(true)
    if (text.includes("\n")) expect(head.endsWith("\n")).toBe(true)
  }
)

it.prop("a look at the end is the end, in whole characters", [Arbitrary.schema(Unit), sizes], ([unit, chunks]) => {
  const text = unit.repeat(Math.ceil((2 * Output.MAX_BYTES) / Buffer.byteLength(unit)))
  for (const n of [1, 2, 3, 4, 5, 4096]) {
    const tail = make(Buffer.from(text), chunks).tail(n)
    expect(tail.startsWith("…")).toBe(true)
    expect(text.endsWith(tail.slice(1))).toBe(true)
    expect(Buffer.byteLength(tail.slice(1))).toBeLessThanOrEqual(n)
    expect(Buffer.byteLength(tail.slice(1))).toBeGreaterThanOrEqual(Math.max(0, n - Buffer.byteLength(unit)))
    if (!unit.includes("\n")) expect((text.length - tail.length + 1) % unit.length).toBe(0)
  }
})

it("bytes that are no text do not lose their neighbours", () => {
  const output = Output.make()
  output.add(Uint8Array.of(0x80, 0x80, 0x80, 0x80, 0x61, 0xff))
  expect(output.parts()).toEqual({ isWhole: true, text: "\ufffd\ufffd\ufffd\ufffda\ufffd" })
  expect(output.tail(3)).toBe("…a\ufffd")
})
