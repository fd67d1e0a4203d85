/** Worlds that nobody thought of: generated ones, and how to find the smallest that shows a fault. */
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as SchemaGetter from "effect/SchemaGetter"
import { Generated } from "./simulation/generated.ts"
import { simpler } from "./simulation/shrink.ts"
import { World } from "./World.ts"

export { simpler, smallest } from "./simulation/shrink.ts"

/** Worlds as `Generated` makes them, where any world will do when it comes to find a smaller one. */
const AnyWorld = Schema.declare(Schema.is(World), {
  toCodecArbitrary: () =>
    Schema.link<World>()(Generated, {
      decode: SchemaGetter.transform((generated) => generated as World),
      encode: SchemaGetter.forbidden(() => "worlds are only generated")
    })
})

/** Worlds of a few turns, tools and hooks in which much happens. A property that fails is shown with a small one. */
export const arbitrary: Arbitrary.Arbitrary<World> = Arbitrary.schema(AnyWorld, { shrink: simpler })
