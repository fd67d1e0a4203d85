import { expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { comparePaths } from "../../../src/tools/internal/ripgrep.ts"

/** Few characters, so that paths have much in common. */
const Path = Arbitrary.schema(Schema.Array(Schema.Literals(["a", "b", "/", " ", "\u{1f600}", "\uffff", "\x01"])))

/** Name by name, the shorter path first. */
const byNames = (first: string, second: string): number => {
  const [a, b] = [first.split("/"), second.split("/")]
  const at = a.findIndex((name, index) => name !== b[index])
  if (at === -1) return a.length - b.length
  const [one, other] = [a[at]!, b[at]]
  return other === undefined || one > other ? 1 : -1
}

it.effect.prop(
  "paths are compared folder by folder",
  [Path, Path],
  ([first, second]) =>
    Effect.sync(() => {
      const [a, b] = [first.join(""), second.join("")]
      expect([a, b, Math.sign(comparePaths(a, b))]).toEqual([a, b, Math.sign(byNames(a, b))])
    }),
  { arbitrary: { runs: 2000 } }
)
