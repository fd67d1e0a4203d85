// Tools that name a resource: calls of a batch with the same name run one after the other, in source order.
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Hooks from "../../src/services/Hooks.ts"
import * as Tool from "../../src/Tool.ts"
import { call, say, untyped } from "../support/make.ts"
import { type Options, play } from "../support/play.ts"
import { executions } from "../support/tokens.ts"

const parameters = Schema.Struct({ file: Schema.String, ms: Schema.Finite })

/** Writes a file for so long, and notes when it began and ended. */
const writer = (steps: Array<string>, more: Partial<Tool.Options<typeof parameters.Type, never>> = {}) =>
  Tool.make({
    name: "write",
    description: "",
    parameters,
    exclusive: ({ file }) => Effect.succeed(file),
    execute: ({ ms }, { id }) =>
      Effect.gen(function* () {
        steps.push(`+${id}`)
        yield* Effect.sleep(ms)
        steps.push(`-${id}`)
        return id
      }),
    ...more
  })

const write = (id: string, file: string, ms: number) => call("write", { file, ms }, id)

const written = Effect.fnUntraced(function* (
  calls: ReadonlyArray<ReturnType<typeof write>>,
  options: Options = {},
  more: Parameters<typeof writer>[1] = {}
) {
  const steps: Array<string> = []
  const trace = yield* play([calls, [say("ok")]], { tools: [writer(steps, more)], ...options })
  return { trace, steps }
})

describe("exclusive", () => {
  it.effect("the same name: one after the other, in source order; another name at the same time", () =>
    Effect.gen(function* () {
      const { trace, steps } = yield* written([write("1", "x", 30), write("2", "x", 10), write("3", "y", 20)])
      expect(steps).toEqual(["+1", "+3", "-3", "-1", "+2", "-2"])
      expect(executions(trace.events)).toEqual(["start 1", "start 2", "start 3", "end 3", "end 1", "end 2"])
      expect(trace.endedAt).toBe(40)
    })
  )

  it.effect("the order is that of the calls, however long their preparation takes", () =>
    Effect.gen(function* () {
      const { steps } = yield* written([write("1", "x", 1), write("2", "x", 1), write("3", "x", 1)], {
        hooks: {
          beforeToolCall: ({ toolCall }) => Effect.delay(Effect.succeed(Hooks.allow), toolCall.id === "1" ? 100 : 1)
        }
      })
      expect(steps).toEqual(["+1", "-1", "+2", "-2", "+3", "-3"])
    })
  )

  it.effect("the name is asked with the arguments that the hook gave, once, after it", () =>
    Effect.gen(function* () {
      const asked: Array<unknown> = []
      const steps: Array<string> = []
      const { trace } = yield* written(
        [write("1", "x", 5), write("2", "y", 5)],
        { hooks: { beforeToolCall: () => Effect.succeed(Hooks.allowWith({ file: "same", ms: 5 })) } },
        {
          exclusive: (params) => Effect.sync(() => (asked.push(params), params.file)),
          execute: ({ file }, { id }) => Effect.sync(() => (steps.push(id), file))
        }
      )
      expect(asked).toEqual([
        { file: "same", ms: 5 },
        { file: "same", ms: 5 }
      ])
      expect(trace.resultTexts).toEqual(["same", "same"])
      expect(steps).toEqual(["1", "2"])
    })
  )

  it.effect("a call that was refused or blocked does not stand in the way", () =>
    Effect.gen(function* () {
      const { trace, steps } = yield* written([write("1", "x", 5), write("2", "x", 5), write("3", "x", 5)], {
        hooks: {
          beforeToolCall: ({ toolCall }) => Effect.succeed(toolCall.id === "1" ? Hooks.block() : Hooks.allow)
        }
      })
      expect(steps).toEqual(["+2", "-2", "+3", "-3"])
      expect(trace.results.map(({ isError }) => isError)).toEqual([true, false, false])
    })
  )

  it.effect("a call that fails, dies or is interrupted gives the turn to the next", () =>
    Effect.gen(function* () {
      const ends: ReadonlyArray<Effect.Effect<string, Tool.ToolFailure>> = [
        Effect.fail(new Tool.ToolFailure({ message: "no" })),
        Effect.die("bug"),
        Effect.interrupt
      ]
      for (const end of ends) {
        const { trace } = yield* written(
          [write("1", "x", 5), write("2", "x", 5)],
          {},
          { execute: (_, { id }) => (id === "1" ? end : Effect.succeed("second")) }
        )
        expect(trace.results.map(({ isError }) => isError)).toEqual([true, false])
      }
    })
  )

  it.effect("the turn is held until afterToolCall is done", () =>
    Effect.gen(function* () {
      const steps: Array<string> = []
      yield* play([[write("1", "x", 5), write("2", "x", 5)], [say("ok")]], {
        tools: [writer(steps)],
        hooks: {
          afterToolCall: ({ toolCall }) =>
            Effect.delay(
              Effect.sync(() => void steps.push(`after ${toolCall.id}`)),
              50
            )
        }
      })
      expect(steps).toEqual(["+1", "-1", "after 1", "+2", "-2", "after 2"])
    })
  )

  it.effect("goes together with a limit: no deadlock, whatever the order", () =>
    Effect.gen(function* () {
      for (const concurrency of [1, 2]) {
        const { trace } = yield* written(
          [write("1", "x", 5), write("2", "x", 5), write("3", "y", 5), write("4", "x", 5)],
          { concurrency }
        )
        expect(trace.resultTexts).toEqual(["1", "2", "3", "4"])
      }
    })
  )

  it.effect("in a sequential batch it changes nothing", () =>
    Effect.gen(function* () {
      const { steps } = yield* written([write("1", "x", 5), write("2", "x", 5)], { toolExecution: "sequential" })
      expect(steps).toEqual(["+1", "-1", "+2", "-2"])
    })
  )

  it.effect("names of one batch do not hold the next", () =>
    Effect.gen(function* () {
      const steps: Array<string> = []
      const trace = yield* play([[write("1", "x", 5)], [write("2", "x", 5)], [say("ok")]], { tools: [writer(steps)] })
      expect(trace.resultTexts).toEqual(["1", "2"])
    })
  )

  it.effect("one that dies, throws or gives no Effect refuses its call", () =>
    Effect.gen(function* () {
      const broken: ReadonlyArray<[string, unknown]> = [
        ["died", () => Effect.die("died")],
        [
          "thrown",
          () => {
            throw new Error("thrown")
          }
        ],
        ['The tool "write" did not give an Effect.', () => "x"]
      ]
      for (const [text, exclusive] of broken) {
        const { trace, steps } = yield* written([write("1", "x", 5)], {}, { exclusive: untyped(exclusive) })
        expect(trace.resultTexts).toEqual([text])
        expect([trace.results[0]?.isError, steps]).toEqual([true, []])
      }
    })
  )

  it.effect("an abort while calls wait for their turn: they are aborted, and do not begin", () =>
    Effect.gen(function* () {
      const steps: Array<string> = []
      const trace = yield* play(
        [[write("1", "x", 100), write("2", "x", 100), write("3", "y", 10)], [say("never")]],
        { tools: [writer(steps)] },
        { abortAt: 50 }
      )
      expect(trace.resultTexts).toEqual(["Operation aborted", "Operation aborted", "3"])
      expect(steps).toEqual(["+1", "+3", "-3"])
      expect(trace.endedAt).toBe(50)
    })
  )
})
