import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Loop from "effect-agent/Loop"
import * as Scripted from "effect-agent/providers/Scripted"
import { TraceChecker } from "effect-agent/testing"
import * as Weather from "./weather.ts"

const model = Scripted.layer({
  turns: [
    [{ type: "toolCall", id: "1", name: "weather", arguments: { city: "Oslo" } }],
    [{ type: "text", text: "Take an umbrella." }]
  ]
})

const stations = Layer.succeed(Weather.Stations, { ask: (city) => Effect.succeed(`Rain in ${city}`) })

it.effect("one run, event by event", () =>
  Effect.gen(function* () {
    const events = yield* TraceChecker.collect(
      Loop.run({
        model: { provider: "scripted", id: "weather" },
        prompts: [{ role: "user", content: "Do I need an umbrella in Oslo?", timestamp: 0 }],
        tools: [Weather.Weather]
      })
    )
    const calls = events.flatMap((event) =>
      event.type === "tool_execution_update" || event.type === "tool_execution_end" ? [event.type] : []
    )
    expect(calls).toEqual(["tool_execution_update", "tool_execution_end"])
    expect(events.at(-1)).toMatchObject({ type: "agent_end", reason: "completed" })
    expect(TraceChecker.check(events)).toEqual(Option.none())
  }).pipe(Effect.provide([model, stations]))
)
