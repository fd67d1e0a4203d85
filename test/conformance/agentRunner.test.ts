// The runner of agent cases: that it sees a difference in everything that is recorded of an agent, also in cases that differ
// on purpose.
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { checkDifferingAgent } from "./agentDifferences.ts"
import type { AgentCase, AgentRecording } from "./agentScenario.ts"
import { playAgent } from "./playAgent.ts"
import { parse, runCase } from "./runner.ts"

const file = fileURLToPath(new URL("agent.jsonl", import.meta.url))
const cases = Effect.runSync(parse(file, readFileSync(file, "utf8")))

const caseOf = (id: string) => cases.find((of) => of.id === id) as AgentCase

/** A copy in which a text is another one wherever it stands. */
const replaced = <A>(value: A, from: string, to: string): A =>
  JSON.parse(JSON.stringify(value).replaceAll(from, to)) as A

describe("a difference of an agent is seen", () => {
  const first = <A>(list: ReadonlyArray<A> | undefined, over: object) => list!.with(0, { ...list![0]!, ...over })

  const doctored: ReadonlyArray<readonly [string, (recording: AgentRecording) => object]> = [
    ["events[0].type", ({ events }) => ({ events: first(events, { type: "x" }) })],
    ["requests[0].apiKey", ({ requests }) => ({ requests: first(requests, { apiKey: "x" }) })],
    ["hooks[0].at", ({ hooks }) => ({ hooks: first(hooks, { at: 99 }) })],
    ["outcomes[0].t", ({ outcomes }) => ({ outcomes: first(outcomes, { t: 99 }) })],
    ["outcomes[0].at", ({ outcomes }) => ({ outcomes: first(outcomes, { at: 99 }) })],
    ["states[0].isStreaming", ({ states }) => ({ states: first(states, { isStreaming: false }) })],
    ["states[0].queued", ({ states }) => ({ states: first(states, { queued: true }) })],
    ["snapshots[0].at", ({ snapshots }) => ({ snapshots: first(snapshots, { at: 99 }) })],
    ["final.thinkingLevel", ({ final }) => ({ final: { ...final, thinkingLevel: "high" } })],
    ["listeners[1].phase", ({ listeners }) => ({ listeners: listeners!.with(1, { ...listeners![1], phase: "in" }) })],
    ["times[0]", ({ times }) => ({ times: times.with(0, 99) })],
    ["endMs", () => ({ endMs: 99 })]
  ]

  it.effect.each(doctored)("at %s", ([path, doctor]) =>
    Effect.gen(function* () {
      const of = caseOf("agent-h070")
      expect(yield* runCase(of)).toMatchObject({ _tag: "Equal" })
      const verdict = yield* runCase({ ...of, expected: { ...of.expected, ...doctor(of.expected) } })
      expect(verdict).toMatchObject({ _tag: "Failed" })
      expect(verdict.what).toSatisfy((what: string) => what.startsWith(`${path}: wanted `))
    })
  )

  it.effect("in the outcome of what was triggered, and in whether an abort was asked for", () =>
    Effect.gen(function* () {
      const busy = caseOf("agent-h020")
      const outcome = yield* runCase({ ...busy, expected: replaced(busy.expected, '"<busy>"', '"x"') })
      expect(outcome.what).toBe('outcomes[1].error: wanted "x", got "<busy>"')
      const aborted = caseOf("agent-h061")
      const signal = yield* runCase({
        ...aborted,
        expected: replaced(aborted.expected, '"aborted":true', '"aborted":false')
      })
      expect(signal.what).toBe("listeners[1].aborted: wanted false, got true")
    })
  )

  it.effect("if something does not end", () =>
    Effect.gen(function* () {
      const of = caseOf("agent-h001")
      const turns = [[{ type: "wait" as const, ms: 100_000 }]]
      const endless = { ...of, scenario: { ...of.scenario, provider: { turns } } }
      expect(yield* runCase(endless)).toMatchObject({ _tag: "Failed", what: "the run does not end" })
    })
  )
})

describe("an agent case that differs on purpose fails", () => {
  const wrongIn = Effect.fnUntraced(function* (id: string, doctor: (got: AgentRecording) => AgentRecording) {
    const of = caseOf(id)
    const { recording } = yield* playAgent(of.scenario)
    expect(yield* checkDifferingAgent(of, recording!)).toBeUndefined()
    return yield* checkDifferingAgent(of, doctor(recording!))
  })

  it.effect("9.3: if what was streamed is lost", () =>
    Effect.gen(function* () {
      const lose = (got: AgentRecording) => ({
        ...got,
        events: got.events.map((event) =>
          event["type"] === "agent_end" ? replaced(event, '[{"type":"text","text":"a"}]', "[]") : event
        )
      })
      expect(yield* wrongIn("agent-h064", lose)).toBe("item 9.3: run 0: what was streamed is lost")
    })
  )

  it.effect("9.3: if agent_end has not all messages", () =>
    Effect.gen(function* () {
      const forget = (got: AgentRecording) => ({
        ...got,
        events: got.events.map((event) =>
          event["type"] === "agent_end"
            ? { ...event, messages: (event["messages"] as ReadonlyArray<never>).slice(-1) }
            : event
        )
      })
      expect(yield* wrongIn("agent-h063", forget)).toBe("item 9.3: run 0: agent_end has not all messages")
    })
  )

  it.effect("9.3: if the error is another one, or none, or something before it is not as recorded", () =>
    Effect.gen(function* () {
      const other = (got: AgentRecording) => replaced(got, "cannot transform", "something else")
      expect(yield* wrongIn("agent-h065", other)).toBe('item 9.3: run 0: the error is told as "something else"')
      const none = (got: AgentRecording) => replaced(got, '"stopReason":"error"', '"stopReason":"stop"')
      expect(yield* wrongIn("agent-h065", none)).toBe("item 9.3: run 0: the last message tells of no failure")
      const early = (got: AgentRecording) => replaced(got, '"text":"go"', '"text":"stop"')
      expect(yield* wrongIn("agent-h065", early)).toMatch(/^item 9\.3: run 0: before the failure: events\[2\]/)
    })
  )

  it.effect("9.3: if another run is not as recorded, or what is left in the end", () =>
    Effect.gen(function* () {
      const run = (got: AgentRecording) => ({ ...got, events: replaced(got.events, '"text":"b"', '"text":"x"') })
      expect(yield* wrongIn("agent-h069", run)).toMatch(/^item 9\.3: run 1: the events: /)
      const end = (got: AgentRecording) => ({ ...got, final: { ...got.final, queued: true } })
      expect(yield* wrongIn("agent-h069", end)).toBe("item 9.3: in the end: final.queued is true, not false")
      const lost = (got: AgentRecording) => ({ ...got, events: got.events.slice(0, 8) })
      expect(yield* wrongIn("agent-h069", lost)).toBe("item 9.3: there are 1 runs, not 2")
    })
  )

  it.effect("9.2: if a request is made after the abort, or one of another run is not as recorded", () =>
    Effect.gen(function* () {
      const of = { ...caseOf("agent-h061"), differs: ["9.2"] }
      expect(yield* checkDifferingAgent(of, of.expected)).toBe("item 9.2: run 0: a request was made after the abort")
      const { expected } = caseOf("agent-h085")
      const requests = replaced(expected.requests, "again", "x")
      const other = { ...caseOf("agent-h085"), expected: { ...expected, requests } }
      const { recording } = yield* playAgent(other.scenario)
      expect(yield* checkDifferingAgent(other, recording!)).toMatch(/^item 9\.2: run 1: the requests: requests\[0\]/)
    })
  )

  it.effect("9.7: if a null became a value", () =>
    Effect.gen(function* () {
      const run = (got: AgentRecording) => ({
        ...got,
        hooks: got.hooks.concat(
          got.events
            .filter((event) => event["type"] === "tool_execution_start")
            .map((event) => ({ hook: "execute", toolCallId: event["toolCallId"]!, args: event["args"]! }))
        )
      })
      expect(yield* wrongIn("agent-g015", run)).toMatch(/^item 9\.7: call "[^"]+": it was executed/)
    })
  )

  it.effect("9.11: if the run is not as without the listener, or the listener was not called", () =>
    Effect.gen(function* () {
      const cut = (got: AgentRecording) => ({ ...got, events: got.events.slice(0, -1) })
      expect(yield* wrongIn("agent-h073", cut)).toMatch(/^item 9\.11: with the listener: events/)
      expect(yield* wrongIn("agent-h073", (got) => ({ ...got, listeners: [] }))).toBe(
        "item 9.11: the listener was not called"
      )
    })
  )

  it.effect("if nobody knows what its item promises", () =>
    Effect.gen(function* () {
      const of = { ...caseOf("agent-h001"), differs: ["9.99"] }
      expect((yield* runCase(of)).what).toBe("there is no check for what item 9.99 promises")
    })
  )
})
