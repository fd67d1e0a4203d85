// The hooks around a turn: when each runs, what it is given and what comes of what it gives. Tool hooks are in toolHooks.
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { Message } from "../../src/Message.ts"
import type { TurnEnd } from "../../src/services/Hooks.ts"
import { call, say, tool, untyped, user } from "../support/make.ts"
import { notice } from "../support/notice.ts"
import { of, play } from "../support/play.ts"

const tools = [tool("a")]
const twoTurns = [[call("a")], [say("ok")]]

describe("transformContext and convertToLlm", () => {
  it.effect("run in this order before each request, each with what the one before gave", () =>
    Effect.gen(function* () {
      const seen: Array<[string, number]> = []
      const trace = yield* play(twoTurns, {
        tools,
        prompts: [user("go"), notice("n")],
        hooks: {
          transformContext: (messages) =>
            Effect.sync(() => {
              seen.push(["transform", messages.length])
              return [user("first"), ...messages]
            }),
          convertToLlm: (messages) =>
            Effect.sync(() => {
              seen.push(["convert", messages.length])
              return messages.map((message) => (message.role === "notice" ? user(message.text) : message))
            })
        }
      })
      expect(seen).toEqual([
        ["transform", 2],
        ["convert", 3],
        ["transform", 4],
        ["convert", 5]
      ])
      expect(trace.requests[0]?.messages).toEqual([user("first"), user("go"), user("n")])
      // What is stored stays: the next request starts from the transcript, not from what the last one was made of.
      expect(trace.requests[1]?.messages.map(({ role }) => role)).toEqual([
        "user",
        "user",
        "user",
        "assistant",
        "toolResult"
      ])
      expect(of(trace, "agent_end")[0]?.messages).toHaveLength(5)
    })
  )

  it.effect("without convertToLlm the application's kinds are dropped, also from what transformContext gives", () =>
    Effect.gen(function* () {
      const prompts = [notice("a"), user("go"), notice("b")]
      const plain = yield* play([[say("ok")]], { prompts })
      expect(plain.requests[0]?.messages).toEqual([user("go")])
      const transformed = yield* play([[say("ok")]], {
        prompts,
        hooks: { transformContext: (messages) => Effect.succeed([...messages, notice("c"), user("last")]) }
      })
      expect(transformed.requests[0]?.messages).toEqual([user("go"), user("last")])
      expect(of(plain, "agent_end")[0]?.messages.slice(0, 3)).toEqual(prompts)
    })
  )

  it.effect("all events before a hook have been handed over when it is called", () =>
    Effect.gen(function* () {
      let handedOver = 0
      const seen: Array<number> = []
      const note = Effect.sync(() => {
        seen.push(handedOver)
      })
      const trace = yield* play(
        twoTurns,
        {
          tools,
          hooks: {
            transformContext: (messages) => Effect.as(note, messages),
            beforeToolCall: () => Effect.as(note, { _tag: "Allow" }),
            afterToolCall: () => note,
            prepareNextTurn: () => note,
            shouldStopAfterTurn: () => Effect.as(note, false)
          }
        },
        {
          onEvents: (events) =>
            Effect.sync(() => {
              handedOver += events.length
            })
        }
      )
      const at = (token: string, after = 0) => trace.tokens.indexOf(token, after)
      const tokensOf = (count: number) => trace.events.slice(0, count).at(-1)
      expect(seen.map((count) => tokensOf(count)?.type)).toEqual([
        "message_end",
        "tool_execution_start",
        "tool_execution_start",
        "turn_end",
        "turn_end",
        "turn_start",
        "turn_end",
        "turn_end"
      ])
      expect(at("run) completed")).toBeGreaterThan(0)
    })
  )

  for (const hook of ["transformContext", "convertToLlm"] as const) {
    it.effect(`${hook} that dies gives an error response, and no request is made`, () =>
      Effect.gen(function* () {
        const trace = yield* play([[say("never")]], { hooks: { [hook]: () => Effect.die(new Error("hook broke")) } })
        expect(trace.outline.slice(3)).toEqual(["assistant error", "turn)", "run) error"])
        expect(trace.responses[0]?.errorMessage).toBe("hook broke")
        expect(trace.requests).toHaveLength(0)
      })
    )

    it.effect(`${hook} that throws, or gives no Effect, does the same`, () =>
      Effect.gen(function* () {
        const throwing = (): never => {
          throw new Error("thrown")
        }
        expect((yield* play([], { hooks: { [hook]: throwing } })).responses[0]?.errorMessage).toBe("thrown")
        const given = yield* play([], { hooks: { [hook]: untyped(() => [user("x")]) } })
        expect(given.responses[0]?.errorMessage).toBe(`The hook ${hook} did not give an Effect.`)
        expect(given.reason).toBe("error")
      })
    )
  }
})

describe("the API key", () => {
  const keys = (trace: { readonly requests: ReadonlyArray<{ apiKey: Redacted.Redacted | undefined }> }) =>
    trace.requests.map(({ apiKey }) => apiKey && Redacted.value(apiKey))

  it.effect("is resolved anew for each request, by the provider's name", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const trace = yield* play(twoTurns, {
        tools,
        apiKey: Redacted.make("fixed"),
        resolveApiKey: (provider) => Effect.sync(() => Redacted.make(`key ${asked.push(provider)}`))
      })
      expect(asked).toEqual(["acme", "acme"])
      expect(keys(trace)).toEqual(["key 1", "key 2"])
    })
  )

  it.effect("is the fixed one where none, or an empty one, is resolved", () =>
    Effect.gen(function* () {
      const given = [undefined, Redacted.make("")]
      const trace = yield* play(twoTurns, {
        tools,
        apiKey: Redacted.make("fixed"),
        resolveApiKey: () => Effect.sync(() => given.shift())
      })
      expect(keys(trace)).toEqual(["fixed", "fixed"])
      expect(keys(yield* play([[say("ok")]], { apiKey: Redacted.make("only") }))).toEqual(["only"])
      expect(keys(yield* play([[say("ok")]]))).toEqual([undefined])
    })
  )

  it.effect("an empty resolved key is none where there is no fixed one", () =>
    Effect.gen(function* () {
      const trace = yield* play([[say("ok")]], { resolveApiKey: () => Effect.succeed(Redacted.make("")) })
      expect(keys(trace)).toEqual([undefined])
    })
  )

  it.effect("a resolver that dies gives an error response", () =>
    Effect.gen(function* () {
      const trace = yield* play([], { resolveApiKey: () => Effect.die("no vault") })
      expect(trace.responses[0]).toMatchObject({ stopReason: "error", errorMessage: "no vault" })
    })
  )

  it.effect("is looked up under the new provider after a change of model", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      yield* play(twoTurns, {
        tools,
        resolveApiKey: (provider) => Effect.sync(() => void asked.push(provider)),
        hooks: { prepareNextTurn: () => Effect.succeed({ model: { id: "m2", provider: "other" } }) }
      })
      expect(asked).toEqual(["acme", "other"])
    })
  )
})

describe("prepareNextTurn", () => {
  const twice = (next: unknown) => {
    const given = [next]
    return play([[call("a")], [call("b", {}, "x")], [say("ok")]], {
      tools,
      systemPrompt: "old",
      thinkingLevel: "low",
      hooks: { prepareNextTurn: () => Effect.sync(() => untyped<undefined>(given.shift())) }
    })
  }

  it.effect("replaces model and thinking level for the turns to come; what is absent stays", () =>
    Effect.gen(function* () {
      const models = yield* twice({ model: { id: "m2", provider: "p2" } })
      expect(models.requests.map(({ model }) => model.id)).toEqual(["m1", "m2", "m2"])
      expect(models.responses.map(({ model, provider }) => `${provider}/${model}`)).toEqual([
        "acme/m1",
        "p2/m2",
        "p2/m2"
      ])
      expect(models.requests.map(({ thinkingLevel }) => thinkingLevel)).toEqual(["low", "low", "low"])
      const levels = yield* twice({ thinkingLevel: "off" })
      expect(levels.requests.map(({ thinkingLevel }) => thinkingLevel)).toEqual(["low", undefined, undefined])
      const nothing = yield* twice({ model: undefined, thinkingLevel: undefined, context: undefined })
      expect(nothing.requests.map(({ model }) => model.id)).toEqual(["m1", "m1", "m1"])
    })
  )

  it.effect("replaces system prompt, transcript and tools; the new messages of the run stay all", () =>
    Effect.gen(function* () {
      const context = { systemPrompt: "new", messages: [user("short")], tools: [tool("b")] }
      const trace = yield* twice({ context })
      expect(trace.requests.map(({ systemPrompt }) => systemPrompt)).toEqual(["old", "new", "new"])
      expect(trace.requests[1]?.messages).toEqual([user("short")])
      expect(trace.requests[2]?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "toolResult"])
      expect(trace.requests[1]?.tools?.map(({ name }) => name)).toEqual(["b"])
      expect(trace.resultTexts).toEqual(["a done", "b done"])
      expect(of(trace, "agent_end")[0]?.messages).toHaveLength(6)
    })
  )

  it.effect("a context without a prompt and tools has neither", () =>
    Effect.gen(function* () {
      const trace = yield* twice({ context: { systemPrompt: undefined, messages: [user("x")], tools: undefined } })
      expect(trace.requests[1]).toMatchObject({ systemPrompt: undefined, tools: undefined })
    })
  )

  it.effect("is given the message, its results, the context and the run's new messages", () =>
    Effect.gen(function* () {
      const seen: Array<TurnEnd> = []
      const messages = [user("before")]
      const trace = yield* play(twoTurns, {
        tools,
        messages,
        systemPrompt: "s",
        hooks: { prepareNextTurn: (turn) => Effect.sync(() => void seen.push(turn)) }
      })
      expect(seen).toHaveLength(2)
      expect(seen[0]).toMatchObject({ message: trace.responses[0], toolResults: trace.results })
      expect(seen[0]?.newMessages).toEqual([user("go"), trace.responses[0], trace.results[0]])
      expect(seen[0]?.context).toMatchObject({ systemPrompt: "s", tools })
      expect(seen[0]?.context.messages).toEqual([...messages, ...(seen[0]?.newMessages ?? [])])
      expect(seen[1]).toMatchObject({ message: trace.responses[1], toolResults: [] })
    })
  )
})

describe("shouldStopAfterTurn", () => {
  it.effect("is given the context that prepareNextTurn gave", () =>
    Effect.gen(function* () {
      const seen: Array<TurnEnd> = []
      const context = { systemPrompt: "new", messages: [user("short")], tools: [] }
      yield* play([[say("ok")]], {
        hooks: {
          prepareNextTurn: () => Effect.succeed({ context }),
          shouldStopAfterTurn: (turn) => Effect.sync(() => (seen.push(turn), false))
        }
      })
      expect(seen[0]?.context).toMatchObject(context)
      expect(seen[0]?.newMessages).toHaveLength(2)
    })
  )
})

describe("hooks after a turn that die", () => {
  for (const hook of ["prepareNextTurn", "shouldStopAfterTurn"] as const) {
    it.effect(`${hook} gets a turn of its own, and no queue is polled`, () =>
      Effect.gen(function* () {
        let polls = 0
        const steering = Effect.sync((): ReadonlyArray<Message> => (polls++, []))
        const trace = yield* play(twoTurns, {
          tools,
          steering,
          hooks: { [hook]: () => Effect.die(new Error("broke")) }
        })
        expect(trace.outline.slice(-5)).toEqual(["turn)", "turn(", "assistant error", "turn)", "run) error"])
        expect(trace.responses.at(-1)).toMatchObject({ errorMessage: "broke", content: [], model: "m1" })
        expect([trace.requests.length, polls]).toEqual([1, 1])
      })
    )

    it.effect(`${hook} that throws, or gives no Effect, does the same`, () =>
      Effect.gen(function* () {
        const given = yield* play([[say("ok")]], { hooks: { [hook]: untyped(() => true) } })
        expect(given.responses.at(-1)?.errorMessage).toBe(`The hook ${hook} did not give an Effect.`)
        const thrown = yield* play([[say("ok")]], {
          hooks: {
            [hook]: () => {
              throw new Error("thrown")
            }
          }
        })
        expect(thrown.responses.at(-1)?.errorMessage).toBe("thrown")
      })
    )
  }

  it.effect("a hook that interrupts itself dies of that; the run is not aborted", () =>
    Effect.gen(function* () {
      const trace = yield* play([[say("ok")]], { hooks: { prepareNextTurn: () => Effect.interrupt } })
      expect(trace.reason).toBe("error")
    })
  )
})
