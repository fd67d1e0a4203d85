// A run changes nothing that it was given, and whoever changes what the run gave out changes nothing in it. (That whatever
// is given to a run is frozen, and that no snapshot changes afterwards, is part of `play`: it holds in every test.)
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Hooks from "../../src/services/Hooks.ts"
import type { ProviderEvent } from "../../src/services/Provider.ts"
import * as Tool from "../../src/Tool.ts"
import { assistant, call, provider, say, tool, untyped, user } from "../support/make.ts"
import { deepFrozen, of, play } from "../support/play.ts"

const ok = [say("ok")]

/** Takes a value apart: lists are emptied and objects lose or change their members, on every level but the top. */
const spoil = (value: unknown, depth = 0): void => {
  if (typeof value !== "object" || value === null || depth > 5) return
  for (const key of Object.keys(value)) spoil((value as Record<string, unknown>)[key], depth + 1)
  if (depth === 0) return
  if (Array.isArray(value)) value.length = 0
  else for (const key of Object.keys(value)) (value as Record<string, unknown>)[key] = "spoiled"
}

const nested = Tool.make({
  name: "nested",
  description: "",
  parameters: Schema.Struct({ list: Schema.Array(Schema.Struct({ n: Schema.Finite })) }),
  execute: (params) => Effect.succeed({ content: [], details: JSON.parse(JSON.stringify(params)) as Schema.Json })
})
const args = { list: [{ n: 1 }, { n: 2 }] }
const turns = [[call("nested", args)], ok]

describe("arguments", () => {
  it.effect("that beforeToolCall, afterToolCall and prepareArguments take apart stay as they were", () =>
    Effect.gen(function* () {
      const trace = yield* play(turns, {
        tools: [
          {
            ...nested,
            prepareArguments: (given) => {
              const mended = structuredClone(given)
              spoil({ given })
              return mended
            }
          }
        ],
        hooks: {
          beforeToolCall: ({ args }) => Effect.sync(() => (spoil({ args }), Hooks.allow)),
          afterToolCall: ({ args }) => Effect.sync(() => spoil({ args }))
        }
      })
      expect(trace.results[0]?.details).toEqual(args)
      expect(trace.responses[0]?.content).toMatchObject([{ arguments: args }])
      expect(of(trace, "tool_execution_start")[0]?.args).toEqual(args)
    })
  )

  it.effect("that the tool takes apart stay as they were in events, messages and the next request", () =>
    Effect.gen(function* () {
      const trace = yield* play(turns, {
        tools: [{ ...nested, execute: (params) => Effect.sync(() => (spoil({ params }), "spoiled")) }]
      })
      expect(trace.requests[1]?.messages[1]?.content).toMatchObject([{ arguments: args }])
      expect(of(trace, "tool_execution_start")[0]?.args).toEqual(args)
    })
  )
})

describe("results", () => {
  it.effect("that a tool goes on to change change no event and no message", () =>
    Effect.gen(function* () {
      const details: { [key: string]: Schema.MutableJson } = { list: [1], state: "running" }
      const block = { type: "text" as const, text: "first" }
      const result = { content: [block], details, addedToolNames: ["x"] }
      const changing = tool("a", (_, { update }) =>
        Effect.gen(function* () {
          yield* update(result)
          block.text = "second"
          details["state"] = "done"
          yield* update(result)
          yield* Effect.forkDetach(
            Effect.delay(
              Effect.sync(() => {
                block.text = "late"
                ;(details["list"] as Array<number>).push(2)
                result.addedToolNames.length = 0
              }),
              10
            )
          )
          return result
        })
      )
      const trace = yield* play([[call("a"), call("b")], ok], {
        tools: [changing, tool("b", () => Effect.delay(Effect.succeed("x"), 50))]
      })
      const states = of(trace, "tool_execution_update").map(({ partialResult }) => partialResult)
      expect(states).toEqual([
        { content: [{ type: "text", text: "first" }], details: { list: [1], state: "running" }, addedToolNames: ["x"] },
        { content: [{ type: "text", text: "second" }], details: { list: [1], state: "done" }, addedToolNames: ["x"] }
      ])
      expect(trace.results[0]).toMatchObject({
        content: [{ text: "second" }],
        details: { list: [1], state: "done" },
        addedToolNames: ["x"]
      })
    })
  )

  it.effect("that afterToolCall takes apart stay as they were, and so does an override that is changed later", () =>
    Effect.gen(function* () {
      const override = { details: { kept: [1] } }
      const trace = yield* play([[call("a"), call("b")], ok], {
        tools: [
          tool("a", () => Effect.succeed({ content: [{ type: "text", text: "a" }], details: { d: [1] } })),
          tool("b", () => Effect.delay(Effect.succeed("x"), 50))
        ],
        hooks: {
          afterToolCall: ({ result, toolCall }) =>
            Effect.sync(() => {
              spoil({ result })
              if (toolCall.name === "b") override.details.kept.push(2)
              return toolCall.name === "a" ? override : undefined
            })
        }
      })
      expect(trace.results[0]).toMatchObject({ content: [{ text: "a" }], details: { kept: [1] } })
    })
  )
})

describe("messages and events", () => {
  const spoiling: Hooks.Hooks = {
    beforeToolCall: ({ message, toolCall }) => Effect.sync(() => (spoil({ message, toolCall }), Hooks.allow)),
    afterToolCall: ({ message, toolCall }) => Effect.sync(() => spoil({ message, toolCall })),
    prepareNextTurn: ({ message, toolResults }) => Effect.sync(() => spoil({ message, toolResults })),
    shouldStopAfterTurn: ({ message, toolResults }) =>
      Effect.sync(() => (spoil({ message, toolResults }), message.content.length > 9))
  }
  const alone = Object.entries(spoiling).map(([name, hook]) => [`the hook ${name} takes`, { [name]: hook }] as const)
  for (const [who, hooks] of [["all hooks take", spoiling] as const, ...alone]) {
    it.effect(`that ${who} apart stay as they were`, () =>
      Effect.gen(function* () {
        const trace = yield* play([[say("x"), call("a"), call("b")], ok], { tools: [tool("a"), tool("b")], hooks })
        expect(trace.resultTexts).toEqual(["a done", "b done"])
        expect(trace.responses[0]?.content).toHaveLength(3)
        expect(trace.requests[1]?.messages).toHaveLength(4)
      })
    )
  }

  it.effect("dates among decoded arguments are the hook's own too", () =>
    Effect.gen(function* () {
      const at = Tool.make({
        name: "at",
        description: "",
        parameters: Schema.Struct({ date: Schema.DateFromString }),
        execute: ({ date }) => Effect.succeed(date.toISOString())
      })
      const trace = yield* play([[call("at", { date: "2020-01-01" })], ok], {
        tools: [at],
        hooks: {
          beforeToolCall: ({ args }) =>
            Effect.sync(() => ((args as { readonly date: Date }).date.setFullYear(1999), Hooks.allow))
        }
      })
      expect(trace.resultTexts[0]).toContain("2020")
    })
  )

  it.effect("of a provider that uses one object again for all its events stay as they were", () =>
    Effect.gen(function* () {
      const event: Record<string, unknown> = {}
      const steps = [
        { type: "start" },
        { type: "text_start", contentIndex: 0 },
        { type: "text_delta", contentIndex: 0, delta: "a" },
        { type: "text_delta", contentIndex: 0, delta: "b" },
        { type: "text_end", contentIndex: 0 },
        { type: "toolcall_start", contentIndex: 1, id: "x", name: "a" },
        { type: "toolcall_end", contentIndex: 1 },
        { type: "done", reason: "toolUse" }
      ]
      const reusing = provider(() =>
        Stream.mapEffect(Stream.fromIterable(steps), (step) =>
          Effect.sync(() => Object.assign(event, step) as unknown as ProviderEvent)
        )
      )
      const trace = yield* play(reusing, { tools: [tool("a")], maxTurns: 1 })
      expect(trace.responses[0]?.content).toMatchObject([{ text: "ab" }, { id: "x" }])
    })
  )
})

describe("lists", () => {
  it.effect("handed to the hooks around a turn are their own: emptying them changes nothing", () =>
    Effect.gen(function* () {
      const empty = (list: ReadonlyArray<unknown>) => {
        untyped<Array<unknown>>(list).length = 0
      }
      const trace = yield* play([[call("a"), call("a", {}, "2")], ok], {
        tools: [tool("a")],
        messages: [user("before"), assistant([{ type: "text", text: "x" }])],
        hooks: {
          transformContext: (messages) =>
            Effect.sync(() => {
              const copy = [...messages]
              empty(messages)
              return copy
            }),
          convertToLlm: (messages) =>
            Effect.sync(() => {
              const copy = messages.filter((message) => message.role !== "notice")
              empty(messages)
              return copy
            }),
          beforeToolCall: ({ context }) =>
            Effect.sync(() => {
              const decision = context.messages.length === 4 ? Hooks.allow : Hooks.block("it was emptied before")
              empty(context.messages)
              return decision
            }),
          prepareNextTurn: ({ context, newMessages }) =>
            Effect.sync(() => {
              empty(context.messages)
              empty(newMessages)
            }),
          shouldStopAfterTurn: ({ context, newMessages }) =>
            Effect.sync(() => {
              const [seen, told] = [context.messages.length, newMessages.length]
              empty(context.messages)
              return seen === 0 || told === 0
            })
        }
      })
      expect(trace.reason).toBe("completed")
      expect(trace.requests.map(({ messages }) => messages.length)).toEqual([3, 6])
      expect(trace.resultTexts).toEqual(["a done", "a done"])
      expect(of(trace, "agent_end")[0]?.messages).toHaveLength(5)
    })
  )

  it.effect("that hooks give are copied: changing them afterwards changes nothing", () =>
    Effect.gen(function* () {
      const given = [user("given")]
      const context = { systemPrompt: "s", messages: [user("short")], tools: [tool("a")] }
      const trace = yield* play([[call("a")], ok], {
        tools: [tool("a")],
        hooks: {
          convertToLlm: () => Effect.succeed(given),
          prepareNextTurn: () => Effect.sync(() => ({ context })),
          shouldStopAfterTurn: () =>
            Effect.sync(() => {
              given.push(user("late"))
              context.messages.length = 0
              return false
            })
        }
      })
      expect(trace.requests[0]?.messages).toEqual([user("given")])
      expect(trace.requests[1]?.messages).toEqual([user("given"), user("late")])
    })
  )

  it.effect("of a context that prepareNextTurn gives stay as they are: the run appends to its own", () =>
    Effect.gen(function* () {
      const messages = [user("short")]
      const context = { systemPrompt: "s", messages: deepFrozen(messages), tools: [tool("a")] }
      let isGiven = false
      const trace = yield* play([[call("a")], [call("a", {}, "2")], ok], {
        tools: [tool("a")],
        hooks: {
          prepareNextTurn: () =>
            Effect.sync(() => {
              if (isGiven) return undefined
              isGiven = true
              return { context }
            })
        }
      })
      expect(messages).toEqual([user("short")])
      expect(trace.requests.map((request) => request.messages.length)).toEqual([1, 1, 3])
    })
  )

  it.effect("a request does not change after it was made, also if the provider changes its own", () =>
    Effect.gen(function* () {
      const sizes: Array<number> = []
      const done: ProviderEvent = { type: "done", reason: "stop" }
      const greedy = provider((request) => {
        const { messages } = request
        sizes.push(messages.length)
        untyped<Array<unknown>>(messages).length = 0
        return Stream.make(done)
      })
      const polls = [[], [user("more")]]
      const trace = yield* play(greedy, { steering: Effect.sync(() => polls.shift() ?? []) })
      expect(sizes).toEqual([1, 3])
      expect(of(trace, "agent_end")[0]?.messages).toHaveLength(4)
    })
  )
})
