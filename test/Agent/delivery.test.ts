// SPEC 7 and D1: a queued message is delivered exactly once, whatever is aborted, fails or dies, and whenever.
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { AgentEvent } from "../../src/AgentEvent.ts"
import type { Message } from "../../src/Message.ts"
import { make, pass, start } from "./harness.ts"
import { Life, live, type Lived } from "./lives.ts"
import { call, failing, pause, say, slow, user } from "../support/make.ts"

/** In which turn of its run each message ended; of one that ended more than once, all turns. */
const turnsOf = (runs: ReadonlyArray<ReadonlyArray<AgentEvent>>): ReadonlyMap<Message, ReadonlyArray<number>> => {
  const turns = new Map<Message, Array<number>>()
  for (const events of runs) {
    let turn = 0
    for (const event of events) {
      if (event.type === "turn_start") turn++
      if (event.type === "message_end") turns.set(event.message, [...(turns.get(event.message) ?? []), turn])
    }
  }
  return turns
}

/** Holds what the receipts say against what the runs told and what is in the transcript; gives what is still to come. */
const expectOnce = Effect.fnUntraced(function* ({ agent, runs, queued }: Lived) {
  const { messages, isQueued } = yield* agent.state
  const told = turnsOf(runs)
  for (const { message, outcomes } of queued) {
    const turns = told.get(message) ?? []
    expect(messages.filter((other) => other === message)).toHaveLength(turns.length)
    if (turns.length === 0) expect(["", "withdrawn", "cleared"]).toContain(outcomes.join())
    else expect(outcomes).toEqual(turns.map((turn) => `delivered in turn ${turn}`))
    expect(turns.length).toBeLessThanOrEqual(1)
  }
  const pending = queued.filter(({ outcomes }) => outcomes.length === 0)
  expect(isQueued).toBe(pending.length > 0)
  return pending
})

describe("a queued message", () => {
  it.effect.prop(
    "is in the queue or in the transcript when the agent is idle, and its receipt says which",
    [Life],
    ([life]) =>
      Effect.gen(function* () {
        const lived = yield* live(life)
        expect(lived.isOver).toBe(true)
        yield* expectOnce(lived)
        // What is in the queue is what the next runs deliver.
        yield* lived.drain
        expect(yield* expectOnce(lived)).toHaveLength(0)
      }),
    { arbitrary: { runs: 1000 }, timeout: 60_000 }
  )
})

describe("a message that is queued and then aborted at any event", () => {
  for (const kind of ["steer", "followUp"] as const) {
    it.effect(
      `(${kind}) is delivered by that run or by the next`,
      () =>
        Effect.gen(function* () {
          const script = [[say("ab", 1), call("a")], [pause(2), say("c")], [failing("no")], [say("d")], [say("e")]]
          for (let queueAt = 1; queueAt <= 24; queueAt += 1) {
            for (let abortAt = queueAt; abortAt <= 26; abortAt += 1) {
              const { agent, events, runs } = yield* make(script, { tools: [slow("a", 3)], arrays: 1 })
              const message = user("queued")
              let turn = 0
              yield* agent.subscribe(() =>
                Effect.gen(function* () {
                  if (events.length === queueAt) {
                    const { delivered } = yield* agent[kind](message)
                    yield* Effect.forkDetach(
                      Effect.map(Effect.orDie(delivered), (delivery) => void (turn = delivery.turn))
                    )
                  }
                  if (events.length === abortAt) yield* agent.abort
                })
              )
              yield* start(agent.prompt("go"))
              yield* pass(10)
              const state = yield* agent.state
              const count = state.messages.filter((other) => other === message).length
              expect([queueAt, abortAt, count + (state.isQueued ? 1 : 0)]).toEqual([queueAt, abortAt, 1])
              yield* start(Effect.exit(agent.continue))
              yield* pass(10)
              yield* start(Effect.exit(agent.continue))
              yield* pass(10)
              const after = yield* agent.state
              expect([queueAt, abortAt, after.isQueued]).toEqual([queueAt, abortAt, false])
              expect(turnsOf(runs).get(message)).toEqual([turn])
            }
          }
        }),
      60_000
    )
  }
})
