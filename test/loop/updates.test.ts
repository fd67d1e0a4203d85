// Reports of tools while they run: delivered before the end of their call, ignored after it, and held back with the tool
// that sends them where the consumer is behind.
import { describe, expect, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Tool from "../../src/Tool.ts"
import { call, say, tool } from "../support/make.ts"
import { of, play } from "../support/play.ts"
import { executions } from "../support/tokens.ts"

const ok = [say("ok")]

/** The texts of the updates, in order. */
const updates = (trace: Parameters<typeof of>[0]) =>
  of(trace, "tool_execution_update").map(({ partialResult }) =>
    partialResult.content?.map((block) => "text" in block && block.text).join("")
  )

describe("updates", () => {
  it.effect("carry call, arguments and the result so far; a text is one text block", () =>
    Effect.gen(function* () {
      const result = { content: [], details: { done: 0.5 } }
      const trace = yield* play([[call("a", { n: 1 })], ok], {
        tools: [tool("a", (_, { update }) => Effect.as(Effect.andThen(update("half"), update(result)), "x"))]
      })
      const base = { type: "tool_execution_update", toolCallId: "a", toolName: "a", args: { n: 1 } }
      expect(of(trace, "tool_execution_update")).toEqual([
        { ...base, partialResult: Tool.text("half") },
        { ...base, partialResult: result }
      ])
    })
  )

  it.effect("come when they are sent, and before the end of their call", () =>
    Effect.gen(function* () {
      const ticking = (name: string, ms: number) =>
        tool(name, (_, { update }) =>
          Effect.gen(function* () {
            for (const tick of [1, 2]) {
              yield* Effect.sleep(ms)
              yield* update(`${name}${tick}`)
            }
            return name
          })
        )
      const trace = yield* play([[call("a"), call("b")], ok], { tools: [ticking("a", 30), ticking("b", 20)] })
      expect(executions(trace.events).slice(2)).toEqual([
        "update b",
        "update a",
        "update b",
        "end b",
        "update a",
        "end a"
      ])
      const times = trace.events.flatMap((event, index) =>
        event.type === "tool_execution_update" ? [trace.times[index]] : []
      )
      expect(times).toEqual([20, 30, 40, 60])
    })
  )

  it.effect("many at once all arrive, in order", () =>
    Effect.gen(function* () {
      const trace = yield* play([[call("a")], ok], {
        tools: [
          tool("a", (_, { update }) =>
            Effect.as(
              Effect.forEach(Array.from({ length: 200 }), (_, index) => update(`${index}`), { discard: true }),
              "x"
            )
          )
        ]
      })
      expect(updates(trace)).toEqual(Array.from({ length: 200 }, (_, index) => `${index}`))
    })
  )

  it.effect("of a tool that forks them all arrive before its end too, if they were sent before it settled", () =>
    Effect.gen(function* () {
      const trace = yield* play([[call("a")], ok], {
        tools: [
          tool("a", (_, { update }) =>
            Effect.as(
              Effect.forEach(
                Array.from({ length: 40 }),
                (_, index) => Effect.forkDetach(update(`${index}`), { startImmediately: true }),
                { discard: true }
              ),
              "x"
            )
          )
        ]
      })
      expect(updates(trace)).toHaveLength(40)
      expect(executions(trace.events).at(-1)).toBe("end a")
    })
  )

  it.effect("after the tool has settled are ignored, in the batch and long after it (A7)", () =>
    Effect.gen(function* () {
      const late = tool("late", (_, { update }) =>
        Effect.as(
          Effect.forEach([5, 15, 1000], (ms) => Effect.forkDetach(Effect.delay(update(`after ${ms}`), ms))),
          "settled"
        )
      )
      const trace = yield* play([[call("late"), call("other")], ok], {
        tools: [late, tool("other", () => Effect.delay(Effect.succeed("x"), 50))]
      })
      expect(updates(trace)).toEqual([])
      expect(trace.reason).toBe("completed")
    })
  )

  it.effect("while afterToolCall runs are ignored: the tool has settled", () =>
    Effect.gen(function* () {
      const sent = yield* Deferred.make<void>()
      const trace = yield* play([[call("a")], ok], {
        tools: [
          tool("a", (_, { update }) =>
            Effect.as(
              Effect.forkDetach(Effect.delay(Effect.andThen(update("late"), Deferred.succeed(sent, undefined)), 5)),
              "x"
            )
          )
        ],
        hooks: { afterToolCall: () => Deferred.await(sent) }
      })
      expect(updates(trace)).toEqual([])
    })
  )

  it.effect("sent before an abort are told, also where the consumer was behind", () =>
    Effect.gen(function* () {
      const trace = yield* play(
        [[call("a")], ok],
        {
          tools: [
            tool("a", (_, { update }) =>
              Effect.andThen(
                Effect.forEach([1, 2, 3], (n) => Effect.andThen(update(`${n}`), Effect.sleep(1))),
                Effect.never
              )
            )
          ]
        },
        {
          abortAt: 50,
          onEvents: (events) =>
            events.some(({ type }) => type === "tool_execution_update") ? Effect.sleep(100) : Effect.void
        }
      )
      expect(updates(trace)).toEqual(["1", "2", "3"])
      expect(trace.resultTexts).toEqual(["Operation aborted"])
    })
  )

  it.effect("after an abort are ignored, also those of a tool that goes on", () =>
    Effect.gen(function* () {
      const stubborn = tool("a", (_, { update }) =>
        Effect.uninterruptible(
          Effect.gen(function* () {
            yield* update("before")
            yield* Effect.sleep(100)
            yield* update("after")
            return "x"
          })
        )
      )
      const trace = yield* play([[call("a")], ok], { tools: [stubborn] }, { abortAt: 50 })
      expect(updates(trace)).toEqual(["before"])
      expect(trace.endedAt).toBe(100)
    })
  )
})

describe("a slow consumer", () => {
  it.effect("bounds how far a tool runs ahead with its updates", () =>
    Effect.gen(function* () {
      let sent = 0
      let told = 0
      let ahead = 0
      const chatty = tool("a", (_, { update }) =>
        Effect.as(
          Effect.forEach(
            Array.from({ length: 300 }),
            () =>
              Effect.andThen(
                update("x"),
                Effect.sync(() => {
                  sent++
                  ahead = Math.max(ahead, sent - told)
                })
              ),
            { discard: true }
          ),
          "done"
        )
      )
      const trace = yield* play(
        [[call("a")], ok],
        { tools: [chatty] },
        {
          onEvents: (events) =>
            Effect.andThen(Effect.sleep(100), () =>
              Effect.sync(() => {
                told += events.filter(({ type }) => type === "tool_execution_update").length
              })
            )
        }
      )
      expect(told).toBe(300)
      // What is in the consumer's hands, what waits for it, and the one that is being sent.
      expect(ahead).toBeLessThanOrEqual(40)
      expect(trace.results).toHaveLength(1)
    })
  )

  it.effect("does not hold a tool that sends nothing", () =>
    Effect.gen(function* () {
      let finishedAt = -1
      const trace = yield* play(
        [[call("a")], ok],
        {
          tools: [
            tool("a", () =>
              Effect.clockWith((clock) =>
                Effect.andThen(
                  Effect.sleep(10),
                  Effect.sync(() => {
                    finishedAt = clock.currentTimeMillisUnsafe()
                    return "x"
                  })
                )
              )
            )
          ]
        },
        { onEvents: () => Effect.sleep(100) }
      )
      const started = trace.times[trace.events.findIndex(({ type }) => type === "tool_execution_start")] ?? 0
      expect(finishedAt).toBe(started + 110)
    })
  )
})

it.effect("the hook after a call is asked when the updates of the call have been delivered", () =>
  Effect.gen(function* () {
    const seen: Array<string> = []
    const reporting = tool("a", (_, { update }) => Effect.as(Effect.andThen(update("1"), update("2")), "x"))
    yield* play(
      [[call("a"), call("b")], ok],
      {
        tools: [reporting, tool("b")],
        hooks: {
          afterToolCall: ({ toolCall }) =>
            Effect.sync(() => {
              seen.push(`hook ${toolCall.name}`)
            })
        }
      },
      {
        onEvents: (events) =>
          Effect.sync(() => {
            for (const event of events)
              if (event.type === "tool_execution_update") seen.push(`update ${event.toolName}`)
          })
      }
    )
    expect(seen).toEqual(["hook b", "update a", "update a", "hook a"])
  })
)
