// The example of a fallback: which models are asked, in which order, and what they are told.
import { describe, expect, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { Fallback } from "../examples/fallback.ts"
import * as Scripted from "../src/providers/Scripted.ts"
import * as RetryPolicy from "../src/RetryPolicy.ts"
import { Provider, route } from "../src/services/Provider.ts"
import { failing, say } from "./support/make.ts"
import { of, play } from "./support/play.ts"

const playWithFallback = Effect.fnUntraced(function* (
  turns: ReadonlyArray<Scripted.Turn>,
  retry?: RetryPolicy.RetryPolicy
) {
  const scripted = yield* Scripted.make({ turns })
  const both = Layer.succeed(Provider, scripted)
  const context = yield* Layer.build(Layer.provide(Fallback, route({ first: both, second: both })))
  const trace = yield* play(Context.get(context, Provider), { apiKey: Redacted.make("secret"), retry })
  return { ...trace, asked: scripted.requests.map(({ model }) => model.id), requests: scripted.requests }
})

describe("the fallback", () => {
  it.effect("asks the second model where the first one fails, and gives neither the key of another", () =>
    Effect.gen(function* () {
      for (const isRetryable of [true, false]) {
        const { asked, responses, requests } = yield* playWithFallback([[failing("no", isRetryable)], [say("hi")]])
        expect(asked).toEqual(["large", "small"])
        expect(responses).toMatchObject([{ content: [{ text: "hi" }], stopReason: "stop" }])
        // The message says who has answered: its signed thoughts must not go to the first model.
        expect(responses).toMatchObject([{ provider: "second", model: "small" }])
        expect(requests.map(({ apiKey }) => apiKey)).toEqual([undefined, undefined])
      }
    })
  )

  it.effect("asks both again where the retry policy of the run says so", () =>
    Effect.gen(function* () {
      const turns = [[failing("a", true)], [failing("b", true)], [say("half"), failing("c", true)], [say("hi")]]
      const { asked, events, responses } = yield* playWithFallback(turns, RetryPolicy.standard)
      expect(asked).toEqual(["large", "small", "large", "large"])
      expect(of({ events }, "retry").map(({ errorMessage }) => errorMessage)).toEqual(["b", "c"])
      expect(responses).toMatchObject([{ content: [{ text: "hi" }] }])
    })
  )

  it.effect("asks nobody else where a response has begun", () =>
    Effect.gen(function* () {
      const { asked, responses } = yield* playWithFallback([[say("half"), failing("broke", true)], [say("never")]])
      expect(asked).toEqual(["large"])
      expect(responses).toMatchObject([{ content: [{ text: "half" }], stopReason: "error", errorMessage: "broke" }])
    })
  )

  it.effect("tells the failure of the last model", () =>
    Effect.gen(function* () {
      const { responses } = yield* playWithFallback([[failing("no")], [failing("neither")]])
      expect(responses[0]?.errorMessage).toBe("neither")
    })
  )
})
