// SPEC 7: the state is a fold over the events. That it is so at every event is held by the harness in all tests of agents, and
// by the simulation in generated worlds; here is a client far away that has nothing but JSON.
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as AgentEvent from "../../src/AgentEvent.ts"
import * as AgentState from "../../src/AgentState.ts"
import * as Simulation from "../../src/testing/Simulation.ts"
import * as Worlds from "../../src/testing/Worlds.ts"
import { assistant, user } from "../support/make.ts"
import { notice, Notice } from "../support/notice.ts"
import { make, stateOf } from "./harness.ts"

const events = AgentEvent.schema(Notice)
const encode = Schema.encodeSync(Schema.fromJsonString(events))
const decode = Schema.decodeSync(Schema.fromJsonString(events))

/** What is absent and what is undefined are the same in JSON. */
const plain = (state: AgentState.AgentState) => JSON.parse(JSON.stringify(stateOf(state))) as unknown

describe("the state of an agent", () => {
  it.effect.prop(
    "is what a client far away folds from a snapshot and the events after it, each through JSON",
    [Worlds.ofAgents(Worlds.arbitrary)],
    ([world]) =>
      Effect.gen(function* () {
        const recording = yield* Simulation.run(world)
        const { later, states } = recording.session!
        let far = AgentState.make(world.messages)
        for (const [index, { event }] of [recording, ...later].flatMap(({ events }) => events).entries()) {
          // A client may also store what it has at any time.
          const stored = JSON.parse(JSON.stringify(far)) as AgentState.AgentState
          far = AgentState.reduce(stored, decode(encode(event)))
          expect(plain(far)).toEqual(plain(states[index]!))
        }
      }),
    { arbitrary: { runs: 200 }, timeout: 60_000 }
  )

  it.effect("does not change once it was given, whatever comes after", () =>
    Effect.gen(function* () {
      const { agent } = yield* make([[{ type: "text", text: "abc", chunk: 1 }], [{ type: "text", text: "d" }]])
      const states: Array<readonly [unknown, string]> = []
      yield* agent.subscribe(() => Effect.map(agent.state, (state) => void states.push([state, JSON.stringify(state)])))
      yield* agent.prompt("one")
      yield* agent.prompt("two")
      expect(states.map(([state]) => JSON.stringify(state))).toEqual(states.map(([, copy]) => copy))
    })
  )
})

describe("reduce", () => {
  const end = (message: ReturnType<typeof user>) => ({ type: "message_end" as const, message })

  it("takes two ways from one state without mixing them", () => {
    const start = AgentState.reduce(AgentState.make([user("a")]), end(user("b")))
    const left = AgentState.reduce(start, end(user("left")))
    const right = AgentState.reduce(start, end(user("right")))
    const further = AgentState.reduce(left, end(user("further")))
    expect(start.messages).toEqual([user("a"), user("b")])
    expect(left.messages).toEqual([user("a"), user("b"), user("left")])
    expect(right.messages).toEqual([user("a"), user("b"), user("right")])
    expect(further.messages).toEqual([user("a"), user("b"), user("left"), user("further")])
  })

  it("does not share the list that it was made from", () => {
    const messages = [user("a")]
    const state = AgentState.make(messages)
    messages.push(user("b"))
    expect(state.messages).toEqual([user("a")])
    expect(AgentState.withMessages(state, [notice("n")]).messages).toEqual([notice("n")])
  })

  it("drops what was in progress at retry, and keeps what is not of the event", () => {
    const begun = AgentState.reduce(AgentState.make([user("a")]), { type: "message_start", message: assistant([]) })
    expect(begun.streamingMessage).toEqual(assistant([]))
    const error = { reason: "overloaded", retryable: true } as const
    const again = AgentState.reduce(begun, { type: "retry", attempt: 1, delayMs: 1, error, errorMessage: "e" })
    expect(stateOf(again)).toEqual(stateOf(AgentState.make([user("a")])))
  })

  it("clears what an earlier run left behind when a run starts", () => {
    const call = { toolCallId: "a", toolName: "a", args: {} }
    const left = [
      { type: "message_start", message: assistant([]) },
      { type: "tool_execution_start", ...call },
      { type: "turn_end", message: assistant([], { errorMessage: "e" }), toolResults: [] }
    ] as const
    const state = left.reduce<AgentState.AgentState>(AgentState.reduce, AgentState.make())
    expect(stateOf(state)).toMatchObject({ errorMessage: "e", pendingToolCalls: ["a"] })
    expect(stateOf(AgentState.reduce(state, { type: "agent_start" }))).toEqual(stateOf(AgentState.make()))
  })

  it("keeps the error of the last turn that had one", () => {
    const failed = AgentState.reduce(AgentState.make(), {
      type: "turn_end",
      message: assistant([], { errorMessage: "e" }),
      toolResults: []
    })
    const fine = AgentState.reduce(failed, { type: "turn_end", message: assistant([]), toolResults: [] })
    expect(fine.errorMessage).toBe("e")
  })

  it("costs as much for a long transcript as for a short one", () => {
    const count = 200_000
    const message = user("x")
    let state = AgentState.make()
    for (let index = 0; index < count; index++) state = AgentState.reduce(state, end(message))
    expect(state.messages).toHaveLength(count)
  })
})
