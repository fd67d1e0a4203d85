import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as Loop from "effect-agent/Loop"
import { Provider, ProviderError, type ProviderEvent } from "effect-agent/services/Provider"

/** Answers with what it was asked, word by word. */
export const Echo = Layer.succeed(Provider, {
  stream: ({ messages }) =>
    Stream.unwrap(
      Effect.gen(function* () {
        const last = messages.at(-1)
        if (last?.role !== "user" || typeof last.content !== "string") {
          return yield* new ProviderError({
            reason: "invalidRequest",
            message: "I can only echo text.",
            retryable: false
          })
        }
        const words = last.content.split(/(?<= )/)
        return Stream.fromIterable<ProviderEvent>([
          { type: "start" },
          { type: "text_start", contentIndex: 0 },
          ...words.map((delta) => ({ type: "text_delta" as const, contentIndex: 0, delta })),
          { type: "text_end", contentIndex: 0 },
          { type: "done", reason: "stop" }
        ])
      })
    )
})

const run = Loop.run({
  model: { provider: "echo", id: "echo-1" },
  prompts: [{ role: "user", content: "Hello, echo!", timestamp: 0 }]
})

run.pipe(
  Stream.runForEach((event) => (event.type === "turn_end" ? Console.log(event.message.content) : Effect.void)),
  Effect.provide(Echo),
  Effect.runPromise
)
