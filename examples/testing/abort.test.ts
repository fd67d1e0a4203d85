import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Agent from "effect-agent/Agent"
import * as Scripted from "effect-agent/providers/Scripted"
import * as Weather from "./weather.ts"

const model = Scripted.layer({
  turns: [
    [
      { type: "toolCall", id: "1", name: "weather", arguments: { city: "Oslo" } },
      { type: "toolCall", id: "2", name: "weather", arguments: { city: "Rome" } }
    ]
  ]
})

/** Oslo answers at once, Rome never does. */
const stations = Layer.succeed(Weather.Stations, {
  ask: (city) => (city === "Oslo" ? Effect.succeed("Rain") : Effect.never)
})

it.effect("an abort in the middle of a batch keeps what is done, and every call has a result", () =>
  Effect.gen(function* () {
    const agent = yield* Agent.Agent
    yield* agent.subscribe((event) => (event.type === "tool_execution_end" ? agent.abort : undefined))

    const { reason, messages } = yield* agent.prompt("Where does it rain, in Oslo or in Rome?")
    expect(reason).toBe("aborted")
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "toolResult", "toolResult"])
    expect(messages[2]).toMatchObject({ toolCallId: "1", content: [{ text: "Rain" }], isError: false })
    expect(messages[3]).toMatchObject({ toolCallId: "2", isError: true })

    const { requests, streams } = yield* Scripted.Scripted
    expect(requests).toHaveLength(1)
    expect(streams).toEqual({ opened: 1, closed: 1 })
  }).pipe(Effect.provide(Weather.layer.pipe(Layer.provideMerge([model, stations]))))
)
