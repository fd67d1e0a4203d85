// When a run asks for steering and follow-up messages, how often, and what becomes of a poll that dies.
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { Message } from "../../src/Message.ts"
import { call, failing, say, tool, untyped, user } from "../support/make.ts"
import { notice } from "../support/notice.ts"
import { of, play } from "../support/play.ts"

/** A poll that gives these lists, one at a time, and notes how many events had been handed over when it was asked. */
const queue = (...lists: ReadonlyArray<ReadonlyArray<Message>>) => {
  const asked: Array<number> = []
  let seen = 0
  return {
    asked,
    poll: Effect.sync(() => {
      asked.push(seen)
      return lists[asked.length - 1] ?? []
    }),
    onEvents: (events: ReadonlyArray<unknown>) =>
      Effect.sync(() => {
        seen += events.length
      })
  }
}

describe("steering", () => {
  it.effect(
    "is polled once at the start, after the prompts were handed over, and its messages join the first turn",
    () =>
      Effect.gen(function* () {
        const { asked, poll, onEvents } = queue([user("also"), notice("n")])
        const trace = yield* play([[say("ok")]], { steering: poll }, { onEvents })
        expect(trace.outline).toEqual([
          "run(",
          "turn(",
          "user",
          "user",
          "notice",
          "assistant stop",
          "turn)",
          "run) completed"
        ])
        expect(trace.requests[0]?.messages).toEqual([user("go"), user("also")])
        // run( turn( user( user) were handed over, then all of the first turn.
        expect(asked).toEqual([4, trace.events.length - 1])
      })
  )

  it.effect("is polled after each turn, and its messages open the next one", () =>
    Effect.gen(function* () {
      const { asked, poll } = queue([], [user("left")], [], [user("again")])
      const trace = yield* play([[call("a")], [say("one")], [say("two")]], { tools: [tool("a")], steering: poll })
      expect(trace.outline.join(" ")).toBe(
        "run( turn( user assistant toolUse start a end a result a turn) turn( user assistant stop turn) run) completed"
      )
      expect(asked).toHaveLength(3)
      expect(trace.requests[1]?.messages.at(-1)).toEqual(user("left"))
    })
  )

  it.effect("keeps a run going that had nothing left to do", () =>
    Effect.gen(function* () {
      const { poll } = queue([], [user("more")])
      const trace = yield* play([[say("one")], [say("two")]], { steering: poll })
      expect(trace.outline.slice(4)).toEqual(["turn)", "turn(", "user", "assistant stop", "turn)", "run) completed"])
    })
  )
})

describe("follow-up", () => {
  it.effect("is polled only where the run would otherwise end, and starts the inner loop again", () =>
    Effect.gen(function* () {
      const steering = queue()
      const { asked, poll } = queue([user("then")])
      const trace = yield* play([[call("a")], [say("one")], [call("a", {}, "b")], [say("two")]], {
        tools: [tool("a")],
        steering: steering.poll,
        followUp: poll
      })
      expect(trace.outline.join(" ")).toBe(
        "run( turn( user assistant toolUse start a end a result a turn) turn( assistant stop turn) " +
          "turn( user assistant toolUse start b end b result b turn) turn( assistant stop turn) run) completed"
      )
      expect(asked).toHaveLength(2)
      expect(steering.asked).toHaveLength(5)
    })
  )

  it.effect("follows a batch that terminates, and the reason is that of the last turn", () =>
    Effect.gen(function* () {
      const { poll } = queue([user("then")])
      const end = tool("end", () => Effect.succeed({ terminate: true }))
      const trace = yield* play([[call("end")], [say("ok")]], { tools: [end], followUp: poll })
      expect(trace.reason).toBe("completed")
      expect((yield* play([[call("end")]], { tools: [end], followUp: queue().poll })).reason).toBe("terminated")
    })
  )

  it.effect("several messages join one turn", () =>
    Effect.gen(function* () {
      const { poll } = queue([user("a"), user("b")])
      const trace = yield* play([[say("one")], [say("two")]], { followUp: poll })
      expect(trace.outline.slice(5)).toEqual(["turn(", "user", "user", "assistant stop", "turn)", "run) completed"])
    })
  )
})

describe("polls that go wrong", () => {
  const dying: Effect.Effect<never> = Effect.die(new Error("queue broke"))

  it.effect("the first poll dies: an error response in the turn that is open", () =>
    Effect.gen(function* () {
      const trace = yield* play([[say("never")]], { steering: dying })
      expect(trace.outline).toEqual(["run(", "turn(", "user", "assistant error", "turn)", "run) error"])
      expect(trace.responses[0]).toMatchObject({ errorMessage: "queue broke", content: [] })
      expect(trace.requests).toHaveLength(0)
    })
  )

  for (const kind of ["steering", "followUp"] as const) {
    it.effect(`${kind} dies after a turn: a turn of its own tells of it`, () =>
      Effect.gen(function* () {
        let polls = 0
        const poll = Effect.suspend(() => (kind === "steering" && polls++ === 0 ? Effect.succeed([]) : dying))
        const trace = yield* play([[say("ok")]], { [kind]: poll })
        expect(trace.outline.slice(3)).toEqual([
          "assistant stop",
          "turn)",
          "turn(",
          "assistant error",
          "turn)",
          "run) error"
        ])
        expect(of(trace, "agent_end")[0]?.messages.at(-1)).toMatchObject({ errorMessage: "queue broke" })
      })
    )
  }

  it.effect("steering dies although the batch wants to go on: the model is not asked again", () =>
    Effect.gen(function* () {
      let polls = 0
      const steering = Effect.suspend(() => (polls++ === 0 ? Effect.succeed([]) : dying))
      const trace = yield* play([[call("a")], [say("never")]], { tools: [tool("a")], steering })
      expect(trace.outline.slice(-5)).toEqual(["turn)", "turn(", "assistant error", "turn)", "run) error"])
      expect(trace.requests).toHaveLength(1)
    })
  )

  it.effect("a poll that is no Effect is a defect of it", () =>
    Effect.gen(function* () {
      const trace = yield* play([[say("ok")]], { followUp: untyped(Promise.resolve([])) })
      expect(trace.reason).toBe("error")
      expect(trace.responses.at(-1)?.errorMessage).toContain("did not give an Effect")
    })
  )

  it.effect("after an error response no queue is polled", () =>
    Effect.gen(function* () {
      const steering = queue()
      const followUp = queue()
      yield* play([[failing("no")]], { steering: steering.poll, followUp: followUp.poll })
      expect([steering.asked.length, followUp.asked.length]).toEqual([1, 0])
    })
  )
})
