import * as Console from "effect/Console"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as ExecutionPlan from "effect/ExecutionPlan"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as Loop from "effect-agent/Loop"
import * as Scripted from "effect-agent/providers/Scripted"
import { type Model, Provider, route } from "effect-agent/services/Provider"

/** The model that is asked in place of the one that the run names. */
class Asked extends Context.Service<Asked, Model>()("examples/fallback/Asked") {}

const ask = (provider: string, id: string) => Context.make(Asked, { provider, id })

/** Where the first model fails the second one is asked; to ask both again is for the retry policy of the run. */
const plan = ExecutionPlan.make({ provide: ask("first", "large") }, { provide: ask("second", "small") })

/** Falls back only before a response has begun: what breaks later is for the retry policy, too. */
export const Fallback = Layer.effect(
  Provider,
  Provider.use((provider) =>
    Effect.succeed({
      stream: (request) =>
        Stream.unwrap(
          // A key of the run is for the provider that the run names; the others bring their own.
          Asked.use((model) => Effect.succeed(provider.stream({ ...request, model, apiKey: undefined })))
        ).pipe(Stream.withExecutionPlan(plan, { preventFallbackOnPartialStream: true }))
    })
  )
)

const overloaded = { type: "error", reason: "overloaded", message: "Try later.", retryable: true } as const

const providers = route({
  first: Scripted.layer({ turns: [[overloaded]] }),
  second: Scripted.layer({ turns: [[{ type: "text", text: "Here I am." }]] })
})

Loop.run({
  model: { provider: "any", id: "any" },
  prompts: [{ role: "user", content: "Is anybody there?", timestamp: 0 }]
}).pipe(
  Stream.runForEach((event) => (event.type === "turn_end" ? Console.log(event.message.content) : Effect.void)),
  Effect.provide(Layer.provide(Fallback, providers)),
  Effect.runPromise
)
