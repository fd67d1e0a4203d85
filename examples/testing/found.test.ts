import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Faults, type World } from "effect-agent/testing"
import * as Tool from "effect-agent/Tool"

const forecast = (execute: Effect.Effect<string>) =>
  Tool.make({
    name: "forecast",
    description: "The weather of tomorrow",
    parameters: Schema.Struct({ city: Schema.String }),
    execute: () => execute
  })

/** Goes on with its work when it has answered, so that an abort does not reach it. */
const Leaky = forecast(Effect.as(Effect.forkDetach(Effect.sleep("1 hour")), "Rain"))

/** What it begins ends with the call. */
const Fixed = forecast(Effect.as(Effect.forkChild(Effect.sleep("1 hour")), "Rain"))

/** As it was printed. */
const world: World.World = {
  turns: [[{ type: "toolCall", id: "", name: "forecast", arguments: { city: "" } }]]
}

it.effect("the forecast left a fiber behind", () =>
  Effect.gen(function* () {
    const { failures } = yield* Faults.check(world, { tools: [Leaky] })
    expect(failures.flatMap(({ broken }) => broken)).toEqual([
      { invariant: "nothingOutlivesTheRun", what: "1 fiber is alive at the end" }
    ])
  })
)

it.effect("and does so no more", () => Faults.verify(Faults.check(world, { tools: [Fixed] })))
