import { it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { Faults, Worlds } from "effect-agent/testing"
import * as Weather from "./weather.ts"

const tools = [Weather.Weather]

/** Some cities take long, one never answers. */
const stations = {
  ask: (city: string) =>
    city === "" ? Effect.never : Effect.delay(Effect.succeed(`Rain in ${city}`), `${city.length} seconds`)
}

it.effect.prop(
  "whatever happens, no promise is broken",
  [Worlds.arbitraryFor(tools)],
  ([world]) => Faults.verify(Faults.check(world, { tools })).pipe(Effect.provideService(Weather.Stations, stations)),
  { arbitrary: { runs: 200 } }
)
