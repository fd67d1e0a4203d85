import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as Loop from "effect-agent/Loop"
import * as Scripted from "effect-agent/providers/Scripted"
import { Toolset } from "effect-agent/services/Toolset"
import * as Hooks from "./hooks.ts"
import { WordCount } from "./tool.ts"

const model = Scripted.layer({
  turns: [
    [
      { type: "toolCall", id: "1", name: "word_count", arguments: { path: "README.md" } },
      { type: "toolCall", id: "2", name: "word_count", arguments: { path: "README.md", longerThan: "9" } }
    ],
    [{ type: "text", text: "Most words are short." }]
  ]
})

const tools = Toolset.layer(WordCount).pipe(Layer.provide(NodeServices.layer))

Effect.gen(function* () {
  const { tools } = yield* Toolset
  const run = Loop.run({
    model: { provider: "scripted", id: "words" },
    prompts: [{ role: "user", content: "Are the words of the README long?", timestamp: 0 }],
    tools
  })
  yield* Stream.runForEach(run, (event) =>
    event.type === "message_end" ? Console.log(JSON.stringify(event.message)) : Effect.void
  )
}).pipe(Effect.provide([model, tools, Hooks.layer]), Effect.runPromise)
