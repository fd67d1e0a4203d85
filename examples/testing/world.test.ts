import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { Faults, Recording, Simulation, type World } from "effect-agent/testing"
import * as Weather from "./weather.ts"

const world: World.World = {
  prompts: ["Do I need an umbrella in Oslo?"],
  turns: [
    [
      { type: "text", text: "Let me see." },
      { type: "wait", ms: 800 },
      { type: "toolCall", id: "1", name: "weather", arguments: { city: "Oslo" } }
    ],
    [{ type: "text", text: "Take an umbrella." }]
  ]
}

/** A station that takes two seconds. */
const stations = { ask: (city: string) => Effect.delay(Effect.succeed(`Rain in ${city}`), "2 seconds") }

it.effect("the run takes as long as the model and the station", () =>
  Effect.gen(function* () {
    const recording = yield* Simulation.run(world, { tools: [Weather.Weather] })
    expect([Recording.reasonOf(recording), recording.end?.at]).toEqual(["completed", 2800])
  }).pipe(Effect.provideService(Weather.Stations, stations))
)

it.effect("wherever the run is stopped, no promise is broken", () =>
  Effect.gen(function* () {
    const { runs } = yield* Faults.verify(Faults.everywhere(world, { tools: [Weather.Weather] }))
    expect(runs).toBeGreaterThan(100)
  }).pipe(Effect.provideService(Weather.Stations, stations))
)
