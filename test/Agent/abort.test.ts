// SPEC 7 and 9.2: abort asks and returns, whoever calls it and wherever the run is; what follows is told, and no more is
// asked. What scenarios say of aborts is in abortScenarios.test.ts.
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type * as Hooks from "../../src/services/Hooks.ts"
import { call, failing, pause, say, slow, tool, user } from "../support/make.ts"
import { isDone, make, type Options, outline, pass, resultOf, start, transcriptOf } from "./harness.ts"

describe("abort", () => {
  it.effect("asks and returns at once; the run tells its end, and waitForIdle waits for it", () =>
    Effect.gen(function* () {
      const held = tool("a", () => Effect.onInterrupt(Effect.never, () => Effect.sleep(20)))
      const { agent, events } = yield* make([[call("a")], [say("never")]], { tools: [held] })
      const prompt = yield* start(agent.prompt("go"))
      yield* agent.abort
      expect([(yield* agent.state).isStreaming, isDone(prompt)]).toEqual([true, false])
      const idle = yield* start(agent.waitForIdle)
      yield* pass(19)
      expect(isDone(idle)).toBe(false)
      yield* pass(1)
      expect(isDone(idle)).toBe(true)
      expect(yield* resultOf(prompt)).toMatchObject({ reason: "aborted" })
      expect(outline(events).slice(-4)).toEqual(["error a", "result a", "turn)", "run) aborted"])
    })
  )

  it.effect("of an idle agent does nothing, neither now nor to the next run", () =>
    Effect.gen(function* () {
      const { agent, events } = yield* make([[say("a")], [say("b")]])
      yield* agent.abort
      expect(events).toHaveLength(0)
      expect(yield* agent.prompt("go")).toMatchObject({ reason: "completed" })
      yield* agent.abort
      expect(yield* agent.prompt("go")).toMatchObject({ reason: "completed" })
    })
  )

  it.effect("ends its own run only", () =>
    Effect.gen(function* () {
      const { agent } = yield* make([[{ type: "stall" }], [pause(5), say("b")]])
      const first = yield* start(agent.prompt("go"))
      yield* agent.abort
      expect(yield* resultOf(first)).toMatchObject({ reason: "aborted" })
      const second = yield* start(agent.prompt("go"))
      yield* pass(5)
      expect(yield* resultOf(second)).toMatchObject({ reason: "completed", text: "b" })
    })
  )

  it.effect("asked for twice, and by many, ends the run once", () =>
    Effect.gen(function* () {
      const { agent, events } = yield* make([[{ type: "stall" }]])
      const prompt = yield* start(agent.prompt("go"))
      yield* Effect.all([agent.abort, agent.abort, agent.abort], { concurrency: 3 })
      yield* resultOf(prompt)
      expect(outline(events).slice(3)).toEqual(["assistant aborted", "turn)", "run) aborted"])
    })
  )

  it.effect("keeps the text that had streamed, and the prompt", () =>
    Effect.gen(function* () {
      const harness = yield* make([[say("partial"), { type: "stall" }]])
      const prompt = yield* start(harness.agent.prompt("go"))
      yield* harness.agent.abort
      expect(yield* resultOf(prompt)).toMatchObject({ text: "partial", errorMessage: "Operation aborted" })
      expect(yield* transcriptOf(harness)).toEqual(["user go", "assistant partial"])
      expect(yield* harness.agent.state).toMatchObject({ errorMessage: "Operation aborted", pendingToolCalls: [] })
    })
  )

  it.effect("in the listeners of agent_end changes nothing", () =>
    Effect.gen(function* () {
      const { agent } = yield* make([[say("a")], [say("b")]])
      yield* agent.subscribe((event) => (event.type === "agent_end" ? agent.abort : undefined))
      expect(yield* agent.prompt("go")).toMatchObject({ reason: "completed", text: "a" })
      expect(yield* agent.prompt("go")).toMatchObject({ reason: "completed", text: "b" })
    })
  )
})

// A run with everything in it: steering, a batch with updates, a follow-up.
const script = [[say("look", 2), call("a"), call("b"), call("c")], [pause(5), say("more")], [say("last")]]

const tools = [
  slow("a", 10),
  tool("b", (_, { update }) => Effect.as(update({ content: [{ type: "text", text: "half" }] }), "b done")),
  slow("c", 5)
]

const makeFull = Effect.fnUntraced(function* (options: Options = {}) {
  const harness = yield* make([...script, [say("again")]], { tools, arrays: 1, ...options })
  yield* harness.agent.steer(user("s"))
  yield* harness.agent.followUp(user("f"))
  return harness
})

/** What holds after an aborted run, whenever that was: nothing is open, every call has its result, a run can follow. */
const expectWhole = Effect.fnUntraced(function* (harness: Effect.Success<ReturnType<typeof makeFull>>) {
  const { agent, requests } = harness
  const state = yield* agent.state
  expect(state).toMatchObject({ isStreaming: false, pendingToolCalls: [] })
  expect(state.streamingMessage).toBeUndefined()
  const words = yield* transcriptOf(harness)
  const batch = words.findIndex((word) => word.includes("toolCall"))
  if (batch >= 0) {
    const ran = harness.runs[0]!.some(({ type }) => type === "tool_execution_start")
    const results = words.slice(batch + 1, batch + 4)
    if (ran) expect(results).toEqual(["result a", "result b", "result c"])
  }
  const made = requests.length
  yield* agent.prompt("next").pipe(
    start,
    Effect.tap(() => pass(100)),
    Effect.flatMap(resultOf)
  )
  expect(requests.length).toBeGreaterThan(made)
})

describe("abort by a listener", () => {
  it.effect("at any event ends the run there, and nothing more is asked of the model", () =>
    Effect.gen(function* () {
      const whole = yield* makeFull()
      const prompt = yield* start(whole.agent.prompt("go"))
      yield* pass(100)
      yield* resultOf(prompt)
      const count = whole.events.length
      expect(count).toBeGreaterThan(40)
      for (let index = 0; index < count; index++) {
        const harness = yield* makeFull()
        let seen = 0
        let requests = 0
        yield* harness.agent.subscribe(() => {
          if (seen++ !== index) return undefined
          requests = harness.requests.length
          return harness.agent.abort
        })
        const aborted = yield* start(harness.agent.prompt("go"))
        yield* pass(100)
        const { reason } = yield* resultOf(aborted)
        expect([index, harness.requests.length]).toEqual([index, requests])
        expect([index, reason]).toEqual([index, index < count - 1 ? "aborted" : "completed"])
        expect(harness.runs[0]!.slice(0, index + 1).map(({ type }) => type)).toEqual(
          whole.events.slice(0, index + 1).map(({ type }) => type)
        )
        yield* expectWhole(harness)
      }
    })
  )
})

describe("abort by another fiber", () => {
  it.effect("at any instant does the same", () =>
    Effect.gen(function* () {
      for (let instant = 0; instant <= 16; instant++) {
        const harness = yield* makeFull()
        const prompt = yield* start(harness.agent.prompt("go"))
        yield* pass(instant)
        yield* harness.agent.abort
        yield* pass(0)
        expect([instant, (yield* resultOf(prompt)).reason]).toEqual([instant, instant < 15 ? "aborted" : "completed"])
        yield* expectWhole(harness)
      }
    })
  )

  it.effect("that watches does the same", () =>
    Effect.gen(function* () {
      const { agent, events } = yield* make([[say("a"), { type: "stall" }]])
      const watched = yield* agent.watch
      yield* start(
        Stream.runForEach(watched.events, (event) => (event.type === "message_update" ? agent.abort : Effect.void))
      )
      const prompt = yield* start(agent.prompt("go"))
      expect(yield* resultOf(prompt)).toMatchObject({ reason: "aborted" })
      expect(outline(events).at(-1)).toBe("run) aborted")
    })
  )
})

describe("abort by what the run waits for", () => {
  const names: ReadonlyArray<keyof Hooks.Hooks> = [
    "transformContext",
    "convertToLlm",
    "beforeToolCall",
    "afterToolCall",
    "prepareNextTurn",
    "shouldStopAfterTurn"
  ]
  const neutral: Record<keyof Hooks.Hooks, unknown> = {
    transformContext: [],
    convertToLlm: [],
    beforeToolCall: { _tag: "Allow" },
    afterToolCall: undefined,
    prepareNextTurn: undefined,
    shouldStopAfterTurn: false
  }

  for (const name of names) {
    for (const goesOn of [true, false]) {
      it.effect(`the hook ${name}, which ${goesOn ? "returns" : "then waits for ever"}`, () =>
        Effect.gen(function* () {
          let abort = Effect.void
          const hook = () =>
            Effect.andThen(
              Effect.suspend(() => abort),
              goesOn ? Effect.succeed(neutral[name]) : Effect.never
            )
          const { agent, requests, events } = yield* make([[call("a")], [say("never")]], {
            tools: [tool("a")],
            hooks: { [name]: hook }
          })
          abort = agent.abort
          const prompt = yield* start(agent.prompt("go"))
          expect(yield* resultOf(prompt)).toMatchObject({ reason: "aborted" })
          expect(requests.length).toBeLessThanOrEqual(1)
          expect(outline(events).at(-1)).toBe("run) aborted")
        })
      )
    }
  }

  for (const goesOn of [true, false]) {
    it.effect(`a tool, which ${goesOn ? "returns" : "then waits for ever"}`, () =>
      Effect.gen(function* () {
        let abort = Effect.void
        const aborting = tool("a", () =>
          Effect.andThen(
            Effect.suspend(() => abort),
            goesOn ? Effect.succeed("done") : Effect.never
          )
        )
        const { agent, requests } = yield* make([[call("a"), call("b")], [say("never")]], {
          tools: [aborting, slow("b", 100)]
        })
        abort = agent.abort
        const prompt = yield* start(agent.prompt("go"))
        const { reason, messages } = yield* resultOf(prompt)
        expect([reason, requests.length]).toEqual(["aborted", 1])
        expect(messages.slice(2)).toMatchObject([{ toolCallId: "a" }, { toolCallId: "b", isError: true }])
      })
    )
  }

  it.effect("a tool, through waitForIdle, does not hang for ever: the wait is interrupted with the tool", () =>
    Effect.gen(function* () {
      let wait = Effect.void
      const { agent } = yield* make([[call("a")]], {
        tools: [
          tool("a", () =>
            Effect.as(
              Effect.suspend(() => wait),
              ""
            )
          )
        ]
      })
      wait = agent.waitForIdle
      const prompt = yield* start(agent.prompt("go"))
      yield* pass(1000)
      expect(isDone(prompt)).toBe(false)
      yield* agent.abort
      yield* pass(0)
      expect(yield* resultOf(prompt)).toMatchObject({ reason: "aborted" })
    })
  )
})

describe("waitForIdle", () => {
  it.effect("of an idle agent returns at once", () =>
    Effect.gen(function* () {
      const { agent } = yield* make([[failing("no")]])
      yield* resultOf(yield* start(agent.waitForIdle))
      yield* agent.prompt("go")
      yield* resultOf(yield* start(agent.waitForIdle))
    })
  )

  it.effect("waits also for a run that begins when another one ends", () =>
    Effect.gen(function* () {
      const { agent } = yield* make([
        [pause(5), say("a")],
        [pause(5), say("b")]
      ])
      yield* start(Effect.andThen(agent.prompt("one"), agent.prompt("two")))
      const idle = yield* start(agent.waitForIdle)
      yield* pass(9)
      expect(isDone(idle)).toBe(false)
      yield* pass(1)
      expect(isDone(idle)).toBe(true)
    })
  )
})
