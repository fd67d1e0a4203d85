// SPEC 7: listeners are called in order and awaited; one that dies is reported and changes nothing.
import { describe, expect, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Logger from "effect/Logger"
import * as Scope from "effect/Scope"
import type { Listener } from "../../src/Agent.ts"
import type { AgentEvent } from "../../src/AgentEvent.ts"
import { call, pause, say, tool, untyped } from "../support/make.ts"
import { isDone, make, pass, resultOf, start, tokens } from "./harness.ts"

/** Collects what is logged at the level of errors. */
const withLog = () => {
  const log: Array<string> = []
  const logger = Logger.make(({ logLevel, message, cause }) => {
    log.push(`${logLevel} ${String(message)} ${cause.reasons.map((reason) => reason._tag).join()}`)
  })
  return { log, layer: Logger.layer([logger]) }
}

describe("listeners", () => {
  it.effect("are called in the order in which they subscribed, each awaited before the next", () =>
    Effect.gen(function* () {
      const { agent } = yield* make([[say("a")]])
      const seen: Array<string> = []
      const noting = (name: string, ms: number) => (event: AgentEvent) =>
        Effect.gen(function* () {
          seen.push(`${name} in ${event.type}`)
          if (ms > 0) yield* Effect.sleep(ms)
          seen.push(`${name} out`)
        })
      yield* agent.subscribe(noting("slow", 10))
      yield* agent.subscribe(noting("fast", 0))
      const prompt = yield* start(agent.prompt("go"))
      yield* pass(10)
      expect(seen.slice(0, 5)).toEqual([
        "slow in agent_start",
        "slow out",
        "fast in agent_start",
        "fast out",
        "slow in turn_start"
      ])
      yield* pass(1000)
      yield* resultOf(prompt)
      expect(seen.filter((word) => word === "slow out")).toHaveLength(11)
    })
  )

  it.effect("hold the run: what comes after an event does not begin before they are done", () =>
    Effect.gen(function* () {
      const began: Array<string> = []
      const { agent, requests } = yield* make([[call("a")], [say("b")]], {
        tools: [tool("a", () => Effect.sync(() => `${began.push("a")}`))]
      })
      const gate = yield* Deferred.make<void>()
      yield* agent.subscribe((event) =>
        event.type === "message_end" && event.message.role !== "toolResult" ? Deferred.await(gate) : undefined
      )
      const prompt = yield* start(agent.prompt("go"))
      yield* pass(1000)
      expect([requests.length, began, isDone(prompt)]).toEqual([0, [], false])
      yield* Deferred.succeed(gate, undefined)
      yield* pass(0)
      expect([requests.length, began, isDone(prompt)]).toEqual([2, ["a"], true])
    })
  )

  it.effect("of agent_end are part of the run: it is idle only after them", () =>
    Effect.gen(function* () {
      const { agent } = yield* make([[say("a")]])
      const order: Array<string> = []
      yield* agent.subscribe((event) =>
        event.type === "agent_end"
          ? Effect.delay(
              Effect.sync(() => void order.push("listener")),
              10
            )
          : undefined
      )
      const prompt = yield* start(Effect.tap(agent.prompt("go"), () => Effect.sync(() => order.push("prompt"))))
      const idle = yield* start(
        Effect.andThen(
          agent.waitForIdle,
          Effect.sync(() => order.push("idle"))
        )
      )
      yield* pass(9)
      expect([(yield* agent.state).isStreaming, isDone(prompt), isDone(idle)]).toEqual([true, false, false])
      yield* pass(1)
      expect([(yield* agent.state).isStreaming, isDone(prompt), isDone(idle)]).toEqual([false, true, true])
      expect(order[0]).toBe("listener")
    })
  )

  it.effect("may give nothing back, and see every event of every run in order", () =>
    Effect.gen(function* () {
      const { agent, events } = yield* make([[say("a", 1)], [pause(5), say("b")]])
      const seen: Array<AgentEvent> = []
      yield* agent.subscribe((event) => {
        seen.push(event)
      })
      yield* agent.prompt("go")
      const second = yield* start(agent.prompt("go"))
      yield* pass(5)
      yield* resultOf(second)
      expect(seen).toEqual(events)
      expect(tokens(seen).filter((word) => word === "run(")).toHaveLength(2)
    })
  )

  it.effect("find the state as it is after their event", () =>
    Effect.gen(function* () {
      const { agent } = yield* make([[say("a")]])
      const seen: Array<string> = []
      yield* agent.subscribe((event) =>
        Effect.map(agent.state, ({ messages, streamingMessage, isStreaming }) => {
          seen.push(`${event.type} ${messages.length} ${streamingMessage?.role ?? "-"} ${isStreaming}`)
        })
      )
      yield* agent.prompt("go")
      expect(seen).toEqual([
        "agent_start 0 - true",
        "turn_start 0 - true",
        "message_start 0 user true",
        "message_end 1 - true",
        "message_start 1 assistant true",
        "message_update 1 assistant true",
        "message_update 1 assistant true",
        "message_update 1 assistant true",
        "message_end 2 - true",
        "turn_end 2 - true",
        "agent_end 2 - true"
      ])
    })
  )
})

describe("a listener that dies", () => {
  const dying: Record<string, Listener> = {
    "by a defect": () => Effect.die(new Error("broken")),
    "by throwing": () => {
      throw new Error("broken")
    },
    "by interrupting itself": () => Effect.interrupt,
    "after a while": () => Effect.andThen(Effect.sleep(1), Effect.die("broken")),
    "by a failure that its type does not allow": () => untyped<Effect.Effect<void>>(Effect.fail("broken"))
  }
  for (const [how, listener] of Object.entries(dying)) {
    it.effect(`${how} is reported to the log and changes nothing in the run`, () =>
      Effect.gen(function* () {
        const { log, layer } = withLog()
        const { agent, events } = yield* Effect.provide(make([[say("a")], [say("b")]]), layer)
        const after: Array<AgentEvent> = []
        yield* agent.subscribe((event) => (event.type === "turn_start" ? listener(event) : undefined))
        yield* agent.subscribe((event) => {
          after.push(event)
        })
        const prompt = yield* start(Effect.provide(agent.prompt("go"), layer))
        yield* pass(10)
        expect(yield* resultOf(prompt)).toMatchObject({ reason: "completed", text: "a" })
        expect(after).toEqual(events)
        expect(log).toEqual([
          `Error A listener of an agent died ${how.includes("interrupting") ? "Interrupt" : how.includes("failure") ? "Fail" : "Die"}`
        ])
        const again = yield* start(Effect.provide(agent.prompt("go"), layer))
        yield* pass(10)
        expect(yield* resultOf(again)).toMatchObject({ reason: "completed", text: "b" })
        expect(log).toHaveLength(2)
      })
    )
  }
})

describe("subscribing", () => {
  const counting = (counts: Record<string, number>, name: string) => () => {
    counts[name] = (counts[name] ?? 0) + 1
  }

  it.effect("lasts until its scope is closed", () =>
    Effect.gen(function* () {
      const { agent } = yield* make([[say("a")], [say("b")]])
      const counts: Record<string, number> = {}
      yield* Effect.scoped(Effect.andThen(agent.subscribe(counting(counts, "x")), agent.prompt("go")))
      expect(counts).toEqual({ x: 11 })
      yield* agent.prompt("go")
      expect(counts).toEqual({ x: 11 })
    })
  )

  it.effect("the same function twice calls it twice, and ends one by one", () =>
    Effect.gen(function* () {
      const { agent } = yield* make([[say("a")], [say("b")]])
      const counts: Record<string, number> = {}
      const listener = counting(counts, "x")
      yield* agent.subscribe(listener)
      yield* Effect.scoped(Effect.andThen(agent.subscribe(listener), agent.prompt("go")))
      expect(counts).toEqual({ x: 22 })
      yield* agent.prompt("go")
      expect(counts).toEqual({ x: 33 })
    })
  )

  it.effect("during a delivery begins with the next event", () =>
    Effect.gen(function* () {
      const { agent } = yield* make([[say("a")]])
      const scope = yield* Effect.scope
      const late: Array<string> = []
      yield* agent.subscribe((event) =>
        event.type === "turn_start"
          ? Scope.provide(
              agent.subscribe(({ type }) => void late.push(type)),
              scope
            )
          : undefined
      )
      yield* agent.prompt("go")
      expect(late.slice(0, 2)).toEqual(["message_start", "message_end"])
      expect(late).toHaveLength(9)
    })
  )

  for (const isAwaited of [false, true]) {
    it.effect(
      `ends during a delivery at once, ${isAwaited ? "also while that is awaited, " : ""}and no other listener is left out`,
      () =>
        Effect.gen(function* () {
          const { agent } = yield* make([[say("a")]])
          const counts: Record<string, number> = {}
          const scope = yield* Scope.make()
          const close = Effect.andThen(isAwaited ? Effect.sleep(5) : Effect.void, Scope.close(scope, Exit.void))
          yield* agent.subscribe(counting(counts, "first"))
          yield* agent.subscribe((event) => (event.type === "turn_start" ? close : undefined))
          yield* Scope.provide(agent.subscribe(counting(counts, "gone")), scope)
          yield* agent.subscribe(counting(counts, "last"))
          const prompt = yield* start(agent.prompt("go"))
          yield* pass(5)
          yield* resultOf(prompt)
          expect(counts).toEqual({ first: 11, gone: 1, last: 11 })
        })
    )
  }

  it.effect("ends in the listener itself", () =>
    Effect.gen(function* () {
      const { agent } = yield* make([[say("a")]])
      const counts: Record<string, number> = {}
      const scope = yield* Scope.make()
      yield* Scope.provide(
        agent.subscribe(() => Effect.andThen(Effect.sync(counting(counts, "once")), Scope.close(scope, Exit.void))),
        scope
      )
      yield* agent.subscribe(counting(counts, "other"))
      yield* agent.prompt("go")
      expect(counts).toEqual({ once: 1, other: 11 })
    })
  )
})
