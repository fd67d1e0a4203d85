// SPEC 7: who queued a message holds a receipt: when and in which turn it was delivered, or why it was not.
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type { Receipt } from "../../src/Agent.ts"
import { assistant, call, failing, pause, say, tool, user } from "../support/make.ts"
import { isDone, make, pass, resultOf, start } from "./harness.ts"

/** What became of a message so far. */
const outcomeOf = Effect.fnUntraced(function* ({ delivered }: Receipt) {
  const fiber = yield* start(
    Effect.match(delivered, {
      onSuccess: ({ turn, timestamp }) => `turn ${turn} at ${timestamp}`,
      onFailure: ({ reason }) => reason
    })
  )
  return isDone(fiber) ? yield* resultOf(fiber) : "pending"
})

describe("a receipt says that its message was delivered", () => {
  it.effect("when its message_end came, with that time and the turn of its run", () =>
    Effect.gen(function* () {
      const { agent, events } = yield* make(
        [
          [pause(5), call("a")],
          [pause(5), say("b")],
          [pause(5), say("c")]
        ],
        {
          tools: [tool("a")]
        }
      )
      yield* start(agent.prompt("go"))
      const steered = yield* agent.steer(user("s"))
      const followed = yield* agent.followUp(user("f"))
      expect(yield* outcomeOf(steered)).toBe("pending")
      yield* pass(5)
      expect(yield* outcomeOf(steered)).toBe("turn 2 at 5")
      expect(yield* outcomeOf(followed)).toBe("pending")
      yield* pass(5)
      expect(yield* outcomeOf(followed)).toBe("turn 3 at 10")
      yield* pass(5)
      expect(events.at(-1)?.type).toBe("agent_end")
    })
  )

  it.effect("counting turns anew for each run, also for what continue takes as prompts", () =>
    Effect.gen(function* () {
      const { agent } = yield* make([[say("a")], [say("b")], [say("c")]])
      const first = yield* agent.steer(user("1"))
      yield* agent.prompt("go")
      const second = yield* agent.steer(user("2"))
      const third = yield* agent.followUp(user("3"))
      yield* agent.continue
      expect(yield* Effect.forEach([first, second, third], outcomeOf)).toEqual([
        "turn 1 at 0",
        "turn 1 at 0",
        "turn 2 at 0"
      ])
    })
  )

  it.effect("before the listeners of that event are called, and once only", () =>
    Effect.gen(function* () {
      const { agent } = yield* make([[say("a")]])
      const message = user("s")
      const receipt = yield* agent.steer(message)
      const seen: Array<string> = []
      yield* agent.subscribe((event) =>
        "message" in event && event.message === message
          ? Effect.map(outcomeOf(receipt), (outcome) => void seen.push(outcome))
          : undefined
      )
      yield* agent.prompt("go")
      expect(seen).toEqual(["pending", "turn 1 at 0"])
      expect(yield* outcomeOf(receipt)).toBe("turn 1 at 0")
    })
  )

  it.effect("not while the run that is to deliver it failed before", () =>
    Effect.gen(function* () {
      const { agent } = yield* make([[failing("no")], [say("a")]])
      const receipt = yield* agent.followUp(user("f"))
      yield* agent.prompt("go")
      expect(yield* outcomeOf(receipt)).toBe("pending")
      yield* pass(3)
      yield* agent.continue
      expect(yield* outcomeOf(receipt)).toBe("turn 1 at 3")
    })
  )
})

describe("a receipt says that its message will not be delivered", () => {
  for (const kind of ["steer", "followUp"] as const) {
    it.effect(`after ${kind} was withdrawn, which succeeds once`, () =>
      Effect.gen(function* () {
        const { agent } = yield* make([[say("a")]])
        const first = yield* agent[kind](user("1"))
        const second = yield* agent[kind](user("2"))
        expect(yield* first.withdraw).toBe(true)
        expect(yield* outcomeOf(first)).toBe("withdrawn")
        expect(yield* first.withdraw).toBe(false)
        expect(yield* outcomeOf(second)).toBe("pending")
        expect((yield* agent.state).isQueued).toBe(true)
        expect(yield* second.withdraw).toBe(true)
        expect((yield* agent.state).isQueued).toBe(false)
        yield* agent.prompt(user("go"))
        expect((yield* agent.state).messages).toHaveLength(2)
      })
    )
  }

  it.effect("after its queue was cleared, or the agent was reset", () =>
    Effect.gen(function* () {
      const { agent } = yield* make([])
      const clearing = {
        clearSteering: ["cleared", "pending"],
        clearFollowUp: ["pending", "cleared"],
        clearQueues: ["cleared", "cleared"],
        reset: ["cleared", "cleared"]
      } as const
      for (const what of ["clearSteering", "clearFollowUp", "clearQueues", "reset"] as const) {
        const receipts = [yield* agent.steer(user("s")), yield* agent.followUp(user("f"))]
        yield* agent[what]
        const outcomes = yield* Effect.forEach(receipts, outcomeOf)
        expect(outcomes).toEqual(clearing[what])
      }
    })
  )

  it.effect("after the agent was closed, also for what is queued later", () =>
    Effect.gen(function* () {
      const { agent, scope } = yield* make([])
      const early = [yield* agent.steer(user("s")), yield* agent.followUp(user("f"))]
      yield* Scope.close(scope, Exit.void)
      const late = [yield* agent.steer(user("s")), yield* agent.followUp(user("f"))]
      for (const receipt of [...early, ...late]) {
        expect(yield* outcomeOf(receipt)).toBe("closed")
        expect(yield* receipt.withdraw).toBe(false)
      }
      expect((yield* agent.state).isQueued).toBe(false)
    })
  )

  it.effect("in words for a person", () =>
    Effect.gen(function* () {
      const { agent } = yield* make([])
      const receipt = yield* agent.steer(user("s"))
      yield* receipt.withdraw
      const { message } = yield* Effect.flip(receipt.delivered)
      expect(message).toBe("The message was not delivered: it was withdrawn.")
    })
  )
})

describe("withdrawing", () => {
  it.effect("is possible until the message is taken, and too late from then on", () =>
    Effect.gen(function* () {
      const { agent } = yield* make([[say("a")], [say("b")]])
      const message = user("s")
      const receipt = yield* agent.steer(message)
      const answers: Array<boolean> = []
      yield* agent.subscribe((event) =>
        "message" in event && event.message === message
          ? Effect.map(receipt.withdraw, (answer) => void answers.push(answer))
          : undefined
      )
      yield* agent.prompt("go")
      expect(answers).toEqual([false, false])
      expect(yield* outcomeOf(receipt)).toBe("turn 1 at 0")
      expect((yield* agent.state).messages).toContain(message)
    })
  )

  it.effect("takes out that very one of messages that are the same", () =>
    Effect.gen(function* () {
      const { agent } = yield* make([[say("a")]], { steeringMode: "all", messages: [assistant([])] })
      const same = user("same")
      const receipts = [yield* agent.steer(same), yield* agent.steer(same), yield* agent.steer(same)]
      expect(yield* receipts[1]!.withdraw).toBe(true)
      yield* agent.continue
      expect(yield* Effect.forEach(receipts, outcomeOf)).toEqual(["turn 1 at 0", "withdrawn", "turn 1 at 0"])
      expect((yield* agent.state).messages).toHaveLength(4)
    })
  )

  it.effect("by interrupting who waits for the delivery is not done: the message stays", () =>
    Effect.gen(function* () {
      const { agent } = yield* make([[say("a")]])
      const receipt = yield* agent.steer(user("s"))
      const fiber = yield* start(receipt.delivered)
      fiber.interruptUnsafe()
      yield* pass(0)
      expect([isDone(fiber), (yield* agent.state).isQueued]).toEqual([true, true])
      yield* agent.prompt("go")
      expect(yield* outcomeOf(receipt)).toBe("turn 1 at 0")
    })
  )
})
