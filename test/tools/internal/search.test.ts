// The search finds what `indexOf` finds, also where a text repeats itself.
import { expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as Search from "../../../src/tools/internal/search.ts"

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))
const given = Arbitrary.schema(
  Schema.Struct({
    period: Schema.NonEmptyArray(Schema.Literals(["a", "b"])),
    length: between(250, 300),
    repeats: between(0, 3),
    spoiltAt: between(0, 299),
    from: between(0, 700)
  })
)

it.prop(
  "a text is found at the first place from which it is there",
  [given],
  ([{ from, length, period, repeats, spoiltAt }]) => {
    const endless = period.join("").repeat(300)
    const plain = endless.slice(0, length)
    const wanted = repeats === 0 ? `${plain.slice(0, spoiltAt)}c${plain.slice(spoiltAt + 1)}` : plain
    const text = endless.slice(0, 400) + wanted + endless.slice(0, 350) + (repeats > 1 ? wanted : "")
    const search = Search.make(wanted)
    expect([search(text, from), search(`x${wanted}`, 0)]).toEqual([text.indexOf(wanted, from), 1])
  },
  { arbitrary: { runs: 1000 } }
)
