/** Worlds that nobody thought of: generated ones, and how to find the smallest that shows a fault. */
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as SchemaGetter from "effect/SchemaGetter"
import type * as Tool from "../Tool.ts"
import { Generated, GeneratedAgent, generatedFor } from "./simulation/generated.ts"
import { simpler } from "./simulation/shrink.ts"
import { World } from "./World.ts"

export { simpler, smallest } from "./simulation/shrink.ts"

/** Worlds of one generated shape, where any world will do when it comes to find a smaller one. */
const make = (generated: typeof Generated): Arbitrary.Arbitrary<World> => {
  const AnyWorld = Schema.declare(Schema.is(World), {
    toCodecArbitrary: () =>
      Schema.link<World>()(generated, {
        decode: SchemaGetter.transform((generated) => generated as World),
        encode: SchemaGetter.forbidden(() => "worlds are only generated")
      })
  })
  return Arbitrary.schema(AnyWorld, { shrink: simpler })
}

/** Worlds of a few turns, tools and hooks in which much happens. A property that fails is shown with a small one. */
export const arbitrary: Arbitrary.Arbitrary<World> = make(Generated)

/** The same, but the model calls these tools, with arguments that their parameters accept, and with some that they do not. */
export const arbitraryFor = (tools: ReadonlyArray<Tool.Any>): Arbitrary.Arbitrary<World> => make(generatedFor(tools))

/** The same worlds, played by an agent, whose application queues and withdraws messages, aborts, prompts and closes. */
export const ofAgents = (worlds: Arbitrary.Arbitrary<World>): Arbitrary.Arbitrary<World> =>
  Arbitrary.map(Arbitrary.all([worlds, Arbitrary.schema(GeneratedAgent)]), ([world, agent]) => ({ ...world, agent }))
