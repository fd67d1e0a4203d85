import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { escapeJson, line, sanitize } from "../../src/cli/sanitize.ts"
import { attacks, hostileDeltas, plain, show } from "./screen.ts"

describe("sanitize", () => {
  it("control characters become signs of themselves", () => {
    expect(sanitize("\x1b[2J\x07\r\0\x7f\x9b\x85")).toBe("␛[2J␇␍␀␡\\x9b\\x85")
  })

  it("what turns the direction of writing becomes visible", () => {
    expect(sanitize("a\u202eb\u2066c\u2069")).toBe("a\\u202eb\\u2066c\\u2069")
  })

  it("separators that break lines only in some programs become visible", () => {
    expect(sanitize("a\u2028b\u2029")).toBe("a\\u2028b\\u2029")
  })

  it("newlines, tabs and text of any language stay", () => {
    const text = "a\tb\nžluťoučký שלום 日本語 👩‍👩‍👧 🏳️‍🌈 \u200f"
    expect(sanitize(text)).toBe(text)
  })

  it.effect.each(Object.keys(attacks))(
    "a text that %s does so on the model of a screen, and nothing once sanitized",
    (name) =>
      Effect.gen(function* () {
        const attack = attacks[name]!
        const { effects, ...screen } = yield* show(`before ${attack} after`)
        expect({ effects, ...screen }).not.toEqual({ effects: [], ...plain(`before ${attack} after`) })
        const sanitized = sanitize(`before ${attack} after`)
        expect(yield* show(sanitized)).toEqual({ effects: [], ...plain(sanitized) })
      })
  )

  it.effect.prop(
    "hostile text, however it is cut into deltas, is shown from left to right and does nothing else",
    [hostileDeltas],
    ([deltas]) =>
      Effect.gen(function* () {
        const shown = deltas.map(sanitize)
        expect(yield* show(...shown)).toEqual({ effects: [], ...plain(shown.join("")) })
        expect(shown.join("")).toBe(sanitize(deltas.join("")))
      })
  )
})

describe("line", () => {
  it("blanks of all kinds become one, and none is at the ends", () => {
    expect(line("\r\n  a\r\n\tb  c \n", 20)).toBe("a b c")
  })

  it("what is too long ends with an ellipsis, within the length", () => {
    expect(line("abcdef", 6)).toBe("abcdef")
    expect(line("abcdefg", 6)).toBe("abcde…")
  })

  it("characters beyond 16 bits are not cut", () => {
    expect(line("😀".repeat(6), 6)).toBe("😀".repeat(6))
    expect(line("😀".repeat(7), 6)).toBe("😀😀😀😀😀…")
    expect(line(`a${"😀".repeat(20)}`, 3)).toBe("a😀…")
  })

  it("controls are visible", () => {
    expect(line("a\x1b]0;x\x07\nb", 20)).toBe("a␛]0;x␇ b")
  })
})

describe("escapeJson", () => {
  it("the text has no control character, and means the same", () => {
    const json = JSON.stringify("a\x7f\x9b\u202e\u2028b\u0085")
    expect(escapeJson(json)).toBe('"a\\u007f\\u009b\\u202e\\u2028b\\u0085"')
    expect(JSON.parse(escapeJson(json))).toBe(JSON.parse(json))
  })
})
