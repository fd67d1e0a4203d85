// A thousand runs and more, aborted in every way, leave nothing behind: no fiber, no listener, no watcher, no open stream.
import { expect, it, vi } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Metric from "effect/Metric"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { AgentBusy } from "../../src/Agent.ts"
import { WatchedState } from "../../src/agent/watchedState.ts"
import { Listeners } from "../../src/agent/listeners.ts"
import type { AgentEvent } from "../../src/AgentEvent.ts"
import type * as Scripted from "../../src/providers/Scripted.ts"
import { call, failing, pause, say, slow, tool, user } from "../support/make.ts"
import { type Harness, make, pass, start } from "./harness.ts"

const RUNS = 1002

const turns: ReadonlyArray<Scripted.Turn> = [
  [say("a"), { type: "stall" }],
  [call("slow"), call("reporting")],
  [say("b"), failing("no")],
  [pause(3), say("c")],
  [{ type: "die", message: "broken" }],
  [call("stuck"), call("slow")]
]

const tools = [
  slow("slow", 4),
  tool("stuck", () => Effect.never),
  tool("reporting", (_, { update }) => Effect.as(Effect.forkDetach(Effect.delay(update({ content: [] }), 10)), "done"))
]

/** Every way in which a run may be begun and left. */
const ways: ReadonlyArray<(harness: Harness) => Effect.Effect<unknown, AgentBusy>> = [
  ({ agent }) => Effect.andThen(start(agent.prompt("go")), agent.abort),
  ({ agent }) => Effect.flatMap(start(agent.prompt("go")), Fiber.interrupt),
  ({ agent }) => Effect.flatMap(start(Stream.runDrain(agent.stream("go"))), Fiber.interrupt),
  ({ agent }) => Stream.runDrain(Stream.take(agent.stream("go"), 3)),
  ({ agent }) =>
    Effect.scoped(
      Effect.gen(function* () {
        yield* agent.subscribe((event) => (event.type === "message_end" ? agent.abort : undefined))
        const { events } = yield* agent.watch
        const watcher = yield* start(Stream.runDrain(events))
        yield* Effect.flatMap(start(agent.prompt("go")), Fiber.await)
        yield* Fiber.interrupt(watcher)
      })
    ),
  ({ agent }) =>
    Effect.gen(function* () {
      const { delivered, withdraw } = yield* agent.followUp(user("f"))
      const waiting = yield* start(delivered)
      yield* start(agent.prompt("go"))
      yield* agent.abort
      yield* withdraw
      yield* Fiber.interrupt(waiting)
      yield* agent.clearQueues
    })
]

/** Counts the fibers that live. */
const countFibers = () => {
  const fibers = { live: 0, most: 0 }
  const service: Metric.FiberRuntimeMetricsService = {
    recordFiberStart: () => {
      fibers.most = Math.max(fibers.most, ++fibers.live)
    },
    recordFiberEnd: () => void fibers.live--
  }
  return { fibers, service }
}

/** Counts the listeners and watchers that agents have. */
const countObservers = () => {
  const observers = { listeners: 0, watchers: 0 }
  const { add } = Listeners.prototype
  vi.spyOn(Listeners.prototype, "add").mockImplementation(function (this: Listeners<AgentEvent>, listener) {
    const remove = add.call(this, listener)
    observers.listeners++
    return () => {
      observers.listeners--
      remove()
    }
  })
  const { watch, unwatch } = WatchedState.prototype
  vi.spyOn(WatchedState.prototype, "watch").mockImplementation(function (this: WatchedState) {
    observers.watchers++
    return watch.call(this)
  })
  vi.spyOn(WatchedState.prototype, "unwatch").mockImplementation(function (this: WatchedState, watcher) {
    observers.watchers--
    unwatch.call(this, watcher)
  })
  return observers
}

const finalizersOf = (scope: Scope.Closeable): number =>
  scope.state._tag === "Open" ? (scope.state.finalizers?.size ?? 1) : 0

it.effect(
  "a thousand runs leave nothing behind",
  () => {
    const { fibers, service } = countFibers()
    const observers = countObservers()
    return Effect.gen(function* () {
      const script = Array.from({ length: 2 * RUNS }, (_, index) => turns[index % turns.length]!)
      const harness = yield* make(script, { tools })
      const counts = () => ({
        fibers: fibers.live,
        ...observers,
        finalizers: finalizersOf(harness.scope)
      })
      const before = counts()
      for (let run = 0; run < RUNS; run++) {
        const way = yield* start(ways[run % ways.length]!(harness))
        yield* pass(run % 7)
        yield* harness.agent.abort
        yield* pass(20)
        expect([run, Exit.isSuccess(yield* Fiber.await(way))]).toEqual([run, true])
        yield* harness.agent.reset
      }
      expect(harness.runs).toHaveLength(RUNS)
      expect(counts()).toEqual(before)
      expect(fibers.most).toBeGreaterThan(before.fibers + 3)
      expect(harness.streams.closed).toBe(harness.streams.opened)
    }).pipe(
      Effect.provideService(Metric.FiberRuntimeMetrics, service),
      Effect.ensuring(Effect.sync(() => vi.restoreAllMocks()))
    )
  },
  60_000
)
