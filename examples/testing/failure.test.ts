import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Agent from "effect-agent/Agent"
import * as Scripted from "effect-agent/providers/Scripted"
import * as Tool from "effect-agent/Tool"
import * as Weather from "./weather.ts"

const agentWith = (...turns: ReadonlyArray<Scripted.Turn>) =>
  Weather.layer.pipe(Layer.provideMerge([Scripted.layer({ turns }), stations]))

const stations = Layer.succeed(Weather.Stations, {
  ask: (city) => Effect.fail(new Tool.ToolFailure({ message: `There is no station in ${city}.` }))
})

it.effect("a tool that fails ends nothing: the model reads why, and answers", () =>
  Effect.gen(function* () {
    const agent = yield* Agent.Agent
    const { reason, messages } = yield* agent.prompt("Do I need an umbrella in Atlantis?")
    expect(reason).toBe("completed")
    expect(messages[2]).toMatchObject({
      role: "toolResult",
      content: [{ type: "text", text: "There is no station in Atlantis." }],
      isError: true
    })
  }).pipe(
    Effect.provide(
      agentWith(
        [{ type: "toolCall", id: "1", name: "weather", arguments: { city: "Atlantis" } }],
        [{ type: "text", text: "Nobody knows." }]
      )
    )
  )
)

it.effect("a call with wrong arguments is refused, and the model is told what was wrong", () =>
  Effect.gen(function* () {
    const agent = yield* Agent.Agent
    const { messages } = yield* agent.prompt("Do I need an umbrella?")
    expect(messages[2]).toMatchObject({ role: "toolResult", isError: true })
    expect(JSON.stringify(messages[2])).toContain("city")
  }).pipe(
    Effect.provide(
      agentWith(
        [{ type: "toolCall", id: "1", name: "weather", arguments: { place: "Oslo" } }],
        [{ type: "text", text: "Where are you?" }]
      )
    )
  )
)

it.effect("a model that fails ends the run, and what it had said is kept", () =>
  Effect.gen(function* () {
    const agent = yield* Agent.Agent
    const { reason, text, errorMessage } = yield* agent.prompt("Do I need an umbrella?")
    expect([reason, text, errorMessage]).toEqual(["error", "Let me", "The model is overloaded."])
  }).pipe(
    Effect.provide(
      agentWith([
        { type: "text", text: "Let me" },
        { type: "error", reason: "overloaded", message: "The model is overloaded." }
      ])
    )
  )
)
