// SPEC 7: `continue` and its rules, and agents that go on by themselves.
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { AgentEvent } from "../../src/AgentEvent.ts"
import { assistant, call, failing, pause, say, tool, user } from "../support/make.ts"
import { notice } from "../support/notice.ts"
import { isDone, make, outline, pass, resultOf, start, transcriptOf } from "./harness.ts"

const said = assistant([{ type: "text", text: "said" }])

describe("continue", () => {
  const lasts = [user("x"), notice("x"), { ...toolResult() }]
  for (const last of lasts) {
    it.effect(`after a ${last.role} runs on the transcript as it is`, () =>
      Effect.gen(function* () {
        const harness = yield* make([[say("a")]], { messages: [last] })
        expect(yield* harness.agent.continue).toMatchObject({ reason: "completed", text: "a", messages: [{}] })
        expect(outline(harness.events)).toEqual(["run(", "turn(", "assistant stop", "turn)", "run) completed"])
        expect((yield* harness.agent.state).messages[0]).toBe(last)
      })
    )
  }

  it.effect("after a user message takes what is queued as any run does", () =>
    Effect.gen(function* () {
      const harness = yield* make([[say("a")], [say("b")]], { messages: [user("x")] })
      yield* harness.agent.steer(user("s"))
      yield* harness.agent.followUp(user("f"))
      yield* harness.agent.continue
      expect(yield* transcriptOf(harness)).toEqual(["user x", "user s", "assistant a", "user f", "assistant b"])
    })
  )

  it.effect("after an assistant message takes steering messages as prompts, and skips the first poll for more", () =>
    Effect.gen(function* () {
      const harness = yield* make([[say("a")], [say("b")], [say("c")]], { messages: [said] })
      const { agent } = harness
      for (const message of [user("s1"), user("s2")]) yield* agent.steer(message)
      yield* agent.followUp(user("f"))
      yield* agent.continue
      expect(yield* transcriptOf(harness)).toEqual([
        "assistant said",
        "user s1",
        "assistant a",
        "user s2",
        "assistant b",
        "user f",
        "assistant c"
      ])
    })
  )

  it.effect("skips that poll also for messages that are queued meanwhile", () =>
    Effect.gen(function* () {
      const harness = yield* make([[say("a")], [say("b")]], { messages: [said] })
      const { agent } = harness
      yield* agent.steer(user("s1"))
      yield* agent.subscribe((event) =>
        event.type === "agent_start" ? Effect.asVoid(agent.steer(user("s2"))) : undefined
      )
      yield* agent.continue
      expect(yield* transcriptOf(harness)).toEqual([
        "assistant said",
        "user s1",
        "assistant a",
        "user s2",
        "assistant b"
      ])
    })
  )

  it.effect("takes all steering messages in the mode all", () =>
    Effect.gen(function* () {
      const harness = yield* make([[say("a")]], { messages: [said], steeringMode: "all" })
      for (const message of [user("s1"), user("s2")]) yield* harness.agent.steer(message)
      yield* harness.agent.continue
      expect(yield* transcriptOf(harness)).toEqual(["assistant said", "user s1", "user s2", "assistant a"])
    })
  )

  it.effect("else takes follow-ups, and does not skip the poll", () =>
    Effect.gen(function* () {
      const harness = yield* make([[say("a")], [say("b")]], { messages: [said] })
      const { agent } = harness
      for (const message of [user("f1"), user("f2")]) yield* agent.followUp(message)
      yield* agent.subscribe((event) =>
        event.type === "agent_start" ? Effect.asVoid(agent.steer(user("s"))) : undefined
      )
      yield* agent.continue
      expect((yield* transcriptOf(harness)).slice(0, 4)).toEqual(["assistant said", "user f1", "user s", "assistant a"])
      expect((yield* transcriptOf(harness)).slice(4)).toEqual(["user f2", "assistant b"])
    })
  )

  it.effect("skips the poll of its own run only", () =>
    Effect.gen(function* () {
      const harness = yield* make([[say("a")], [say("b")]], { messages: [said] })
      yield* harness.agent.steer(user("s1"))
      yield* harness.agent.continue
      yield* harness.agent.steer(user("s2"))
      yield* harness.agent.prompt("p")
      expect((yield* transcriptOf(harness)).slice(3)).toEqual(["user p", "user s2", "assistant b"])
    })
  )

  it.effect("is refused after an assistant message with nothing queued, and changes nothing", () =>
    Effect.gen(function* () {
      const { agent, events } = yield* make([[say("never")]], { messages: [said] })
      const before = yield* agent.state
      const error = yield* Effect.flip(agent.continue)
      expect(error).toMatchObject({ _tag: "CannotContinue", reason: "endsWithAssistant" })
      expect(yield* agent.state).toEqual(before)
      expect(events).toHaveLength(0)
    })
  )

  it.effect("is refused on an empty transcript, and leaves what is queued", () =>
    Effect.gen(function* () {
      const { agent, events } = yield* make([[say("never")]])
      yield* agent.steer(user("s"))
      const error = yield* Effect.flip(agent.continue)
      expect(error).toMatchObject({ _tag: "CannotContinue", reason: "empty" })
      expect([(yield* agent.state).isQueued, events.length]).toEqual([true, 0])
    })
  )

  it.effect("after a failed run begins with what was queued", () =>
    Effect.gen(function* () {
      const harness = yield* make([[failing("no")], [say("a")]])
      yield* harness.agent.followUp(user("f"))
      yield* harness.agent.prompt("go")
      yield* harness.agent.continue
      expect(yield* transcriptOf(harness)).toEqual(["user go", "assistant ", "user f", "assistant a"])
    })
  )
})

describe("an agent that is made to go on by itself", () => {
  const queueAtEnd = (kind: "steer" | "followUp") =>
    Effect.fnUntraced(function* (harness: Effect.Success<ReturnType<typeof make>>, text = "late") {
      const { agent } = harness
      let isFirst = true
      yield* agent.subscribe((event) => {
        if (event.type !== "agent_end" || !isFirst) return
        isFirst = false
        return Effect.asVoid(agent[kind](user(text)))
      })
    })

  for (const kind of ["steer", "followUp"] as const) {
    it.effect(`does so for a message of ${kind} that listeners of agent_end queue (D2)`, () =>
      Effect.gen(function* () {
        const harness = yield* make([[say("a")], [say("b")]], { continueWhenQueued: true })
        yield* queueAtEnd(kind)(harness)
        const { messages } = yield* harness.agent.prompt("go")
        expect(messages).toHaveLength(2)
        yield* harness.agent.waitForIdle
        expect(yield* transcriptOf(harness)).toEqual(["user go", "assistant a", "user late", "assistant b"])
        expect(harness.runs).toHaveLength(2)
      })
    )
  }

  it.effect("else the message stays queued, the state says so, and the next run delivers it (D2)", () =>
    Effect.gen(function* () {
      const harness = yield* make([[say("a")], [say("b")]])
      yield* queueAtEnd("steer")(harness)
      yield* harness.agent.prompt("go")
      yield* pass(1000)
      expect(yield* harness.agent.state).toMatchObject({ isStreaming: false, isQueued: true })
      yield* harness.agent.prompt("next")
      expect((yield* transcriptOf(harness)).slice(2)).toEqual(["user next", "user late", "assistant b"])
    })
  )

  for (const [how, turn] of [
    ["was aborted", [{ type: "stall" }]],
    ["failed", [failing("no")]]
  ] as const) {
    it.effect(`does not after a run that ${how}`, () =>
      Effect.gen(function* () {
        const harness = yield* make([[...turn], [say("never")]], { continueWhenQueued: true })
        yield* queueAtEnd("followUp")(harness)
        const prompt = yield* start(harness.agent.prompt("go"))
        yield* harness.agent.abort
        yield* resultOf(prompt)
        yield* pass(1000)
        expect(yield* harness.agent.state).toMatchObject({ isStreaming: false, isQueued: true })
      })
    )
  }

  it.effect("does after a run whose limit was reached", () =>
    Effect.gen(function* () {
      const harness = yield* make([[call("a")], [say("b")]], {
        tools: [tool("a")],
        maxTurns: 1,
        continueWhenQueued: true
      })
      yield* harness.agent.steer(user("s1"))
      yield* harness.agent.steer(user("s2"))
      yield* harness.agent.prompt("go")
      yield* harness.agent.waitForIdle
      expect(yield* transcriptOf(harness)).toEqual([
        "user go",
        "user s1",
        "assistant toolCall",
        "result a",
        "user s2",
        "assistant b"
      ])
    })
  )

  it.effect("is aborted also in the instant in which it goes on", () =>
    Effect.gen(function* () {
      const harness = yield* make([[say("a")], [say("never")]], { continueWhenQueued: true })
      yield* queueAtEnd("followUp")(harness)
      yield* Effect.andThen(harness.agent.prompt("go"), harness.agent.abort)
      yield* pass(0)
      expect(yield* transcriptOf(harness)).toEqual(["user go", "assistant a", "user late", "assistant "])
      expect(harness.requests).toHaveLength(1)
    })
  )

  it.effect("is not idle in between", () =>
    Effect.gen(function* () {
      const harness = yield* make([[say("a")], [pause(10), say("b")]], { continueWhenQueued: true })
      yield* queueAtEnd("followUp")(harness)
      const idle = yield* start(Effect.andThen(harness.agent.prompt("go"), harness.agent.waitForIdle))
      expect([isDone(idle), (yield* harness.agent.state).isStreaming]).toEqual([false, true])
      yield* pass(10)
      expect([isDone(idle), (yield* harness.agent.state).isStreaming]).toEqual([true, false])
    })
  )

  it.effect("does so as often as there is something, however often that is", () =>
    Effect.gen(function* () {
      const count = 1500
      const turns = Array.from({ length: count + 1 }, () => [say("a")])
      const { agent } = yield* make(turns, { continueWhenQueued: true, isFold: false })
      let left = count
      const again = (event: AgentEvent) =>
        event.type === "agent_end" && left-- > 0 ? Effect.asVoid(agent.followUp(user("again"))) : undefined
      yield* agent.subscribe(again)
      yield* agent.prompt("go")
      yield* Effect.repeat(Effect.yieldNow, { times: 10 * count })
      expect(yield* agent.state).toMatchObject({ isStreaming: false, isQueued: false })
      expect(left).toBe(-1)
    })
  )
})

function toolResult() {
  const content: ReadonlyArray<never> = []
  return { role: "toolResult" as const, toolCallId: "a", toolName: "a", content, isError: false, timestamp: 0 }
}
