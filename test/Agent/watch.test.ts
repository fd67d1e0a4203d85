// SPEC 7: a watcher does not hold the run. It gets the state and what follows, without a gap, and is told what it missed.
import { describe, expect, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { type Agent, type EventsSkipped, WATCH_BUFFER } from "../../src/Agent.ts"
import type { AgentEvent } from "../../src/AgentEvent.ts"
import * as AgentState from "../../src/AgentState.ts"
import { call, pause, say, tool, user } from "../support/make.ts"
import { isDone, make, outline, pass, resultOf, start, stateOf } from "./harness.ts"

type Watched = Effect.Success<Agent["Service"]["watch"]>

/** Reads what there is to read, as fast as it comes. */
const read = Effect.fnUntraced(function* ({ events }: Watched) {
  const seen: Array<AgentEvent | EventsSkipped> = []
  const reader = yield* start(Stream.runForEach(events, (event) => Effect.sync(() => void seen.push(event))))
  return { seen, reader }
})

/** The state of who has a snapshot and what followed. */
const follow = (from: AgentState.AgentState, seen: ReadonlyArray<AgentEvent | EventsSkipped>) =>
  seen.reduce<AgentState.AgentState>(
    (state, event) => (event.type === "events_skipped" ? event.state : AgentState.reduce(state, event)),
    from
  )

const script = [
  [say("abc", 1), call("a"), call("b")],
  [pause(10), say("last")]
]
const options = { tools: [tool("a"), tool("b")], arrays: 1 }

describe("a watcher", () => {
  it.effect("gets the state and every event after it, from whatever event on", () =>
    Effect.gen(function* () {
      const whole = yield* make(script, options)
      yield* start(whole.agent.prompt("go"))
      yield* pass(10)
      for (let from = 0; from < whole.events.length; from++) {
        const { agent, events } = yield* make(script, options)
        const scope = yield* Effect.scope
        let at = 0
        let watched: Watched | undefined
        yield* agent.subscribe(() =>
          at++ === from
            ? Effect.map(Scope.provide(agent.watch, scope), (it) => {
                watched = it
              })
            : undefined
        )
        yield* start(agent.prompt("go"))
        yield* pass(10)
        const { seen } = yield* read(watched!)
        expect([from, seen]).toEqual([from, events.slice(from + 1)])
        const state = yield* agent.state
        expect(stateOf(follow(watched!.state, seen))).toEqual(stateOf(state))
      }
    })
  )

  it.effect("has at every event the state that the agent had, snapshot and events folded", () =>
    Effect.gen(function* () {
      const { agent } = yield* make(script, options)
      const states: Array<unknown> = []
      yield* agent.subscribe(() => Effect.map(agent.state, (state) => void states.push(stateOf(state))))
      const watched = yield* agent.watch
      const { seen } = yield* read(watched)
      yield* start(agent.prompt("go"))
      yield* pass(10)
      expect(seen.map((_, index) => stateOf(follow(watched.state, seen.slice(0, index + 1))))).toEqual(states)
    })
  )

  it.effect("gets events also of later runs, until its scope is closed: then the stream ends", () =>
    Effect.gen(function* () {
      const { agent, events } = yield* make([[say("a")], [say("b")], [say("c")]])
      const scope = yield* Scope.make()
      const { seen, reader } = yield* read(yield* Scope.provide(agent.watch, scope))
      yield* agent.prompt("one")
      yield* agent.prompt("two")
      expect(isDone(reader)).toBe(false)
      yield* Scope.close(scope, Exit.void)
      yield* pass(0)
      yield* resultOf(reader)
      expect(seen).toEqual(events)
      yield* agent.prompt("three")
      expect(seen).toHaveLength(22)
    })
  )

  it.effect("of an agent that is closed ends, also when it began to watch later", () =>
    Effect.gen(function* () {
      const { agent, scope } = yield* make([[say("a")]])
      const early = yield* read(yield* agent.watch)
      yield* agent.prompt("go")
      yield* Scope.close(scope, Exit.void)
      yield* pass(0)
      yield* resultOf(early.reader)
      expect(early.seen).toHaveLength(11)
      const late = yield* agent.watch
      expect(late.state.messages).toHaveLength(2)
      const { seen, reader } = yield* read(late)
      yield* resultOf(reader)
      expect(seen).toHaveLength(0)
    })
  )

  it.effect("that begins while an agent is being closed is told how its run ends", () =>
    Effect.gen(function* () {
      const { agent, events, scope } = yield* make([[say("a"), pause(10)]])
      const observation = yield* Effect.scope
      let watched: Watched | undefined
      yield* agent.subscribe((event) =>
        event.type === "message_end" && event.message.role === "assistant"
          ? Effect.map(Scope.provide(agent.watch, observation), (it) => {
              watched = it
            })
          : undefined
      )
      yield* start(agent.prompt("go"))
      yield* pass(1)
      yield* Scope.close(scope, Exit.void)
      const { seen, reader } = yield* read(watched!)
      yield* resultOf(reader)
      expect(seen).toEqual(events.slice(-2))
      expect(seen.map(({ type }) => type)).toEqual(["turn_end", "agent_end"])
    })
  )

  it.effect("does not hold the run, and gets what it had not read when it comes back to it", () =>
    Effect.gen(function* () {
      const { agent, events } = yield* make([[say("a")]])
      const watched = yield* agent.watch
      yield* agent.prompt("go")
      const { seen } = yield* read(watched)
      expect(seen).toEqual(events)
    })
  )

  it.effect("is one of many, each with its own place", () =>
    Effect.gen(function* () {
      const { agent, events } = yield* make([[say("a")], [say("b")]])
      const first = yield* read(yield* agent.watch)
      yield* agent.prompt("one")
      const second = yield* read(yield* agent.watch)
      yield* agent.prompt("two")
      expect([first.seen, second.seen]).toEqual([events, events.slice(11)])
    })
  )

  it.effect("is told of a transcript that was replaced: it follows the agent also then", () =>
    Effect.gen(function* () {
      const { agent } = yield* make([[say("a")], [say("b")], [say("c")]])
      const watched = yield* agent.watch
      const { seen } = yield* read(watched)
      yield* agent.prompt("one")
      yield* agent.setMessages([user("other")])
      yield* agent.prompt("two")
      yield* pass(0)
      expect(stateOf(follow(watched.state, seen))).toEqual(stateOf(yield* agent.state))
      yield* agent.reset
      yield* pass(0)
      expect(stateOf(follow(watched.state, seen))).toEqual(stateOf(yield* agent.state))
    })
  )

  it.effect("is told of a transcript that was replaced in place of what it had not read", () =>
    Effect.gen(function* () {
      const { agent, events } = yield* make([[say("a")]])
      const watched = yield* agent.watch
      yield* agent.prompt("one")
      yield* agent.setMessages([user("other")])
      const { seen } = yield* read(watched)
      expect(seen).toMatchObject([
        { type: "events_skipped", count: events.length, state: { messages: [user("other")] } }
      ])
    })
  )
})

describe("a watcher that is too slow", () => {
  /** Reads so many events, then nothing until it is let go on. */
  const readSlowly = Effect.fnUntraced(function* ({ events }: Watched, count = 1) {
    const gate = yield* Deferred.make<void>()
    const seen: Array<AgentEvent | EventsSkipped> = []
    yield* start(
      Stream.runForEachArray(events, (array) =>
        Effect.suspend(() => {
          seen.push(...array)
          return seen.length >= count ? Deferred.await(gate) : Effect.void
        })
      )
    )
    return { seen, goOn: Effect.andThen(Deferred.succeed(gate, undefined), pass(0)) }
  })

  for (const excess of [0, 1, 700, 3 * WATCH_BUFFER]) {
    it.effect(`by ${excess} more than the buffer holds is told of as many, with the state after them`, () =>
      Effect.gen(function* () {
        // Of a run with n deltas the watcher reads agent_start, and 9 other events are no deltas.
        const deltas = 1 + WATCH_BUFFER + excess - 10
        const { agent, events } = yield* make([[say("x".repeat(deltas), 1)]], { isFold: false })
        const states: Array<unknown> = []
        yield* agent.subscribe((event) =>
          Effect.map(agent.state, (state) => void states.push(event.type === "message_update" ? state : stateOf(state)))
        )
        const watched = yield* agent.watch
        const { seen, goOn } = yield* readSlowly(watched)
        yield* agent.prompt("go")
        yield* goOn
        expect(events).toHaveLength(1 + WATCH_BUFFER + excess)
        expect(seen[0]).toBe(events[0])
        expect(seen.slice(excess === 0 ? 1 : 2)).toEqual(events.slice(-WATCH_BUFFER))
        const [, skip] = seen
        if (excess > 0) {
          expect(skip).toMatchObject({ type: "events_skipped", count: excess })
          expect(stateOf((skip as EventsSkipped).state)).toEqual(stateOf(states[excess] as AgentState.AgentState))
        }
        expect(stateOf(follow(watched.state, seen))).toEqual(stateOf(yield* agent.state))
      })
    )
  }

  it.effect("is bounded in memory and in time, however long it does not read", () =>
    Effect.gen(function* () {
      const { agent } = yield* make([[say("x".repeat(5000), 1)]], { isFold: false })
      const watched = yield* agent.watch
      yield* agent.prompt("go")
      const { seen } = yield* read(watched)
      expect(seen).toHaveLength(1 + WATCH_BUFFER)
      expect(seen[0]).toMatchObject({ type: "events_skipped", count: 5010 - WATCH_BUFFER })
    })
  )

  it.effect("is told the right state whichever event it had read last", () =>
    Effect.gen(function* () {
      for (let count = 1; count <= 8; count++) {
        const { agent } = yield* make([[say("x".repeat(2000), 1)]], { isFold: false })
        const watched = yield* agent.watch
        const { seen, goOn } = yield* readSlowly(watched, count)
        yield* agent.prompt("go")
        yield* goOn
        expect([count, seen.findIndex(({ type }) => type === "events_skipped")]).toEqual([count, count])
        expect(stateOf(follow(watched.state, seen))).toEqual(stateOf(yield* agent.state))
        expect(stateOf(follow(watched.state, seen.slice(0, count + 1))).messages).toHaveLength(1)
      }
    })
  )

  it.effect("is told the right state also if it last read in the middle of an event", () =>
    Effect.gen(function* () {
      const { agent } = yield* make([[say("x".repeat(2000), 1)]], { isFold: false })
      const { delivered } = yield* agent.steer(user("s"))
      const { state, events } = yield* agent.watch
      const some = Stream.runCollect(Stream.take(events, 3))
      // Whoever waits for a delivery is woken before watchers are told of it.
      const first = yield* start(Effect.andThen(delivered, some))
      yield* agent.prompt("go")
      const rest = yield* Stream.runCollect(Stream.take(events, 1 + WATCH_BUFFER))
      expect(rest[0]).toMatchObject({ type: "events_skipped" })
      const followed = follow(state, [...(yield* resultOf(first)), ...rest])
      expect(stateOf(followed)).toEqual(stateOf(yield* agent.state))
    })
  )

  it.effect("is told anew each time that it falls behind, and others are told nothing", () =>
    Effect.gen(function* () {
      const turns = [1, 2].map(() => [say("x".repeat(2000), 1)])
      const { agent, events } = yield* make(turns, { isFold: false })
      const watched = yield* agent.watch
      const other = yield* read(yield* agent.watch)
      const mine: Array<AgentEvent | EventsSkipped> = []
      for (const text of ["one", "two"]) {
        yield* agent.prompt(text)
        mine.push(...(yield* Stream.runCollect(Stream.take(watched.events, 1 + WATCH_BUFFER))))
        expect(stateOf(follow(watched.state, mine))).toEqual(stateOf(yield* agent.state))
      }
      expect(mine.filter(({ type }) => type === "events_skipped")).toMatchObject([
        { count: 2010 - WATCH_BUFFER },
        { count: 2010 - WATCH_BUFFER }
      ])
      expect(other.seen.length + other.seen.reduce((sum, event) => sum + skipsOf(event), 0)).toBe(events.length)
      expect(outline(events).at(-1)).toBe("run) completed")
    })
  )
})

/** An event that stands for skipped ones adds so many less itself. */
const skipsOf = (event: AgentEvent | EventsSkipped): number => (event.type === "events_skipped" ? event.count - 1 : 0)
