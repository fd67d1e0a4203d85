// The scenarios A1 to A7, played through the agent (A9 is in stream.test.ts). What counts is the transcript that the next request carries.
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Agent } from "../../src/Agent.ts"
import type { ToolResultMessage } from "../../src/Message.ts"
import { call, nonsense, pause, provider, say, slow, tool } from "../support/make.ts"
import { textOf } from "../support/play.ts"
import { isDone, make, type Options, outline, pass, resultOf, start } from "./harness.ts"

const batch = [call("a"), call("b"), call("c")]

/** Prompts, aborts after so long, waits so long for the end, prompts again, and gives the results that the model then sees. */
const resultsAfterAbort = Effect.fnUntraced(function* (abortAt: number, options: Options, within = 0) {
  const { agent, requests, events } = yield* make([batch, [say("again")], [say("more")]], options)
  const first = yield* start(agent.prompt("go"))
  yield* pass(abortAt)
  yield* agent.abort
  yield* pass(within)
  const { reason } = yield* resultOf(first)
  const second = yield* start(agent.prompt("next"))
  yield* pass(100)
  yield* resultOf(second)
  const results = requests.at(-1)!.messages.filter((message) => message.role === "toolResult")
  return { reason, results, texts: results.map(({ content }) => textOf(content)), requests, events }
})

const idsOf = (results: ReadonlyArray<ToolResultMessage>) => results.map(({ toolCallId }) => toolCallId)

describe("A1: an abort at any instant of a batch of three", () => {
  for (const toolExecution of ["parallel", "sequential"] as const) {
    it.effect(`(${toolExecution}) leaves three results, in order, and what had finished is kept`, () =>
      Effect.gen(function* () {
        const total = toolExecution === "parallel" ? 30 : 60
        const ends = toolExecution === "parallel" ? [30, 10, 20] : [30, 40, 60]
        for (let instant = 0; instant < total; instant++) {
          const tools = [slow("a", 30), slow("b", 10), slow("c", 20)]
          const { reason, results, texts } = yield* resultsAfterAbort(instant, { tools, toolExecution })
          expect([instant, reason]).toEqual([instant, "aborted"])
          expect([instant, idsOf(results)]).toEqual([instant, ["a", "b", "c"]])
          expect([instant, texts]).toEqual([
            instant,
            ["a", "b", "c"].map((name, index) => (ends[index]! <= instant ? `${name} done` : "Operation aborted"))
          ])
        }
      })
    )
  }

  it.effect("also where hooks take their time", () =>
    Effect.gen(function* () {
      for (let instant = 0; instant < 14; instant++) {
        const { results } = yield* resultsAfterAbort(instant, {
          tools: [slow("a", 3), slow("b", 1), slow("c", 2)],
          hooks: {
            beforeToolCall: () => Effect.delay(Effect.succeed({ _tag: "Allow" as const }), 3),
            afterToolCall: () => Effect.sleep(2)
          }
        })
        expect([instant, idsOf(results)]).toEqual([instant, ["a", "b", "c"]])
      }
    })
  )
})

describe("A2: in a sequential batch, an abort inside the first call", () => {
  const texts = (agent: Agent["Service"]) =>
    Effect.map(agent.state, ({ messages }) =>
      messages.flatMap((message) => (message.role === "toolResult" ? [textOf(message.content)] : []))
    )

  it.effect("keeps what its tool had given, and the others are aborted", () =>
    Effect.gen(function* () {
      let abort = Effect.void
      const { agent } = yield* make([batch], {
        tools: [tool("a"), tool("b"), tool("c")],
        toolExecution: "sequential",
        hooks: { afterToolCall: () => Effect.suspend(() => abort) }
      })
      abort = agent.abort
      yield* resultOf(yield* start(agent.prompt("go")))
      expect(yield* texts(agent)).toEqual(["a done", "Operation aborted", "Operation aborted"])
    })
  )

  it.effect("in the tool itself aborts all three, and each has its result", () =>
    Effect.gen(function* () {
      let abort = Effect.void
      const first = tool("a", () =>
        Effect.andThen(
          Effect.suspend(() => abort),
          Effect.never
        )
      )
      const { agent } = yield* make([batch], { tools: [first, tool("b"), tool("c")], toolExecution: "sequential" })
      abort = agent.abort
      yield* resultOf(yield* start(agent.prompt("go")))
      expect(yield* texts(agent)).toEqual(["Operation aborted", "Operation aborted", "Operation aborted"])
    })
  )
})

describe("what does not react to an abort is left behind after the grace period", () => {
  const never = new Promise<string>(() => {})

  it.effect("A3: a promise that never settles and ignores its signal", () =>
    Effect.gen(function* () {
      const deaf = tool("a", () => Effect.promise(() => never))
      const { results } = yield* resultsAfterAbort(10, { tools: [deaf, tool("b"), tool("c")] }, 5000)
      expect(idsOf(results)).toEqual(["a", "b", "c"])
    })
  )

  it.effect("A4: a tool that is uninterruptible for a minute: its result says that it may still be running", () =>
    Effect.gen(function* () {
      const deaf = tool("a", () => Effect.uninterruptible(Effect.as(Effect.sleep(60_000), "late")))
      const { texts } = yield* resultsAfterAbort(10, { tools: [deaf, tool("b"), tool("c")] }, 5000)
      expect(texts[0]).toMatch(/may still be running/)
      expect(texts.slice(1)).toEqual(["b done", "c done"])
    })
  )

  it.effect("after the grace period of the agent, no sooner and no later", () =>
    Effect.gen(function* () {
      const deaf = tool("a", () => Effect.uninterruptible(Effect.never))
      const { agent, events } = yield* make([[call("a")], [say("b")]], { tools: [deaf], gracePeriod: 300 })
      const prompt = yield* start(agent.prompt("go"))
      yield* agent.abort
      yield* pass(299)
      expect([isDone(prompt), (yield* agent.state).isStreaming]).toEqual([false, true])
      yield* pass(1)
      expect(yield* resultOf(prompt)).toMatchObject({ reason: "aborted" })
      expect(outline(events).slice(-4)).toEqual(["error a", "result a", "turn)", "run) aborted"])
      expect(yield* agent.prompt("next")).toMatchObject({ text: "b" })
    })
  )

  it.effect("a stream of the provider that cannot be interrupted", () =>
    Effect.gen(function* () {
      const deaf = provider(() => Stream.fromEffect(Effect.uninterruptible(Effect.never)))
      const { agent } = yield* make(deaf)
      const prompt = yield* start(agent.prompt("go"))
      yield* agent.abort
      yield* pass(5000)
      expect(yield* resultOf(prompt)).toMatchObject({ reason: "aborted" })
    })
  )
})

describe("A5: a provider that stalls, and then an abort", () => {
  it.effect("closes its stream, and keeps the text", () =>
    Effect.gen(function* () {
      const { agent, streams } = yield* make([
        [say("partial"), nonsense({ type: "text_start", contentIndex: 1 }), { type: "stall" }]
      ])
      const prompt = yield* start(agent.prompt("go"))
      yield* agent.abort
      expect(yield* resultOf(prompt)).toMatchObject({ reason: "aborted", text: "partial" })
      expect(streams).toEqual({ opened: 1, closed: 1 })
    })
  )
})

describe("A6: an abort during a tool", () => {
  it.effect("asks the provider no more, and tells one end", () =>
    Effect.gen(function* () {
      const { agent, requests, events } = yield* make([[call("a")], [say("never")]], { tools: [slow("a", 100)] })
      const prompt = yield* start(agent.prompt("go"))
      yield* pass(50)
      yield* agent.abort
      yield* pass(1000)
      yield* resultOf(prompt)
      expect([requests.length, events.filter(({ type }) => type === "agent_end").length]).toEqual([1, 1])
    })
  )
})

describe("A7: a tool that reports after it has settled", () => {
  it.effect("is ignored, also by the next run and after an abort", () =>
    Effect.gen(function* () {
      const late = tool("a", (_, { update }) =>
        Effect.as(Effect.forkDetach(Effect.delay(update({ content: [{ type: "text", text: "late" }] }), 10)), "done")
      )
      const { agent, events } = yield* make([[call("a")], [pause(20), say("b")], [pause(20), say("c")]], {
        tools: [late]
      })
      const prompt = yield* start(agent.prompt("go"))
      yield* pass(5)
      yield* agent.abort
      yield* resultOf(prompt)
      const next = yield* start(agent.prompt("next"))
      yield* pass(20)
      yield* resultOf(next)
      expect(events.filter(({ type }) => type === "tool_execution_update")).toHaveLength(0)
    })
  )
})
