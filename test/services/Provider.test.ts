// Several providers as one: who is asked, who is not, and what is built for it.
import { describe, expect, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scripted from "../../src/providers/Scripted.ts"
import { Provider, route } from "../../src/services/Provider.ts"
import { call, say, tool } from "../support/make.ts"
import { play } from "../support/play.ts"

const saying = (...texts: ReadonlyArray<string>) => Scripted.layer({ turns: texts.map((text) => [say(text)]) })

const providerOf = <E>(layer: Layer.Layer<Provider, E>) =>
  Effect.map(Layer.build(layer), (context) => Context.get(context, Provider))

const at = (provider: string, id = "m") => ({ model: { provider, id } })

describe("a route", () => {
  it.effect("asks the provider that the model names", () =>
    Effect.gen(function* () {
      const provider = yield* providerOf(route({ a: saying("I am a"), b: saying("I am b") }))
      for (const name of ["b", "a"]) {
        const { responses } = yield* play(provider, at(name))
        expect(responses).toMatchObject([{ provider: name, content: [{ text: `I am ${name}` }] }])
      }
    })
  )

  it.effect("lets a run change its model", () =>
    Effect.gen(function* () {
      const provider = yield* providerOf(
        route({ first: Scripted.layer({ turns: [[call("a")]] }), second: saying("I go on") })
      )
      const { responses } = yield* play(provider, {
        ...at("first"),
        tools: [tool("a")],
        hooks: { prepareNextTurn: () => Effect.succeed({ model: { provider: "second", id: "n" } }) }
      })
      expect(responses.map((response) => [response.provider, response.model])).toEqual([
        ["first", "m"],
        ["second", "n"]
      ])
    })
  )

  it.effect(
    "lets a response name the model that was asked, whatever the run has asked for, unless it does so itself",
    () =>
      Effect.gen(function* () {
        const own = { provider: "c", id: "n" }
        const naming = Scripted.layer({
          turns: [
            [
              { type: "start", model: own },
              { type: "done", reason: "stop" }
            ]
          ]
        })
        const provider = yield* providerOf(route({ b: saying("I am b"), c: naming }))
        for (const [name, named] of [
          ["b", { provider: "b", model: "m" }],
          ["c", { provider: "c", model: "n" }]
        ] as const) {
          const asking: Provider["Service"] = {
            stream: (request) => provider.stream({ ...request, model: { provider: name, id: "m" } })
          }
          expect((yield* play(asking, at("a", "asked"))).responses).toMatchObject([named])
        }
      })
  )

  it.effect("says in one sentence that it does not know a provider, and which there are", () =>
    Effect.gen(function* () {
      const provider = yield* providerOf(route({ a: saying("a"), b: saying("b") }))
      for (const name of ["c", "", "toString", "__proto__"]) {
        const { responses, reason } = yield* play(provider, at(name))
        expect(reason).toBe("error")
        expect(responses[0]).toMatchObject({
          error: { reason: "notFound", retryable: false },
          errorMessage: `There is no provider "${name}" for the model "m"; there is a, b.`
        })
      }
      const { responses } = yield* play(yield* providerOf(route({})), at("a"))
      expect(responses[0]?.errorMessage).toBe('There is no provider "a" for the model "m"; there is none at all.')
    })
  )

  it.effect("builds each provider once, and closes it with its own scope", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const noting = (name: string) =>
        Layer.effect(
          Provider,
          Effect.acquireRelease(
            Effect.suspend(() => {
              seen.push(`open ${name}`)
              return Scripted.make({ turns: [[say(name)], [say(name)]] })
            }),
            () => Effect.sync(() => seen.push(`close ${name}`))
          )
        )
      yield* Effect.scoped(
        Effect.gen(function* () {
          const provider = yield* providerOf(route({ a: noting("a"), b: noting("b") }))
          yield* play(provider, at("a"))
          yield* play(provider, at("a"))
        })
      )
      expect(seen.slice(0, 2)).toEqual(["open a", "open b"])
      expect(seen.slice(2).toSorted()).toEqual(["close a", "close b"])
    })
  )
})
