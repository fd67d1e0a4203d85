// A batch that is aborted (SPEC 9.2): calls that had finished keep their results, the others get an "aborted" one, and every
// call has one, in order.
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Hooks from "../../src/services/Hooks.ts"
import { call, rawCall, say, slow, tool } from "../support/make.ts"
import { type How, type Options, of, play } from "../support/play.ts"

describe("a batch of three calls (A1)", () => {
  const turns = [[say("hm"), call("a"), call("b"), call("c")], [say("never")]]
  const options: Options = {
    tools: [
      slow("a", 30),
      slow("b", 10),
      tool("c", (_, { update }) => Effect.as(Effect.delay(update("u"), 20), "c done"))
    ],
    hooks: {
      beforeToolCall: () => Effect.delay(Effect.succeed(Hooks.allow), 1),
      afterToolCall: () => Effect.sleep(2)
    }
  }

  const expectWhole = (how: How, more: Options = {}) =>
    Effect.gen(function* () {
      const trace = yield* play(turns, { ...options, ...more }, how)
      const [response] = trace.responses
      if (response?.stopReason !== "toolUse") return trace
      // The next request, made of the new messages, has three results, in order.
      expect(trace.results.map(({ toolCallId }) => toolCallId)).toEqual(["a", "b", "c"])
      expect(of(trace, "turn_end")[0]?.toolResults).toEqual(trace.results)
      for (const result of trace.results) {
        const done = `${result.toolCallId} done`
        expect(result).toMatchObject({ content: [{ text: result.isError ? "Operation aborted" : done }] })
      }
      return trace
    })

  for (const toolExecution of ["parallel", "sequential"] as const) {
    it.effect(`${toolExecution}: at every instant`, () =>
      Effect.gen(function* () {
        const whole = yield* play([turns[0]!, [say("end")]], { ...options, toolExecution })
        const kept = new Set<number>()
        for (let instant = 0.5; instant <= whole.endedAt + 1; instant += 0.5) {
          const trace = yield* expectWhole({ abortAt: instant }, { toolExecution })
          if (instant < whole.endedAt) {
            expect([trace.reason, trace.requests.length, trace.endedAt]).toEqual(["aborted", 1, instant])
          }
          kept.add(trace.results.filter(({ isError }) => !isError).length)
        }
        expect([...kept].toSorted()).toEqual([0, 1, 2, 3])
      })
    )

    it.effect(`${toolExecution}: at every event`, () =>
      Effect.gen(function* () {
        const whole = yield* play([turns[0]!, [say("end")]], { ...options, toolExecution })
        for (let index = 0; index < whole.events.length; index++) {
          const trace = yield* expectWhole({ abortOn: index, arrays: 1 }, { toolExecution })
          expect(trace.events.length).toBeGreaterThan(index)
        }
      })
    )
  }
})

describe("a sequential batch (A2)", () => {
  it.effect("an abort in the first call: it is aborted, and so are those that had not started", () =>
    Effect.gen(function* () {
      const started: Array<string> = []
      const named = (name: string) =>
        tool(name, () =>
          Effect.andThen(
            Effect.sync(() => void started.push(name)),
            Effect.delay(Effect.succeed(name), 10)
          )
        )
      const trace = yield* play(
        [[call("1"), call("2"), call("3")], [say("never")]],
        { tools: ["1", "2", "3"].map(named), toolExecution: "sequential" },
        { abortAt: 15 }
      )
      expect(trace.resultTexts).toEqual(["1", "Operation aborted", "Operation aborted"])
      expect(started).toEqual(["1", "2"])
      expect(trace.outline.slice(4)).toEqual(
        ["start 1", "end 1", "result 1", "start 2", "error 2", "result 2"].concat([
          "start 3",
          "error 3",
          "result 3",
          "turn)",
          "run) aborted"
        ])
      )
    })
  )

  it.effect("a call that had not started is aborted, also one that would have been refused", () =>
    Effect.gen(function* () {
      const trace = yield* play(
        [[call("a"), call("nobody"), rawCall("a", "{", "cut")], [say("never")]],
        { tools: [slow("a", 100)], toolExecution: "sequential" },
        { abortAt: 50 }
      )
      expect(trace.resultTexts).toEqual(["Operation aborted", "Operation aborted", "Operation aborted"])
    })
  )
})
