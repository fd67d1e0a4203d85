import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import * as Agent from "effect-agent/Agent"
import * as Scripted from "effect-agent/providers/Scripted"
import * as Weather from "./weather.ts"

const model = Scripted.layer({
  turns: [
    [{ type: "error", reason: "overloaded", message: "Too busy.", retryable: true, retryAfterMs: 3000 }],
    [{ type: "text", text: "Take an umbrella." }]
  ]
})

const stations = Layer.succeed(Weather.Stations, { ask: () => Effect.never })

it.effect("a model that is overloaded is asked again when it says", () =>
  Effect.gen(function* () {
    const agent = yield* Agent.Agent
    const prompt = yield* Effect.forkChild(agent.prompt("Do I need an umbrella?"))
    const { requests } = yield* Scripted.Scripted

    yield* TestClock.adjust("2999 millis")
    expect(requests).toHaveLength(1)

    yield* TestClock.adjust("1 millis")
    const { reason, text } = yield* Fiber.join(prompt)
    expect([reason, text, requests.length]).toEqual(["completed", "Take an umbrella.", 2])
  }).pipe(Effect.provide(Weather.layer.pipe(Layer.provideMerge([model, stations]))))
)
