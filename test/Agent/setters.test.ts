// SPEC 7: setters and `reset`. A run works on what it was started with; what is set meanwhile holds from the next one.
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { Agent } from "../../src/Agent.ts"
import type { ProviderRequest } from "../../src/services/Provider.ts"
import { assistant, call, failing, pause, say, slow, tool, user, tokensIn } from "../support/make.ts"
import { make, outline, pass, resultOf, start, stateOf, transcriptOf } from "./harness.ts"

type Setter = (agent: Agent["Service"]) => Effect.Effect<unknown>

const old = { model: { id: "m1", provider: "acme" }, thinkingLevel: undefined, systemPrompt: "old", tools: ["a"] }

const settings: ReadonlyArray<readonly [string, Setter, Partial<typeof old> | { readonly thinkingLevel: string }]> = [
  ["setModel", (agent) => agent.setModel({ id: "m2", provider: "zeta" }), { model: { id: "m2", provider: "zeta" } }],
  ["setThinkingLevel", (agent) => agent.setThinkingLevel("high"), { thinkingLevel: "high" }],
  ["setSystemPrompt", (agent) => agent.setSystemPrompt("new"), { systemPrompt: "new" }],
  ["setTools", (agent) => agent.setTools([tool("b"), tool("a")]), { tools: ["b", "a"] }]
]

const partsOf = ({ model, thinkingLevel, systemPrompt, tools }: ProviderRequest) => ({
  model,
  thinkingLevel,
  systemPrompt,
  tools: tools?.map(({ name }) => name)
})

describe("what is set", () => {
  for (const [name, set, changed] of settings) {
    it.effect(`by ${name} shows in the state at once, and in requests from the next run`, () =>
      Effect.gen(function* () {
        const { agent, requests } = yield* make([[call("a")], [say("b")], [say("c")]], {
          systemPrompt: "old",
          tools: [tool("a")]
        })
        let isSet = false
        yield* agent.subscribe(() => {
          if (isSet) return undefined
          isSet = true
          return set(agent).pipe(Effect.asVoid)
        })
        yield* agent.prompt("go")
        const { tools, ...state } = yield* agent.state
        expect({ ...state, tools: tools.map((each) => each.name) }).toMatchObject(changed)
        yield* agent.prompt("next")
        expect(requests.map(partsOf)).toEqual([old, old, { ...old, ...changed }])
      })
    )
  }

  it.effect("by setSystemPrompt may be none", () =>
    Effect.gen(function* () {
      const { agent, requests } = yield* make([[say("a")]], { systemPrompt: "old" })
      yield* agent.setSystemPrompt(undefined)
      yield* agent.prompt("go")
      expect(requests[0]?.systemPrompt).toBeUndefined()
    })
  )

  it.effect("by setToolExecution holds from the next run", () =>
    Effect.gen(function* () {
      const twice = (n: string) => [call("a", {}, `a${n}`), call("b", {}, `b${n}`)]
      const harness = yield* make([[...twice("1"), pause(1)], [say("x")], twice("2"), [say("y")]], {
        tools: [slow("a", 10), slow("b", 5)]
      })
      const first = yield* start(harness.agent.prompt("go"))
      yield* harness.agent.setToolExecution("sequential")
      expect((yield* harness.agent.state).toolExecution).toBe("sequential")
      yield* pass(11)
      yield* resultOf(first)
      const second = yield* start(harness.agent.prompt("next"))
      yield* pass(15)
      yield* resultOf(second)
      const ends = harness.runs.map((events) => outline(events).filter((word) => word.startsWith("end")))
      expect(ends).toEqual([
        ["end b1", "end a1"],
        ["end a2", "end b2"]
      ])
    })
  )

  it.effect("by setMessages is the transcript of the next run, and later changes to the list are not", () =>
    Effect.gen(function* () {
      const harness = yield* make([[say("a")], [say("b")]])
      yield* harness.agent.prompt("go")
      const messages = [user("x"), assistant([{ type: "text", text: "y" }])]
      yield* harness.agent.setMessages(messages)
      messages.pop()
      yield* harness.agent.prompt("next")
      expect(yield* transcriptOf(harness)).toEqual(["user x", "assistant y", "user next", "assistant b"])
      expect(harness.requests[1]?.messages).toHaveLength(3)
    })
  )

  it.effect("by setMessages during a run changes nothing in what the run works on", () =>
    Effect.gen(function* () {
      const harness = yield* make([[call("a")], [say("b")], [say("c")]], {
        tools: [slow("a", 10)],
        isFold: false
      })
      const prompt = yield* start(harness.agent.prompt("go"))
      yield* harness.agent.setMessages([user("other")])
      yield* pass(10)
      const { messages } = yield* resultOf(prompt)
      expect(messages).toHaveLength(4)
      expect(harness.requests[1]?.messages).toEqual(messages.slice(0, 3))
      yield* harness.agent.prompt("next")
      expect(harness.requests[2]?.messages[0]).toEqual(user("other"))
    })
  )

  it.effect("of an agent is that agent's alone", () =>
    Effect.gen(function* () {
      const one = yield* make([[say("a")]])
      const other = yield* make([[say("a")]])
      yield* one.agent.setSystemPrompt("mine")
      yield* one.agent.steer(user("mine"))
      yield* one.agent.prompt("go")
      expect(yield* other.agent.state).toMatchObject({ systemPrompt: undefined, messages: [], isQueued: false })
    })
  )
})

describe("reset", () => {
  it.effect("clears transcript, queues, error and what was in progress", () =>
    Effect.gen(function* () {
      const { agent } = yield* make([[say("a"), failing("no")]])
      yield* agent.prompt("go")
      yield* agent.steer(user("s"))
      yield* agent.followUp(user("f"))
      expect(yield* agent.state).toMatchObject({ errorMessage: "no", isQueued: true })
      yield* agent.reset
      const state = yield* agent.state
      expect(stateOf(state)).toEqual({
        messages: [],
        usage: tokensIn(0),
        streamingMessage: undefined,
        pendingToolCalls: [],
        errorMessage: undefined
      })
      expect([state.isQueued, state.isStreaming]).toEqual([false, false])
    })
  )

  it.effect("keeps system prompt, model, thinking level, tools and modes", () =>
    Effect.gen(function* () {
      const { agent } = yield* make([[say("a")]], {
        systemPrompt: "s",
        thinkingLevel: "low",
        tools: [tool("a")],
        toolExecution: "sequential",
        steeringMode: "all",
        messages: [user("x")]
      })
      const { messages: _, ...before } = yield* agent.state
      yield* agent.reset
      expect(yield* agent.state).toEqual({ ...before, messages: [] })
    })
  )

  it.effect("lets the next run begin from nothing, and leaves snapshots that were taken alone", () =>
    Effect.gen(function* () {
      const harness = yield* make([[say("a")], [say("b")]])
      yield* harness.agent.prompt("go")
      const before = yield* harness.agent.state
      yield* harness.agent.reset
      yield* harness.agent.prompt("next")
      expect(before.messages).toHaveLength(2)
      expect(yield* transcriptOf(harness)).toEqual(["user next", "assistant b"])
      expect(harness.requests[1]?.messages).toHaveLength(1)
    })
  )
})
