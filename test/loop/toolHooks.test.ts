// The hooks around a call: beforeToolCall, which may refuse it or change its arguments, and afterToolCall, which may
// replace parts of its result.
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Hooks from "../../src/services/Hooks.ts"
import * as Tool from "../../src/Tool.ts"
import { call, rawCall, say, tool, untyped, user } from "../support/make.ts"
import { of, play, type Options } from "../support/play.ts"

/** A tool with one parameter, which tells what it got. */
const count = Tool.make({
  name: "count",
  description: "Counts.",
  parameters: Schema.Struct({ n: Schema.Finite }),
  execute: (params) => Effect.succeed(`got ${JSON.stringify(params)}`)
})

const one = (hooks: Options["hooks"], args: Schema.Json = { n: 1 }) =>
  play([[call("count", args)], [say("ok")]], { tools: [count], hooks })

describe("beforeToolCall", () => {
  it.effect(
    "is given the message, the call as sent, the decoded arguments and a context that ends with the message",
    () =>
      Effect.gen(function* () {
        const seen: Array<Hooks.BeforeToolCall> = []
        const trace = yield* play([[call("count", { n: "1" }), call("count", { n: 2 }, "second")], [say("ok")]], {
          tools: [count],
          systemPrompt: "s",
          hooks: { beforeToolCall: (given) => Effect.sync(() => (seen.push(given), Hooks.allow)) }
        })
        expect(seen.map(({ args }) => args)).toEqual([{ n: 1 }, { n: 2 }])
        expect(seen.map(({ toolCall }) => toolCall.arguments)).toEqual([{ n: "1" }, { n: 2 }])
        for (const { context, message } of seen) {
          expect(message).toEqual(trace.responses[0])
          expect(context).toMatchObject({ systemPrompt: "s", tools: [{ name: "count" }] })
          expect(context.messages).toEqual([user("go"), message])
        }
        expect(of(trace, "tool_execution_start").map(({ args }) => args)).toEqual([{ n: "1" }, { n: 2 }])
      })
  )

  it.effect("a block is an error result with the reason, and the tool does not run", () =>
    Effect.gen(function* () {
      const trace = yield* one({ beforeToolCall: () => Effect.succeed(Hooks.block("not today")) })
      expect(trace.results[0]).toMatchObject({
        isError: true,
        content: [{ type: "text", text: "not today" }],
        details: {}
      })
      expect(trace.reason).toBe("completed")
    })
  )

  for (const reason of [undefined, ""]) {
    it.effect(`a block with the reason ${JSON.stringify(reason)} has a default one`, () =>
      Effect.gen(function* () {
        const trace = yield* one({ beforeToolCall: () => Effect.succeed(Hooks.block(reason)) })
        expect(trace.resultTexts).toEqual(['The call of "count" was blocked.'])
      })
    )
  }

  it.effect("other arguments reach tool and afterToolCall, unchecked; events keep what the model sent", () =>
    Effect.gen(function* () {
      let after: unknown
      const trace = yield* one({
        beforeToolCall: () => Effect.succeed(Hooks.allowWith({ n: "not a number" })),
        afterToolCall: ({ args }) =>
          Effect.sync(() => {
            after = args
          })
      })
      expect(trace.resultTexts).toEqual(['got {"n":"not a number"}'])
      expect(after).toEqual({ n: "not a number" })
      expect(of(trace, "tool_execution_start")[0]?.args).toEqual({ n: 1 })
      expect(trace.responses[0]?.content).toMatchObject([{ arguments: { n: 1 } }])
    })
  )

  it.effect("undefined given as other arguments is given on", () =>
    Effect.gen(function* () {
      const trace = yield* one({ beforeToolCall: () => Effect.succeed({ _tag: "Allow", args: undefined }) })
      expect(trace.resultTexts).toEqual(["got undefined"])
    })
  )

  it.effect("is not asked for calls that are refused before it", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const trace = yield* play(
        [
          [call("nobody"), call("count", {}), rawCall("count", '{"n":', "cut"), call("count", { n: 1 }, "good")],
          [say("ok")]
        ],
        {
          tools: [count],
          hooks: { beforeToolCall: ({ toolCall }) => Effect.sync(() => (asked.push(toolCall.id), Hooks.allow)) }
        }
      )
      expect(asked).toEqual(["good"])
      expect(trace.results.map(({ isError }) => isError)).toEqual([true, true, true, false])
    })
  )

  it.effect("one that dies, throws, or gives no Effect refuses the call", () =>
    Effect.gen(function* () {
      const broken: ReadonlyArray<[string, NonNullable<Hooks.Hooks["beforeToolCall"]>]> = [
        ["died", () => Effect.die(new Error("died"))],
        [
          "threw",
          () => {
            throw new Error("threw")
          }
        ],
        ["The hook beforeToolCall did not give an Effect.", untyped(() => Hooks.allow)]
      ]
      for (const [text, beforeToolCall] of broken) {
        let executed = 0
        const trace = yield* play([[call("a")], [say("ok")]], {
          tools: [tool("a", () => Effect.sync(() => `${executed++}`))],
          hooks: { beforeToolCall }
        })
        expect(trace.resultTexts).toEqual([text])
        expect([trace.results[0]?.isError, executed, trace.reason]).toEqual([true, 0, "completed"])
      }
    })
  )
})

describe("afterToolCall", () => {
  it.effect("is given what beforeToolCall was, the result and whether it is an error", () =>
    Effect.gen(function* () {
      let seen: Hooks.AfterToolCall | undefined
      const trace = yield* one({
        afterToolCall: (given) =>
          Effect.sync(() => {
            seen = given
          })
      })
      expect(seen).toMatchObject({ message: trace.responses[0], args: { n: 1 }, isError: false })
      expect(seen?.toolCall.id).toBe("count")
      expect(seen?.result).toEqual({ content: [{ type: "text", text: 'got {"n":1}' }] })
      expect(seen?.context.messages.at(-1)).toEqual(trace.responses[0])
    })
  )

  it.effect("runs after a call whose fiber was interrupted, though the run was not aborted", () =>
    Effect.gen(function* () {
      const interrupting = Effect.withFiber((fiber) => {
        fiber.interruptUnsafe()
        return Effect.never
      })
      for (const execute of [() => interrupting, () => Effect.interrupt]) {
        const trace = yield* play([[call("a")], [say("ok")]], {
          tools: [tool("a", execute)],
          hooks: {
            afterToolCall: ({ isError }) =>
              Effect.as(Effect.sleep(10), { content: [{ type: "text", text: `mended, error: ${isError}` }] })
          }
        })
        expect([trace.resultTexts, trace.reason]).toEqual([["mended, error: true"], "completed"])
      }
    })
  )

  it.effect("runs after a call that failed, not after one that was refused", () =>
    Effect.gen(function* () {
      const asked: Array<[string, boolean]> = []
      yield* play([[call("bad"), call("nobody"), call("dies"), call("blocked")], [say("ok")]], {
        tools: [
          tool("bad", () => Effect.fail(new Tool.ToolFailure({ message: "no" }))),
          tool("dies", () => Effect.die("no")),
          tool("blocked")
        ],
        hooks: {
          beforeToolCall: ({ toolCall }) => Effect.succeed(toolCall.name === "blocked" ? Hooks.block() : Hooks.allow),
          afterToolCall: ({ toolCall, isError }) => Effect.sync(() => void asked.push([toolCall.name, isError]))
        }
      })
      expect(asked).toEqual([
        ["bad", true],
        ["dies", true]
      ])
    })
  )

  it.effect("each given field replaces that of the result; absent and null ones stay; nothing is merged", () =>
    Effect.gen(function* () {
      const result = {
        content: [{ type: "text" as const, text: "old" }],
        details: { kept: 1, deep: { a: 1 } },
        terminate: true,
        addedToolNames: ["x"]
      }
      const overridden = Effect.fnUntraced(function* (override: Hooks.ToolResultOverride) {
        const trace = yield* play([[call("a")], [say("ok")]], {
          tools: [tool("a", () => Effect.succeed(result))],
          hooks: { afterToolCall: () => Effect.succeed(override) }
        })
        return of(trace, "tool_execution_end")[0]
      })
      expect((yield* overridden({}))?.result).toEqual(result)
      expect((yield* overridden({ content: null, details: null, isError: null, terminate: null }))?.result).toEqual(
        result
      )
      const content = [{ type: "text" as const, text: "new" }]
      expect((yield* overridden({ content }))?.result).toEqual({ ...result, content })
      expect((yield* overridden({ details: { deep: {} } }))?.result).toEqual({ ...result, details: { deep: {} } })
      expect((yield* overridden({ terminate: false }))?.result).toEqual({ ...result, terminate: false })
      expect(yield* overridden({ isError: true })).toMatchObject({ isError: true, result })
      expect((yield* overridden({ content: [] }))?.result).toEqual({ ...result, content: [] })
    })
  )

  it.effect("may turn an error into a success, and end the run", () =>
    Effect.gen(function* () {
      const trace = yield* play([[call("bad")]], {
        tools: [tool("bad", () => Effect.die("no"))],
        hooks: { afterToolCall: () => Effect.succeed({ isError: false, terminate: true }) }
      })
      expect(trace.results[0]).toMatchObject({ isError: false, content: [{ text: "no" }] })
      expect(trace.reason).toBe("terminated")
    })
  )

  it.effect("one that dies, throws, or gives no Effect gives that call an error result, which does not terminate", () =>
    Effect.gen(function* () {
      const broken: ReadonlyArray<[string, NonNullable<Hooks.Hooks["afterToolCall"]>]> = [
        ["died", () => Effect.die(new Error("died"))],
        [
          "threw",
          () => {
            throw new Error("threw")
          }
        ],
        ["The hook afterToolCall did not give an Effect.", untyped(() => undefined)],
        [
          "getter",
          () =>
            Effect.succeed({
              get content(): never {
                throw new Error("getter")
              }
            })
        ]
      ]
      for (const [text, afterToolCall] of broken) {
        const trace = yield* play([[call("a"), call("b")], [say("ok")]], {
          tools: [tool("a", () => Effect.succeed({ terminate: true })), tool("b")],
          hooks: {
            afterToolCall: (given) => (given.toolCall.name === "a" ? afterToolCall(given) : Effect.void)
          }
        })
        expect(trace.resultTexts).toEqual([text, "b done"])
        expect(trace.results.map(({ isError }) => isError)).toEqual([true, false])
        expect(trace.results[0]?.details).toEqual({})
      }
    })
  )
})
