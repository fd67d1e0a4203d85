import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Loop from "effect-agent/Loop"
import * as Scripted from "effect-agent/providers/Scripted"
import * as Tool from "effect-agent/Tool"

const Weather = Tool.make({
  name: "weather",
  description: "The weather of a city",
  parameters: Schema.Struct({ city: Schema.String }),
  execute: ({ city }) => Effect.succeed(`Sunny in ${city}`)
})

const model = Scripted.layer({
  turns: [
    [{ type: "toolCall", id: "1", name: "weather", arguments: { city: "Oslo" } }],
    [{ type: "text", text: "Sunny!" }]
  ]
})

Loop.run({
  model: { provider: "scripted", id: "weather" },
  prompts: [{ role: "user", content: "How is the weather in Oslo?", timestamp: 0 }],
  tools: [Weather]
}).pipe(
  Stream.runForEach((event) => Console.log(JSON.stringify(event))),
  Effect.provide(model),
  Effect.runPromise
)
