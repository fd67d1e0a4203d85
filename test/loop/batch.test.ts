// SPEC 6: a parallel batch, what a call is refused for, and what becomes of a tool that fails.
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Hooks from "../../src/services/Hooks.ts"
import { ToolResultMessage } from "../../src/Message.ts"
import * as Tool from "../../src/Tool.ts"
import { call, rawCall, say, slow, tool, untyped } from "../support/make.ts"
import { of, play } from "../support/play.ts"
import { executions } from "../support/tokens.ts"

const ok = [say("ok")]

describe("a parallel batch", () => {
  it.effect("starts in source order, ends as calls complete, and has its results in source order", () =>
    Effect.gen(function* () {
      const trace = yield* play([[call("a"), call("b"), call("c")], ok], {
        tools: [slow("a", 30), slow("b", 10), slow("c", 20)]
      })
      expect(trace.outline.slice(4, -3)).toEqual([
        "start a",
        "start b",
        "start c",
        "end b",
        "end c",
        "end a",
        "result a",
        "result b",
        "result c",
        "turn)",
        "turn("
      ])
      const ends = trace.events.flatMap((event, index) =>
        event.type === "tool_execution_end" ? [trace.times[index]] : []
      )
      expect(ends).toEqual([10, 20, 30])
      expect(of(trace, "turn_end")[0]?.toolResults).toEqual(trace.results)
    })
  )

  it.effect("prepares all calls one after the other before any is executed", () =>
    Effect.gen(function* () {
      const steps: Array<string> = []
      const note = (step: string) => Effect.sync(() => void steps.push(step))
      const noting = (name: string) =>
        tool(name, () => Effect.as(Effect.andThen(note(`execute ${name}`), Effect.sleep(5)), name), {
          prepareArguments: (args) => (steps.push(`prepare ${name}`), args)
        })
      yield* play([[call("a"), call("b")], ok], {
        tools: [noting("a"), noting("b")],
        hooks: {
          beforeToolCall: ({ toolCall }) => Effect.as(Effect.delay(note(`before ${toolCall.name}`), 10), Hooks.allow),
          afterToolCall: ({ toolCall }) => note(`after ${toolCall.name}`)
        }
      })
      expect(steps).toEqual([
        "prepare a",
        "before a",
        "prepare b",
        "before b",
        "execute a",
        "execute b",
        "after a",
        "after b"
      ])
    })
  )

  it.effect("a call that is refused ends at once, before the next starts", () =>
    Effect.gen(function* () {
      const trace = yield* play([[call("a"), call("nobody"), call("b")], ok], { tools: [tool("a"), tool("b")] })
      expect(executions(trace.events)).toEqual(["start a", "start nobody", "error nobody", "start b", "end a", "end b"])
      expect(trace.results.map(({ toolCallId }) => toolCallId)).toEqual(["a", "nobody", "b"])
    })
  )

  it.effect("afterToolCall of one call does not hold the others", () =>
    Effect.gen(function* () {
      const trace = yield* play([[call("a"), call("b")], ok], {
        tools: [tool("a"), tool("b")],
        hooks: { afterToolCall: ({ toolCall }) => Effect.sleep(toolCall.name === "a" ? 100 : 10) }
      })
      expect(executions(trace.events).slice(2)).toEqual(["end b", "end a"])
      expect(trace.endedAt).toBe(100)
    })
  )

  it.effect("without a limit all calls run at a time", () =>
    Effect.gen(function* () {
      const names = Array.from({ length: 30 }, (_, index) => `t${index}`)
      const trace = yield* play([names.map((name) => call(name)), ok], { tools: names.map((name) => slow(name, 10)) })
      expect(trace.endedAt).toBe(10)
    })
  )

  for (const concurrency of [1, 2, 5]) {
    it.effect(`at most ${concurrency} calls run at a time where that is the limit`, () =>
      Effect.gen(function* () {
        let running = 0
        let most = 0
        const names = ["a", "b", "c", "d", "e", "f"]
        const busy = (name: string) =>
          tool(name, () =>
            Effect.acquireUseRelease(
              Effect.sync(() => {
                most = Math.max(most, ++running)
              }),
              () => Effect.delay(Effect.succeed(name), 10),
              () =>
                Effect.sync(() => {
                  running--
                })
            )
          )
        const trace = yield* play([names.map((name) => call(name)), ok], { tools: names.map(busy), concurrency })
        expect(most).toBe(concurrency)
        expect(trace.endedAt).toBe(Math.ceil(6 / concurrency) * 10)
        expect(trace.resultTexts).toEqual(names)
        // A batch with a limit is a parallel one: all calls start before the first ends.
        expect(executions(trace.events).slice(0, 6)).toEqual(names.map((name) => `start ${name}`))
      })
    )
  }
})

describe("refused calls", () => {
  it.effect("an unknown tool: the result names those that there are", () =>
    Effect.gen(function* () {
      const trace = yield* play([[call("raed")], ok], { tools: [tool("read"), tool("grep")] })
      expect(trace.resultTexts).toEqual(['There is no tool "raed". Available tools: read, grep.'])
      expect(trace.results[0]).toMatchObject({ isError: true, details: {}, toolName: "raed" })
      const none = yield* play([[call("read")], ok])
      expect(none.resultTexts).toEqual(['There is no tool "read". No tools are available.'])
    })
  )

  it.effect("a preparation that throws", () =>
    Effect.gen(function* () {
      const trace = yield* play([[call("a")], ok], {
        tools: [
          tool("a", undefined, {
            prepareArguments: () => {
              throw new Error("cannot mend")
            }
          })
        ]
      })
      expect(trace.resultTexts).toEqual(["cannot mend"])
      expect(executions(trace.events)).toEqual(["start a", "error a"])
    })
  )

  it.effect("arguments that were cut off with stop reason length: no call of the batch runs (B5)", () =>
    Effect.gen(function* () {
      let ran = 0
      const end = tool("end", () => Effect.sync(() => (ran++, { terminate: true })))
      const trace = yield* play(
        [[call("end", {}, "whole"), rawCall("end", '{"path": "/tm', "cut"), { type: "done", reason: "length" }], ok],
        { tools: [end] }
      )
      expect(ran).toBe(0)
      expect(trace.outline.slice(4, 11)).toEqual([
        "start whole",
        "error whole",
        "result whole",
        "start cut",
        "error cut",
        "result cut",
        "turn)"
      ])
      for (const text of trace.resultTexts) expect(text).toMatch(/cut off.*Call the tool again/)
      expect(trace.reason).toBe("completed")
      expect(() => JSON.stringify(trace.requests[1]?.messages)).not.toThrow()
    })
  )

  it.effect(
    "arguments that are cut off otherwise: only that call does not run, and the model sees what arrived (B5)",
    () =>
      Effect.gen(function* () {
        const trace = yield* play(
          [[call("a"), rawCall("a", '{"path": "/tm', "cut"), { type: "done", reason: "toolUse" }], ok],
          { tools: [tool("a")] }
        )
        expect(trace.results.map(({ isError }) => isError)).toEqual([false, true])
        expect(trace.resultTexts[1]).toContain('{"path": "/tm')
        expect(trace.requests[1]?.messages[1]?.content).toMatchObject([
          { id: "a" },
          { id: "cut", arguments: { path: "/tm" }, rawArguments: '{"path": "/tm' }
        ])
        expect(executions(trace.events)).toEqual(["start a", "start cut", "error cut", "end a"])
      })
  )

  it.effect("a batch of refused calls alone never terminates", () =>
    Effect.gen(function* () {
      const trace = yield* play([[call("x"), call("y")], ok])
      expect(trace.reason).toBe("completed")
      expect(trace.requests).toHaveLength(2)
    })
  )
})

describe("tools that fail", () => {
  const textOf = Effect.fnUntraced(function* (execute: () => unknown) {
    const trace = yield* play([[call("a")], ok], { tools: [tool("a", untyped(execute))] })
    expect(trace.results[0]).toMatchObject({ isError: true, details: {} })
    expect(trace.results[0]?.content).toHaveLength(1)
    expect(trace.reason).toBe("completed")
    return trace.resultTexts[0]
  })

  it.effect("a failure, a defect, a throw: one text block and empty details, and the run goes on", () =>
    Effect.gen(function* () {
      expect(yield* textOf(() => Effect.fail(new Tool.ToolFailure({ message: "no such file" })))).toBe("no such file")
      expect(yield* textOf(() => Effect.die(new Error("bug")))).toBe("bug")
      expect(yield* textOf(() => Effect.die("plain"))).toBe("plain")
      expect(yield* textOf(() => Effect.die({ code: 7 }))).toContain("7")
      expect(
        yield* textOf(() => {
          throw new TypeError("thrown")
        })
      ).toBe("thrown")
    })
  )

  it.effect("one that gives nothing, or something that is no result", () =>
    Effect.gen(function* () {
      for (const value of [undefined, null, 5, true, [], [{ type: "text", text: "x" }]]) {
        expect(yield* textOf(() => Effect.succeed(value))).toBe("The tool gave no result.")
      }
    })
  )

  it.effect("one that gives no Effect", () =>
    Effect.gen(function* () {
      for (const value of [undefined, "text", { content: [] }, Promise.resolve("x"), () => Effect.succeed("x")]) {
        expect(yield* textOf(() => value)).toBe('The tool "a" did not give an Effect.')
      }
    })
  )

  it.effect("one that interrupts itself: the run is not aborted", () =>
    Effect.gen(function* () {
      expect(yield* textOf(() => Effect.interrupt)).toBe("The tool was interrupted.")
    })
  )

  it.effect("one failure leaves the other calls alone", () =>
    Effect.gen(function* () {
      const trace = yield* play([[call("a"), call("bad"), call("c")], ok], {
        tools: [slow("a", 20), tool("bad", () => Effect.die("early")), slow("c", 10)]
      })
      expect(trace.resultTexts).toEqual(["a done", "early", "c done"])
    })
  )
})

describe("results", () => {
  const resultOf = Effect.fnUntraced(function* (value: string | Tool.ToolResult) {
    const trace = yield* play([[call("a")], ok], { tools: [tool("a", () => Effect.succeed(value))] })
    return {
      message: trace.results[0],
      end: of(trace, "tool_execution_end")[0],
      next: trace.requests[1]?.messages.at(-1)
    }
  })

  it.effect("a text is one text block, without details", () =>
    Effect.gen(function* () {
      const { message, end } = yield* resultOf("text")
      expect(end?.result).toEqual({ content: [{ type: "text", text: "text" }] })
      expect(Object.keys(message ?? {})).toEqual(["role", "toolCallId", "toolName", "content", "isError", "timestamp"])
    })
  )

  it.effect("missing or null content is an empty list in the message; the event carries what the tool gave", () =>
    Effect.gen(function* () {
      for (const result of [{}, { content: null }, { details: 1, content: null }]) {
        const { message, end } = yield* resultOf(result)
        expect(message?.content).toEqual([])
        expect(end?.result).toEqual(result)
      }
    })
  )

  it.effect("details and added tool names are carried over, an empty list of names is not", () =>
    Effect.gen(function* () {
      expect((yield* resultOf({ details: { a: [1] }, addedToolNames: ["x"] })).message).toMatchObject({
        details: { a: [1] },
        addedToolNames: ["x"]
      })
      expect((yield* resultOf({ addedToolNames: [] })).message).not.toHaveProperty("addedToolNames")
      expect((yield* resultOf({ details: null })).message?.details).toBeNull()
    })
  )

  it.effect("an output of only blanks, or none at all, reaches the model as valid content (C10)", () =>
    Effect.gen(function* () {
      const isValid = Schema.is(ToolResultMessage)
      for (const value of [
        "",
        " ",
        "\n\t ",
        {},
        { content: [] },
        { content: null },
        { content: [{ type: "text" as const, text: "" }] }
      ]) {
        const { message, next } = yield* resultOf(value)
        expect(next).toEqual(message)
        expect(isValid(next)).toBe(true)
        expect(message?.isError).toBe(false)
      }
    })
  )
})
