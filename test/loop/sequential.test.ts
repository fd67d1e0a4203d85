// SPEC 6: a sequential batch, and what makes one.
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Hooks from "../../src/services/Hooks.ts"
import { call, say, slow, tool } from "../support/make.ts"
import { play } from "../support/play.ts"

const ok = [say("ok")]
const inTurn = ["start a", "end a", "result a", "start b", "end b", "result b", "turn)", "turn("]
const sideBySide = ["start a", "start b", "end b", "end a", "result a", "result b", "turn)", "turn("]
const ab = [[call("a"), call("b")], ok]

describe("what makes a batch sequential", () => {
  it.effect("the mode of the run", () =>
    Effect.gen(function* () {
      const trace = yield* play(ab, { tools: [slow("a", 20), slow("b", 10)], toolExecution: "sequential" })
      expect(trace.outline.slice(4, 12)).toEqual(inTurn)
      expect(trace.endedAt).toBe(30)
    })
  )

  it.effect("one called tool that is declared so", () =>
    Effect.gen(function* () {
      const sequential = tool("b", () => Effect.succeed("b done"), { sequential: true })
      const trace = yield* play(ab, { tools: [slow("a", 20), sequential], toolExecution: "parallel" })
      expect(trace.outline.slice(4, 12)).toEqual(inTurn)
    })
  )

  it.effect("a declared one that is not called does not", () =>
    Effect.gen(function* () {
      const other = tool("c", undefined, { sequential: true })
      const trace = yield* play(ab, { tools: [slow("a", 20), slow("b", 10), other] })
      expect(trace.outline.slice(4, 12)).toEqual(sideBySide)
    })
  )

  it.effect("neither does one declared not to be", () =>
    Effect.gen(function* () {
      const trace = yield* play(ab, { tools: [slow("a", 20), tool("b", undefined, { sequential: false })] })
      expect(trace.outline.slice(4, 12)).toEqual(sideBySide)
    })
  )

  it.effect("a declared one counts even if its call is refused", () =>
    Effect.gen(function* () {
      const blocked = tool("b", undefined, { sequential: true })
      const trace = yield* play([[call("a"), call("b"), call("c")], ok], {
        tools: [slow("a", 20), blocked, tool("c")],
        hooks: {
          beforeToolCall: ({ toolCall }) => Effect.succeed(toolCall.name === "b" ? Hooks.block("no") : Hooks.allow)
        }
      })
      expect(trace.outline.slice(4, 13)).toEqual([
        "start a",
        "end a",
        "result a",
        "start b",
        "error b",
        "result b",
        "start c",
        "end c",
        "result c"
      ])
    })
  )

  it.effect("each batch is judged for itself", () =>
    Effect.gen(function* () {
      const trace = yield* play([[call("s")], [call("a"), call("b")], ok], {
        tools: [tool("s", undefined, { sequential: true }), slow("a", 20), slow("b", 10)]
      })
      expect(trace.outline.slice(10, 18)).toEqual(sideBySide.slice(0, 8))
    })
  )
})

describe("a sequential batch", () => {
  it.effect("does everything for one call before the next is prepared", () =>
    Effect.gen(function* () {
      const steps: Array<string> = []
      const note = (step: string) => Effect.sync(() => void steps.push(step))
      const noting = (name: string) =>
        tool(name, () => Effect.as(Effect.delay(note(`execute ${name}`), 5), name), {
          prepareArguments: (args) => (steps.push(`prepare ${name}`), args)
        })
      yield* play(
        ab,
        {
          tools: [noting("a"), noting("b")],
          toolExecution: "sequential",
          hooks: {
            beforeToolCall: ({ toolCall }) => Effect.as(note(`before ${toolCall.name}`), Hooks.allow),
            afterToolCall: ({ toolCall }) => note(`after ${toolCall.name}`)
          }
        },
        {
          onEvents: (events) =>
            Effect.sync(() => {
              for (const event of events) {
                if (event.type === "message_end" && event.message.role === "toolResult") {
                  steps.push(`result ${event.message.toolCallId}`)
                }
              }
            })
        }
      )
      const call = (name: string) =>
        ["prepare", "before", "execute", "after", "result"].map((step) => `${step} ${name}`)
      expect(steps).toEqual([...call("a"), ...call("b")])
    })
  )

  it.effect("shows a later call the context without the results of the earlier ones", () =>
    Effect.gen(function* () {
      const roles: Array<string> = []
      yield* play(ab, {
        tools: [tool("a"), tool("b")],
        toolExecution: "sequential",
        hooks: {
          beforeToolCall: ({ context }) =>
            Effect.sync(() => {
              roles.push(context.messages.map(({ role }) => role).join(" "))
              return Hooks.allow
            })
        }
      })
      expect(roles).toEqual(["user assistant", "user assistant"])
    })
  )

  it.effect("goes on after a failed call, and terminates only if all ask for it", () =>
    Effect.gen(function* () {
      const end = tool("end", () => Effect.succeed({ terminate: true }))
      const both = yield* play([[call("end"), call("end", {}, "end2")]], { tools: [end], toolExecution: "sequential" })
      expect(both.reason).toBe("terminated")
      const one = yield* play([[call("bad"), call("end")], ok], {
        tools: [end, tool("bad", () => Effect.die("no"))],
        toolExecution: "sequential"
      })
      expect(one.reason).toBe("completed")
      expect(one.results.map(({ isError }) => isError)).toEqual([true, false])
    })
  )

  it.effect("ignores the greatest number at a time", () =>
    Effect.gen(function* () {
      const trace = yield* play(ab, {
        tools: [slow("a", 20), slow("b", 10)],
        toolExecution: "sequential",
        concurrency: 9
      })
      expect(trace.endedAt).toBe(30)
    })
  )
})
