// The diff of known changes is one of the whole text: it leads from the one to the other.
import { expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as TextDiff from "effect/TextDiff"
import { editsOf } from "../../../src/tools/internal/diff.ts"
import { apply } from "../../../src/tools/internal/replacements.ts"

const Piece = Schema.Literals(["a", "b", "\n", "\n", "\r\n", "word"])
const text = Schema.Array(Piece)
const Cut = Schema.Struct({ skip: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4 })), newText: text })
const given = Arbitrary.schema(
  Schema.Struct({
    before: text,
    cuts: Schema.Array(
      Schema.Struct({ ...Cut.fields, length: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 4 })) })
    )
  })
)

it.prop(
  "the diff of changes leads from the text before to the text after, in whole lines",
  [given],
  ([{ before: pieces, cuts }]) => {
    const before = pieces.join("")
    let at = 0
    const changes = cuts.flatMap(({ length, newText, skip }, index) => {
      const start = at + skip
      const end = start + length
      if (end > before.length) return []
      at = end
      return [{ start, end, newText: newText.join(""), index }]
    })
    const edits = editsOf(before, changes)
    const after = apply(before, changes)
    expect(Result.getOrThrow(TextDiff.applyText(before, edits))).toBe(after)
    // Each item is a line: all but the last one of each side end with LF.
    for (const side of ["Delete", "Insert"]) {
      const items = edits.filter(({ _tag }) => _tag === "Equal" || _tag === side).flatMap((edit) => edit.items)
      for (const item of items.slice(0, -1)) expect(item).toMatch(/^[^\n]*\n$/)
    }
  },
  { arbitrary: { runs: 3000 } }
)
