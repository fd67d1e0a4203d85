import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Agent from "effect-agent/Agent"
import { Toolset } from "effect-agent/services/Toolset"
import * as Tool from "effect-agent/Tool"

/** Where the weather comes from. */
export class Stations extends Context.Service<
  Stations,
  { readonly ask: (city: string) => Effect.Effect<string, Tool.ToolFailure> }
>()("Stations") {}

export const Weather = Tool.make({
  name: "weather",
  description: "The weather of a city",
  parameters: Schema.Struct({ city: Schema.String }),
  execute: Effect.fn("Weather.execute")(function* ({ city }, call) {
    const stations = yield* Stations
    yield* call.update(`Asking ${city}`)
    return yield* stations.ask(city).pipe(
      Effect.timeoutOrElse({
        duration: "30 seconds",
        orElse: () => Effect.fail(new Tool.ToolFailure({ message: `${city} does not answer. Try again later.` }))
      })
    )
  })
})

export const layer = Agent.layer({
  model: { provider: "anthropic", id: "claude-sonnet-5" },
  systemPrompt: "You tell the weather."
}).pipe(Layer.provide(Toolset.layer(Weather)))
