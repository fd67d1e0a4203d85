import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Agent from "effect-agent/Agent"
import * as Scripted from "effect-agent/providers/Scripted"
import * as Weather from "./weather.ts"

const model = Scripted.layer({
  turns: [
    [{ type: "toolCall", id: "1", name: "weather", arguments: { city: "Oslo" } }],
    [{ type: "text", text: "Take an umbrella." }]
  ]
})

const stations = Layer.succeed(Weather.Stations, { ask: (city) => Effect.succeed(`Rain in ${city}`) })

it.effect("the station is asked, and the model reads what it says", () =>
  Effect.gen(function* () {
    const agent = yield* Agent.Agent
    const { reason, text } = yield* agent.prompt("Do I need an umbrella in Oslo?")
    expect([reason, text]).toEqual(["completed", "Take an umbrella."])

    const { requests } = yield* Scripted.Scripted
    expect(requests).toHaveLength(2)
    expect(requests[1]?.messages.at(-1)).toMatchObject({
      role: "toolResult",
      content: [{ type: "text", text: "Rain in Oslo" }],
      isError: false
    })
  }).pipe(Effect.provide(Weather.layer.pipe(Layer.provideMerge([model, stations]))))
)
