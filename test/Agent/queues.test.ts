// SPEC 7: what is queued while an agent runs or rests, in which mode it is taken, and what clears it.
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { AgentEvent } from "../../src/AgentEvent.ts"
import type { Message } from "../../src/Message.ts"
import { call, failing, pause, say, tool, user } from "../support/make.ts"
import { type Harness, make, pass, start, transcriptOf } from "./harness.ts"

/** Does something the first time that an event of a type comes. */
const once = (
  { agent }: Harness,
  type: AgentEvent["type"],
  what: (agent: Harness["agent"]) => Effect.Effect<unknown>
) => {
  let isDone = false
  return agent.subscribe((event) => {
    if (event.type !== type || isDone) return
    isDone = true
    return Effect.asVoid(what(agent))
  })
}

const queueAll = (agent: Harness["agent"], kind: "steer" | "followUp", ...texts: ReadonlyArray<string>) =>
  Effect.forEach(texts, (text) => agent[kind](user(text)))

const answers = (...texts: ReadonlyArray<string>) => texts.map((text) => [say(text)])

describe("steering messages", () => {
  it.effect("are seen by the model before its next response", () =>
    Effect.gen(function* () {
      const harness = yield* make([[call("a")], ...answers("b")], { tools: [tool("a")] })
      yield* once(harness, "tool_execution_start", (agent) => agent.steer(user("s")))
      yield* harness.agent.prompt("go")
      expect(yield* transcriptOf(harness)).toEqual([
        "user go",
        "assistant toolCall",
        "result a",
        "user s",
        "assistant b"
      ])
      expect(harness.requests[1]?.messages.at(-1)).toEqual(user("s"))
    })
  )

  it.effect("keep a run going that would otherwise end", () =>
    Effect.gen(function* () {
      const harness = yield* make(answers("a", "b"))
      yield* once(harness, "message_update", (agent) => agent.steer(user("s")))
      yield* harness.agent.prompt("go")
      expect(yield* transcriptOf(harness)).toEqual(["user go", "assistant a", "user s", "assistant b"])
    })
  )

  it.effect("that were queued before a prompt come right after it", () =>
    Effect.gen(function* () {
      const harness = yield* make(answers("a"))
      yield* harness.agent.steer(user("s"))
      yield* harness.agent.prompt("go")
      expect(yield* transcriptOf(harness)).toEqual(["user go", "user s", "assistant a"])
    })
  )

  it.effect("come before follow-ups", () =>
    Effect.gen(function* () {
      const harness = yield* make(answers("a", "b", "c"))
      yield* once(harness, "message_update", (agent) =>
        Effect.andThen(queueAll(agent, "followUp", "f"), queueAll(agent, "steer", "s"))
      )
      yield* harness.agent.prompt("go")
      expect((yield* transcriptOf(harness)).slice(2)).toEqual(["user s", "assistant b", "user f", "assistant c"])
    })
  )

  for (const stop of ["limit", "shouldStopAfterTurn", "error"] as const) {
    it.effect(`are not taken at an end by ${stop}`, () =>
      Effect.gen(function* () {
        const options = {
          limit: { maxTurns: 1 },
          shouldStopAfterTurn: { hooks: { shouldStopAfterTurn: () => Effect.succeed(true) } },
          error: {}
        }[stop]
        const harness = yield* make([[say("a"), ...(stop === "error" ? [failing("no")] : [])]], options)
        yield* once(harness, "message_update", (agent) =>
          Effect.andThen(queueAll(agent, "followUp", "f"), queueAll(agent, "steer", "s"))
        )
        yield* harness.agent.prompt("go")
        expect(yield* transcriptOf(harness)).toEqual(["user go", "assistant a"])
        expect((yield* harness.agent.state).isQueued).toBe(true)
      })
    )
  }
})

describe("follow-ups", () => {
  it.effect("wait until the run would otherwise end", () =>
    Effect.gen(function* () {
      const harness = yield* make([[call("a")], ...answers("b", "c")], { tools: [tool("a")] })
      yield* harness.agent.followUp(user("f"))
      yield* harness.agent.prompt("go")
      expect((yield* transcriptOf(harness)).slice(2)).toEqual(["result a", "assistant b", "user f", "assistant c"])
    })
  )

  it.effect("are taken after a batch that ended the run", () =>
    Effect.gen(function* () {
      const last = tool("a", () => Effect.succeed({ content: [], terminate: true }))
      const harness = yield* make([[call("a")], ...answers("b")], { tools: [last] })
      yield* harness.agent.followUp(user("f"))
      yield* harness.agent.prompt("go")
      expect((yield* transcriptOf(harness)).slice(2)).toEqual(["result a", "user f", "assistant b"])
    })
  )
})

describe("a queue", () => {
  for (const kind of ["steer", "followUp"] as const) {
    it.effect(`of ${kind} gives one message a poll, or all in the mode all`, () =>
      Effect.gen(function* () {
        const one = yield* make(answers("a", "b", "c", "d"))
        yield* once(one, "message_update", (agent) => queueAll(agent, kind, "1", "2", "3"))
        yield* one.agent.prompt("go")
        expect((yield* transcriptOf(one)).slice(1)).toEqual([
          "assistant a",
          "user 1",
          "assistant b",
          "user 2",
          "assistant c",
          "user 3",
          "assistant d"
        ])
        const all = yield* make(answers("a", "b"), { steeringMode: "all", followUpMode: "all" })
        yield* once(all, "message_update", (agent) => queueAll(agent, kind, "1", "2", "3"))
        yield* all.agent.prompt("go")
        expect((yield* transcriptOf(all)).slice(1)).toEqual([
          "assistant a",
          "user 1",
          "user 2",
          "user 3",
          "assistant b"
        ])
      })
    )

    it.effect(`of ${kind} has its own mode, which holds at once, also during a run`, () =>
      Effect.gen(function* () {
        const harness = yield* make(answers("a", "b", "c"))
        const set = kind === "steer" ? harness.agent.setSteeringMode : harness.agent.setFollowUpMode
        yield* once(harness, "message_update", (agent) => queueAll(agent, kind, "1", "2", "3"))
        let turns = 0
        yield* harness.agent.subscribe((event) => (event.type === "turn_end" && ++turns === 2 ? set("all") : undefined))
        yield* harness.agent.prompt("go")
        expect((yield* transcriptOf(harness)).slice(1)).toEqual([
          "assistant a",
          "user 1",
          "assistant b",
          "user 2",
          "user 3",
          "assistant c"
        ])
        const modes = yield* harness.agent.state
        const other = kind === "steer" ? modes.followUpMode : modes.steeringMode
        expect([kind === "steer" ? modes.steeringMode : modes.followUpMode, other]).toEqual(["all", "one-at-a-time"])
      })
    )
  }

  it.effect("shows in the state from when something is put in until it is taken", () =>
    Effect.gen(function* () {
      const { agent } = yield* make([
        [pause(10), say("a")],
        [pause(10), say("b")]
      ])
      const seen: Array<boolean> = []
      const look = Effect.map(agent.state, ({ isQueued }) => void seen.push(isQueued))
      yield* look
      yield* start(agent.prompt("go"))
      yield* agent.followUp(user("f"))
      yield* look
      yield* pass(10)
      yield* look
      yield* pass(10)
      expect(seen).toEqual([false, true, false])
    })
  )

  it.effect("delivers one message that was put in twice twice, also as prompt and in both queues", () =>
    Effect.gen(function* () {
      const again = user("again")
      const harness = yield* make(answers("a", "b", "c", "d", "e"), { steeringMode: "all" })
      const receipts = [
        ...(yield* Effect.all([harness.agent.steer(again), harness.agent.steer(again)])),
        ...(yield* Effect.all([harness.agent.followUp(again), harness.agent.followUp(again)]))
      ]
      yield* harness.agent.prompt(again)
      expect((yield* transcriptOf(harness)).filter((word) => word === "user again")).toHaveLength(5)
      const turns = yield* Effect.forEach(receipts, ({ delivered }) => Effect.map(delivered, ({ turn }) => turn))
      expect(turns).toEqual([1, 1, 2, 3])
    })
  )
})

describe("clearing", () => {
  const texts = (messages: ReadonlyArray<Message>) =>
    messages.flatMap((message) =>
      message.role === "user" && typeof message.content === "string" ? [message.content] : []
    )

  for (const [what, left] of [
    ["clearSteering", ["f"]],
    ["clearFollowUp", ["s"]],
    ["clearQueues", []]
  ] as const) {
    it.effect(`${what} empties what it says and no more`, () =>
      Effect.gen(function* () {
        const { agent } = yield* make(answers("a", "b"))
        yield* queueAll(agent, "steer", "s")
        yield* queueAll(agent, "followUp", "f")
        yield* agent[what]
        expect((yield* agent.state).isQueued).toBe(left.length > 0)
        yield* agent.prompt("go")
        expect(texts((yield* agent.state).messages)).toEqual(left)
      })
    )
  }

  it.effect("during a run leaves what was taken already", () =>
    Effect.gen(function* () {
      const harness = yield* make(answers("a", "b", "c"), { steeringMode: "one-at-a-time" })
      yield* queueAll(harness.agent, "steer", "1", "2")
      yield* once(harness, "message_start", (agent) => agent.clearQueues)
      yield* harness.agent.prompt(user("go"))
      expect(yield* transcriptOf(harness)).toEqual(["user go", "assistant a"])
      const later = yield* make(answers("a", "b", "c"))
      yield* queueAll(later.agent, "steer", "1", "2")
      let starts = 0
      yield* later.agent.subscribe((event) =>
        event.type === "message_start" && ++starts === 2 ? later.agent.clearQueues : undefined
      )
      yield* later.agent.prompt(user("go"))
      expect(yield* transcriptOf(later)).toEqual(["user go", "user 1", "assistant a"])
    })
  )
})
