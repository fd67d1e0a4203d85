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
    [{ type: "toolCall", id: "1", name: "weather", arguments: { city: "Oslo" } }],
    [{ type: "text", text: "Oslo does not answer." }]
  ]
})

const stations = Layer.succeed(Weather.Stations, { ask: () => Effect.never })

it.effect("a station that does not answer is given up after 30 seconds", () =>
  Effect.gen(function* () {
    const agent = yield* Agent.Agent
    const prompt = yield* Effect.forkChild(agent.prompt("Do I need an umbrella in Oslo?"))

    yield* TestClock.adjust("29 seconds")
    expect((yield* agent.state).pendingToolCalls).toEqual(["1"])

    yield* TestClock.adjust("1 second")
    const { messages } = yield* Fiber.join(prompt)
    expect(messages).toContainEqual(
      expect.objectContaining({
        role: "toolResult",
        content: [{ type: "text", text: "Oslo does not answer. Try again later." }],
        isError: true
      })
    )
  }).pipe(Effect.provide(Weather.layer.pipe(Layer.provideMerge([model, stations]))))
)
