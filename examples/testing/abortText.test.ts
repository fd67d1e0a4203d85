import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import * as Agent from "effect-agent/Agent"
import * as Scripted from "effect-agent/providers/Scripted"
import * as Weather from "./weather.ts"

const model = Scripted.layer({
  turns: [[{ type: "text", text: "Take an umbrella.", chunk: 5 }, { type: "stall" }]]
})

const layer = Weather.layer.pipe(
  Layer.provideMerge([model, Layer.succeed(Weather.Stations, { ask: () => Effect.never })])
)

it.effect("an abort between two chunks keeps the text before it", () =>
  Effect.gen(function* () {
    const agent = yield* Agent.Agent
    yield* agent.subscribe((event) =>
      event.type === "message_update" && event.assistantMessageEvent.type === "text_delta" ? agent.abort : undefined
    )
    const { reason, text, messages } = yield* agent.prompt("Do I need an umbrella?")
    expect([reason, text]).toEqual(["aborted", "Take "])
    expect(messages[1]).toMatchObject({ role: "assistant", stopReason: "aborted" })
  }).pipe(Effect.provide(layer))
)

it.effect("an abort after ten seconds", () =>
  Effect.gen(function* () {
    const agent = yield* Agent.Agent
    const prompt = yield* Effect.forkChild(agent.prompt("Do I need an umbrella?"))
    yield* TestClock.adjust("10 seconds")
    yield* agent.abort
    const { reason, text } = yield* Fiber.join(prompt)
    expect([reason, text]).toEqual(["aborted", "Take an umbrella."])
  }).pipe(Effect.provide(layer))
)
