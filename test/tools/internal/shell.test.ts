import { expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as Shell from "../../../src/tools/internal/shell.ts"

/** Outputs of what the mark is made of, all but its last character, and the sizes of the chunks that they come in. */
const Piece = Schema.Literals(["a", "\x1e", "\x1e7:8", "\x1e7:89", "\x1e7:8\x1e", "8", "€"])
const ChunkSize = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 7 }))
const Code = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 }))

it.prop(
  "what comes before the mark is the output, in any chunks, and what could be no mark is given at once",
  [
    Arbitrary.schema(Schema.Array(Piece)),
    Arbitrary.schema(Schema.NonEmptyArray(ChunkSize)),
    Arbitrary.schema(Code),
    Arbitrary.schema(Schema.Boolean)
  ],
  ([pieces, sizes, code, hasMark]) => {
    const before = Buffer.from(pieces.join(""))
    const bytes = hasMark ? Buffer.concat([before, Buffer.from(`\x1e7:8 ${code}\x1enoise`)]) : before
    const mark = Shell.makeMark("7:8")
    const output: Array<Uint8Array> = []
    let exitCode: number | undefined
    for (let at = 0, i = 0; at < bytes.length && exitCode === undefined; i++) {
      const size = sizes[i % sizes.length]!
      const chunk = new Uint8Array(bytes.subarray(at, at + size))
      at += size
      const seen = mark.push(chunk)
      output.push(Buffer.from(seen.output))
      chunk.fill(0)
      exitCode = seen.exitCode
      const given = Buffer.concat(output).length
      if (at <= before.length) expect(given).toBe(at - heldBack(before.subarray(0, at)))
    }
    expect(exitCode).toBe(hasMark ? code : undefined)
    expect(Buffer.concat([...output, mark.rest()])).toEqual(before)
  }
)

/** How many bytes at the end could be the beginning of the mark. */
const heldBack = (bytes: Buffer) => {
  const mark = Buffer.from("\x1e7:8 ")
  for (let length = Math.min(mark.length, bytes.length); length > 0; length--) {
    if (bytes.subarray(bytes.length - length).equals(mark.subarray(0, length))) return length
  }
  return 0
}
