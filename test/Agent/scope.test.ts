// Closing the scope of an agent, in whatever state it is, settles its run, its tools, its queues and every receipt within the
// grace period; and whoever holds a closed agent is not left waiting.
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Agent from "../../src/Agent.ts"
import * as Scripted from "../../src/providers/Scripted.ts"
import { Toolset } from "../../src/services/Toolset.ts"
import { call, model, pause, say, slow, tool, user } from "../support/make.ts"
import { type Harness, isDone, make, outline, pass, resultOf, start, transcriptOf } from "./harness.ts"

const close = ({ scope }: Harness) => Scope.close(scope, Exit.void)

describe("closing an agent", () => {
  it.effect("aborts its run, waits for the end of it, and runs the finalizers of its tools", () =>
    Effect.gen(function* () {
      const held = tool("a", () => Effect.onInterrupt(Effect.never, () => Effect.sleep(20)))
      const harness = yield* make([[call("a")], [say("never")]], { tools: [held] })
      const prompt = yield* start(harness.agent.prompt("go"))
      const closing = yield* start(close(harness))
      yield* pass(19)
      expect([isDone(closing), isDone(prompt)]).toEqual([false, false])
      yield* pass(1)
      yield* resultOf(closing)
      expect(yield* resultOf(prompt)).toMatchObject({ reason: "aborted" })
      expect(yield* harness.agent.state).toMatchObject({ isStreaming: false, pendingToolCalls: [] })
      expect(outline(harness.events).slice(-4)).toEqual(["error a", "result a", "turn)", "run) aborted"])
    })
  )

  it.effect("takes no longer than the grace period, whatever does not react", () =>
    Effect.gen(function* () {
      const deaf = tool("a", () => Effect.uninterruptible(Effect.never))
      const harness = yield* make([[call("a")]], { tools: [deaf], gracePeriod: 300 })
      const prompt = yield* start(harness.agent.prompt("go"))
      const closing = yield* start(close(harness))
      yield* pass(299)
      expect(isDone(closing)).toBe(false)
      yield* pass(1)
      expect([isDone(closing), isDone(prompt)]).toEqual([true, true])
    })
  )

  it.effect("while a listener never comes back does not hang", () =>
    Effect.gen(function* () {
      const harness = yield* make([[say("a")]], { gracePeriod: 300, isCut: true })
      const receipt = yield* harness.agent.followUp(user("f"))
      yield* harness.agent.subscribe((event) => (event.type === "turn_start" ? Effect.never : undefined))
      const prompt = yield* start(harness.agent.prompt("go"))
      const closing = yield* start(close(harness))
      yield* pass(10_000)
      expect([isDone(closing), isDone(prompt)]).toEqual([true, true])
      expect(yield* Effect.flip(receipt.delivered)).toMatchObject({ reason: "closed" })
    })
  )

  it.effect("while nobody reads its stream does not hang", () =>
    Effect.gen(function* () {
      const harness = yield* make([[say("x".repeat(200), 1)]], { gracePeriod: 300, arrays: 1 })
      yield* start(Stream.runForEach(harness.agent.stream("go"), () => Effect.never))
      const closing = yield* start(close(harness))
      yield* pass(300)
      expect(isDone(closing)).toBe(true)
      expect(outline(harness.events).at(-1)).toBe("run) aborted")
    })
  )

  for (const late of [false, true]) {
    it.effect(`from a listener of ${late ? "a later" : "the first"} event does not hang`, () =>
      Effect.gen(function* () {
        const harness = yield* make([[pause(5), say("a")]])
        yield* harness.agent.subscribe((event) =>
          event.type === (late ? "message_update" : "agent_start") ? close(harness) : undefined
        )
        const prompt = yield* start(harness.agent.prompt("go"))
        yield* pass(10_000)
        const { reason, messages } = yield* resultOf(prompt)
        const state = yield* harness.agent.state
        expect([reason, state.isStreaming]).toEqual(["aborted", false])
        expect(messages).toEqual(state.messages)
        expect(messages.length).toBeGreaterThan(0)
      })
    )
  }

  for (const ms of [0, 5]) {
    it.effect(`from a tool after ${ms} ms, which waits for it, does not hang`, () =>
      Effect.gen(function* () {
        let end = Effect.void
        const closing = tool("a", () =>
          Effect.as(
            Effect.suspend(() => end),
            ""
          )
        )
        const harness = yield* make([[pause(ms), call("a")], [say("never")]], { tools: [closing] })
        end = close(harness)
        const prompt = yield* start(harness.agent.prompt("go"))
        yield* pass(10_000)
        expect(yield* resultOf(prompt)).toMatchObject({ reason: "aborted" })
        expect(harness.requests).toHaveLength(1)
      })
    )
  }
})

describe("a closed agent", () => {
  it.effect("asks no model any more: prompts, streams and continue end at once", () =>
    Effect.gen(function* () {
      const harness = yield* make([[say("never")]], { messages: [user("x")] })
      const { agent, requests } = harness
      yield* close(harness)
      const prompt = yield* resultOf(yield* start(agent.prompt("go")))
      const again = yield* resultOf(yield* start(agent.continue))
      const streamed = yield* resultOf(yield* start(Stream.runCollect(agent.stream("go"))))
      expect([prompt.reason, again.reason, streamed.length, requests.length]).toEqual(["aborted", "aborted", 0, 0])
      yield* resultOf(yield* start(agent.waitForIdle))
      yield* agent.abort
      yield* agent.reset
      expect(yield* agent.state).toMatchObject({ isStreaming: false, messages: [] })
    })
  )

  it.effect("keeps what was said, also for who watched", () =>
    Effect.gen(function* () {
      const harness = yield* make([[say("a")]])
      yield* harness.agent.prompt("go")
      yield* close(harness)
      expect(yield* transcriptOf(harness)).toEqual(["user go", "assistant a"])
    })
  )
})

describe("the layer", () => {
  const agentLayer = Agent.layer({ model }).pipe(
    Layer.provide(Toolset.layer(slow("a", 100))),
    Layer.provideMerge(Scripted.layer({ turns: [[call("a")], [say("b")]] }))
  )

  it.effect("makes an agent whose tools and provider were met where the layer was built", () =>
    Effect.gen(function* () {
      const { prompt } = yield* Agent.Agent
      const fiber = yield* start(prompt("go"))
      yield* pass(100)
      expect(yield* resultOf(fiber)).toMatchObject({ text: "b" })
    }).pipe(Effect.provide(Layer.fresh(agentLayer)))
  )

  it.effect("makes a new agent each time that it is built", () =>
    Effect.gen(function* () {
      const build = Layer.build(Layer.fresh(agentLayer))
      const one = yield* build
      const other = yield* build
      expect(yield* Effect.provide(Agent.Agent, one)).not.toBe(yield* Effect.provide(Agent.Agent, other))
    })
  )

  it.effect("ends the run of its agent when its scope is closed", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(Layer.fresh(agentLayer), scope)
      const agent = yield* Effect.provide(Agent.Agent, context)
      const { streams } = yield* Effect.provide(Scripted.Scripted, context)
      const prompt = yield* start(agent.prompt("go"))
      expect((yield* agent.state).pendingToolCalls).toEqual(["a"])
      yield* resultOf(yield* start(Scope.close(scope, Exit.void)))
      expect(yield* resultOf(prompt)).toMatchObject({ reason: "aborted" })
      expect(streams).toEqual({ opened: 1, closed: 1 })
    })
  )
})
