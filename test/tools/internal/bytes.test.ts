// Bytes as text and back: nothing is lost, whatever the bytes are.
import { expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { toBytes, toText } from "../../../src/tools/internal/bytes.ts"

// The bytes that matter: ASCII, the borders of all ranges of the encoding, and whole characters.
const edges = "00 41 7f 80 8f 90 9f a0 bf c0 c1 c2 df e0 e1 ed ef f0 f4 f5 ff".split(" ")
const characters = ["é", "€", "😀", "\ufffd", "\ufeff", "\u{10ffff}", "\ud7ff", "\ue000"]
const parts = [...edges.map((edge) => Buffer.from(edge, "hex")), ...characters.map((char) => Buffer.from(char))]
const Piece = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: parts.length - 1 }))
const pieces = Arbitrary.schema(Schema.Array(Piece))
const bytesOf = (some: ReadonlyArray<number>) => Buffer.concat(some.map((index) => parts[index]!))

const isUtf8 = (bytes: Uint8Array) => {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes)
    return true
  } catch {
    return false
  }
}

it.prop(
  "a text gives the bytes back that it was made of, and is well-formed where they are UTF-8",
  [pieces],
  ([some]) => {
    const bytes = bytesOf(some)
    const text = toText(bytes)
    expect(Buffer.from(toBytes(text))).toEqual(bytes)
    expect(text.isWellFormed()).toBe(isUtf8(bytes))
    if (isUtf8(bytes)) expect(text).toBe(bytes.toString("utf8"))
  },
  { arbitrary: { runs: 3000 } }
)
