// SPEC 7 and A9: a stream owns its run. Leaving it aborts the run and waits for its end, reading it slowly slows the run.
import { describe, expect, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { AgentEvent } from "../../src/AgentEvent.ts"
import type { Message } from "../../src/Message.ts"
import { call, pause, say, slow, tool, user } from "../support/make.ts"
import { isDone, make, outline, pass, resultOf, start, transcriptOf } from "./harness.ts"

const isType = (type: AgentEvent["type"]) => (event: AgentEvent) => event.type === type

describe("a stream", () => {
  it.effect("gives the events of its run, and ends with it", () =>
    Effect.gen(function* () {
      const { agent, events } = yield* make([[say("a"), call("a")], [say("b")]], { tools: [tool("a")] })
      const streamed = yield* Stream.runCollect(agent.stream("go"))
      expect(streamed).toEqual(events)
      expect(outline(streamed).at(-1)).toBe("run) completed")
      expect((yield* agent.state).isStreaming).toBe(false)
    })
  )

  it.effect("gives no events of runs before and after it", () =>
    Effect.gen(function* () {
      const { agent, runs } = yield* make([[say("a")], [say("b")], [say("c")]])
      yield* agent.prompt("before")
      const streamed = yield* Stream.runCollect(agent.stream("go"))
      yield* agent.prompt("after")
      expect([streamed.length, streamed.filter(isType("agent_start")).length]).toEqual([runs[1]?.length ?? 11, 1])
    })
  )

  it.effect("starts a run when it is run, each time", () =>
    Effect.gen(function* () {
      const harness = yield* make([[say("a")], [say("b")]])
      const stream = harness.agent.stream("go")
      expect(harness.events).toHaveLength(0)
      yield* Stream.runDrain(stream)
      yield* Stream.runDrain(stream)
      expect(yield* transcriptOf(harness)).toEqual(["user go", "assistant a", "user go", "assistant b"])
    })
  )

  it.effect("takes hooks and limits as a prompt does", () =>
    Effect.gen(function* () {
      class Suffix extends Context.Service<Suffix, string>()("test/Suffix") {}
      const hooks = {
        transformContext: (messages: ReadonlyArray<Message>) =>
          Effect.map(Suffix, (suffix) => [...messages, user(suffix)])
      }
      const { agent, requests } = yield* make([[call("a")], [say("b")]], { tools: [tool("a")] })
      const events = yield* Stream.runCollect(agent.stream("go", { hooks, maxTurns: 1 })).pipe(
        Effect.provideService(Suffix, "now")
      )
      expect(requests.map(({ messages }) => messages.at(-1)?.content)).toEqual(["now"])
      expect(outline(events).at(-1)).toBe("run) limit")
    })
  )

  it.effect("is refused while another run goes on, which it leaves alone", () =>
    Effect.gen(function* () {
      const { agent } = yield* make([[pause(10), say("a")]])
      const running = yield* start(agent.prompt("go"))
      const refused = yield* start(Effect.flip(Stream.runDrain(agent.stream("no"))))
      yield* pass(10)
      expect(yield* resultOf(running)).toMatchObject({ reason: "completed", text: "a" })
      expect(yield* resultOf(refused)).toMatchObject({ _tag: "AgentBusy" })
    })
  )
})

describe("leaving a stream (A9)", () => {
  it.effect("at any event aborts its run, and is done when that is over", () =>
    Effect.gen(function* () {
      for (let count = 1; count < 20; count++) {
        const turns = [[say("ab", 1), call("a")], [{ type: "stall" as const }]]
        const harness = yield* make(turns, { tools: [slow("a", 10)], arrays: 1 })
        const left = yield* start(Stream.runCollect(Stream.take(harness.agent.stream("go"), count)))
        yield* pass(10)
        expect([count, (yield* resultOf(left)).length]).toEqual([count, count])
        expect([count, (yield* harness.agent.state).isStreaming]).toEqual([count, false])
        expect([count, outline(harness.events).at(-1)]).toEqual([count, "run) aborted"])
        expect(harness.streams.opened).toBe(harness.streams.closed)
      }
    })
  )

  it.effect("runs the finalizers of what goes on, and waits for them", () =>
    Effect.gen(function* () {
      const held = tool("a", () => Effect.onInterrupt(Effect.never, () => Effect.sleep(20)))
      const { agent } = yield* make([[call("a")]], { tools: [held] })
      const reader = yield* start(Stream.runDrain(agent.stream("go")))
      const left = yield* start(Fiber.interrupt(reader))
      yield* pass(19)
      expect([isDone(left), (yield* agent.state).isStreaming]).toEqual([false, true])
      yield* pass(1)
      expect([isDone(left), (yield* agent.state).isStreaming]).toEqual([true, false])
    })
  )

  it.effect("by a timeout, or because its reader dies, does the same", () =>
    Effect.gen(function* () {
      const harness = yield* make([[{ type: "stall" }], [{ type: "stall" }], [say("c")]])
      const { agent } = harness
      const timeout = yield* start(Effect.timeoutOption(Stream.runDrain(agent.stream("go")), 10))
      yield* pass(10)
      yield* resultOf(timeout)
      expect((yield* agent.state).isStreaming).toBe(false)
      yield* start(Stream.runForEach(agent.stream("go"), () => Effect.die("broken")))
      expect((yield* agent.state).isStreaming).toBe(false)
      expect(yield* agent.prompt("go")).toMatchObject({ text: "c" })
      expect(harness.streams).toEqual({ opened: 3, closed: 3 })
    })
  )

  it.effect("by a reader that is interrupted by a listener of the first event ends the run all the same", () =>
    Effect.gen(function* () {
      const { agent } = yield* make([[pause(10), say("a")], [say("b")]])
      let reader: Fiber.Fiber<unknown, unknown> | undefined
      yield* agent.subscribe((event) => (event.type === "agent_start" ? void reader?.interruptUnsafe() : undefined))
      reader = yield* Effect.forkDetach(Stream.runDrain(agent.stream("go")))
      yield* pass(10)
      expect(isDone(reader)).toBe(true)
      expect((yield* agent.state).isStreaming).toBe(false)
      reader = undefined
      expect(yield* agent.prompt("next")).toMatchObject({ reason: "completed" })
    })
  )

  it.effect("after its run was over leaves the next run alone, and does not wait for it", () =>
    Effect.gen(function* () {
      const { agent } = yield* make([[say("a")], [pause(10), say("b")]])
      const gate = yield* Deferred.make<void>()
      const reader = yield* start(
        Stream.runForEach(agent.stream("one"), (event) =>
          event.type === "agent_end" ? Deferred.await(gate) : Effect.void
        )
      )
      const next = yield* start(agent.prompt("two"))
      yield* Deferred.succeed(gate, undefined)
      yield* pass(0)
      expect([isDone(reader), isDone(next)]).toEqual([true, false])
      yield* pass(10)
      expect(yield* resultOf(next)).toMatchObject({ reason: "completed", text: "b" })
    })
  )

  it.effect("of an agent that goes on by itself ends with its own run", () =>
    Effect.gen(function* () {
      const harness = yield* make([[say("a")], [pause(10), say("b")]], { continueWhenQueued: true })
      const { agent } = harness
      let isFirst = true
      yield* agent.subscribe((event) => {
        if (event.type !== "agent_end" || !isFirst) return undefined
        isFirst = false
        return Effect.asVoid(agent.followUp(user("f")))
      })
      const streamed = yield* start(Stream.runCollect(agent.stream("go")))
      expect((yield* resultOf(streamed)).filter(isType("agent_start"))).toHaveLength(1)
      yield* pass(10)
      expect(yield* transcriptOf(harness)).toEqual(["user go", "assistant a", "user f", "assistant b"])
    })
  )
})

describe("a slow reader", () => {
  it.effect("slows the run: it is only ever so many events ahead", () =>
    Effect.gen(function* () {
      const { agent, events } = yield* make([[say("x".repeat(200), 1)]], { arrays: 1 })
      let read = 0
      let ahead = 0
      const reader = yield* start(
        Stream.runForEach(agent.stream("go"), () =>
          Effect.suspend(() => {
            read++
            ahead = Math.max(ahead, events.length - read)
            return Effect.sleep(1)
          })
        )
      )
      yield* pass(100)
      expect([read, events.length < 150]).toEqual([101, true])
      yield* pass(200)
      yield* resultOf(reader)
      expect(read).toBe(events.length)
      expect(ahead).toBeLessThan(40)
    })
  )

  it.effect("that stops reading stops the run, and leaving it then ends both", () =>
    Effect.gen(function* () {
      const { agent, events } = yield* make([[say("x".repeat(200), 1)]], { arrays: 1 })
      const reader = yield* start(Stream.runForEach(agent.stream("go"), () => Effect.never))
      yield* pass(1000)
      expect(events.length).toBeLessThan(40)
      yield* resultOf(yield* start(Fiber.interrupt(reader)))
      expect((yield* agent.state).isStreaming).toBe(false)
    })
  )

  it.effect("gets all of a run that was aborted meanwhile", () =>
    Effect.gen(function* () {
      const { agent, events } = yield* make([[say("x".repeat(200), 1)]], { arrays: 1 })
      const reader = yield* start(Stream.runCollect(Stream.tap(agent.stream("go"), () => Effect.sleep(1))))
      yield* pass(10)
      yield* agent.abort
      yield* pass(300)
      const read = yield* resultOf(reader)
      expect(read).toEqual(events)
      expect([outline(read).at(-1), read.length < 60]).toEqual(["run) aborted", true])
    })
  )

  it.effect("that stops reading does not keep an abort from ending the run, and can read the rest later", () =>
    Effect.gen(function* () {
      const { agent, events } = yield* make([[say("x".repeat(50), 1)]], { arrays: 1, gracePeriod: 300 })
      const gate = yield* Deferred.make<void>()
      const read: Array<AgentEvent> = []
      const reader = yield* start(
        Stream.runForEach(agent.stream("go"), (event) => {
          read.push(event)
          return event.type === "message_update" ? Deferred.await(gate) : Effect.void
        })
      )
      yield* agent.abort
      yield* pass(300)
      expect((yield* agent.state).isStreaming).toBe(false)
      yield* Deferred.succeed(gate, undefined)
      yield* pass(0)
      yield* resultOf(reader)
      expect(read).toEqual(events)
    })
  )

  it.effect("that keeps up gets the end of the run also when the agent is closed", () =>
    Effect.gen(function* () {
      const { agent, events, scope } = yield* make([[say("x".repeat(50), 1), { type: "stall" }]], { arrays: 1 })
      const reader = yield* start(Stream.runCollect(agent.stream("go")))
      yield* resultOf(yield* start(Scope.close(scope, Exit.void)))
      expect(yield* resultOf(reader)).toEqual(events)
    })
  )
})
