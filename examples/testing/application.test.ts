import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { Faults, Recording, Simulation, type World } from "effect-agent/testing"
import type { Hooks } from "effect-agent/services/Hooks"
import * as Weather from "./weather.ts"

/** The user says more after half a second, and stops it after one. */
const world: World.World = {
  prompts: ["Do I need an umbrella in Oslo?"],
  turns: [
    [{ type: "toolCall", id: "1", name: "weather", arguments: { city: "Oslo" } }],
    [{ type: "text", text: "Sorry, in Rome: no." }]
  ],
  agent: { commands: [{ when: { ms: 500 }, does: "steer" }] },
  consumer: { acts: [{ type: "abort", when: { ms: 1000 } }] }
}

const stations = { ask: (city: string) => Effect.delay(Effect.succeed(`Rain in ${city}`), "2 seconds") }

/** The model reads what follows the last message of the user. A cut between a call and its result would be found. */
const hooks: Hooks = {
  transformContext: (messages) => Effect.succeed(messages.slice(messages.findLastIndex(({ role }) => role === "user")))
}

const agent = { tools: [Weather.Weather], hooks } as const

it.effect("what was said before an abort is delivered by the next run", () =>
  Effect.gen(function* () {
    const recording = yield* Simulation.run(world, agent)
    expect([Recording.reasonOf(recording), recording.end?.at]).toEqual(["aborted", 1000])
    expect(recording.session?.later.map(Recording.reasonOf)).toEqual(["completed"])
  }).pipe(Effect.provideService(Weather.Stations, stations))
)

it.effect("exactly once, whatever else goes wrong", () =>
  Faults.verify(Faults.everywhere(world, agent)).pipe(Effect.provideService(Weather.Stations, stations))
)
