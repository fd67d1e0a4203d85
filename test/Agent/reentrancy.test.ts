// What comes back to an agent while it is at something: whoever waits for a receipt, a run or an event is woken on the spot,
// and may do then whatever it likes.
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { AgentEvent } from "../../src/AgentEvent.ts"
import { assistant, call, pause, say, slow, tool, user } from "../support/make.ts"
import { isDone, make, outline, pass, resultOf, start, transcriptOf } from "./harness.ts"

const at = (type: AgentEvent["type"], what: Effect.Effect<unknown>) => (event: AgentEvent) =>
  event.type === type ? Effect.asVoid(what) : undefined

describe("who waits for a receipt may, when it is settled,", () => {
  it.effect("prompt: by reset", () =>
    Effect.gen(function* () {
      const harness = yield* make([[pause(5), say("a")]], { messages: [user("old")] })
      const { agent } = harness
      const receipt = yield* agent.steer(user("s"))
      const prompt = yield* start(Effect.andThen(Effect.exit(receipt.delivered), agent.prompt("go")))
      yield* agent.reset
      yield* pass(5)
      yield* resultOf(prompt)
      expect(yield* transcriptOf(harness)).toEqual(["user go", "assistant a"])
    })
  )

  it.effect("queue again: by a withdrawal, a clearing, a delivery", () =>
    Effect.gen(function* () {
      const { agent } = yield* make([[say("a")], [say("b")], [say("c")], [say("d")]])
      const again = (text: string) =>
        Effect.flatMap(agent.steer(user(text)), ({ delivered }) => start(Effect.exit(delivered)))
      for (const settle of ["withdraw", "clear", "deliver"] as const) {
        const receipt = yield* agent.followUp(user("first"))
        yield* start(Effect.andThen(Effect.exit(receipt.delivered), again(settle)))
        if (settle === "withdraw") yield* receipt.withdraw
        if (settle === "clear") yield* agent.clearFollowUp
        if (settle === "deliver") yield* agent.prompt("go")
      }
      yield* pass(0)
      const { messages, isQueued } = yield* agent.state
      const texts = messages.flatMap((message) => (message.role === "user" ? [message.content] : []))
      expect(texts.slice(1)).toEqual(["withdraw", "clear", "first", "deliver"])
      expect(isQueued).toBe(false)
    })
  )

  for (const clear of ["reset", "clearQueues"] as const) {
    it.effect(`queue in the other queue: by ${clear}, which clears what there was and no more`, () =>
      Effect.gen(function* () {
        const { agent } = yield* make([])
        const { delivered } = yield* agent.steer(user("old"))
        const old = yield* agent.followUp(user("old"))
        yield* start(Effect.andThen(Effect.exit(delivered), agent.followUp(user("new"))))
        yield* agent[clear]
        yield* pass(0)
        expect(yield* Effect.flip(old.delivered)).toMatchObject({ reason: "cleared" })
        expect((yield* agent.state).isQueued).toBe(true)
      })
    )
  }

  it.effect("abort: by a delivery", () =>
    Effect.gen(function* () {
      const harness = yield* make([[say("never")]])
      const { delivered } = yield* harness.agent.steer(user("s"))
      yield* start(Effect.andThen(delivered, harness.agent.abort))
      expect(yield* harness.agent.prompt("go")).toMatchObject({ reason: "aborted" })
      expect(yield* transcriptOf(harness)).toEqual(["user go", "user s", "assistant "])
      expect(harness.requests).toHaveLength(0)
    })
  )

  it.effect("close the agent: by a delivery", () =>
    Effect.gen(function* () {
      const harness = yield* make([[say("a")]])
      const { delivered } = yield* harness.agent.steer(user("s"))
      const other = yield* harness.agent.followUp(user("f"))
      yield* start(Effect.andThen(delivered, Scope.close(harness.scope, Exit.void)))
      const prompt = yield* start(harness.agent.prompt("go"))
      yield* pass(10_000)
      expect(isDone(prompt)).toBe(true)
      expect(yield* Effect.flip(other.delivered)).toMatchObject({ reason: "closed" })
    })
  )
})

describe("who waits for the end of a run may", () => {
  it.effect("begin the next, however many ask for it: each gets its turn", () =>
    Effect.gen(function* () {
      const harness = yield* make(["a", "b", "c", "d"].map((text) => [pause(5), say(text)]))
      const { agent } = harness
      yield* start(agent.prompt("one"))
      const ask = (text: string) => Effect.andThen(agent.waitForIdle, agent.prompt(text))
      const asked = yield* Effect.forEach(["two", "three", "four"], (text) => start(ask(text)))
      for (const _ of ["one", "two", "three", "four"]) yield* pass(5)
      yield* Effect.forEach(asked, resultOf)
      const words = yield* transcriptOf(harness)
      expect(words.filter((word) => word.startsWith("user"))).toEqual([
        "user one",
        "user two",
        "user three",
        "user four"
      ])
    })
  )

  it.effect("begin the next of an agent that goes on by itself: nothing queued is held back by that", () =>
    Effect.gen(function* () {
      const harness = yield* make(
        [
          [pause(5), say("a")],
          [pause(5), say("b")],
          [pause(5), say("c")]
        ],
        {
          continueWhenQueued: true
        }
      )
      const { agent } = harness
      let isQueued = false
      yield* agent.subscribe((event) => {
        // A slow listener: the first poll of the next run comes later than the end of this one.
        if (event.type === "agent_start") return Effect.sleep(1)
        if (event.type !== "agent_end" || isQueued) return undefined
        isQueued = true
        return Effect.asVoid(agent.steer(user("s")))
      })
      const both = yield* start(Effect.andThen(agent.prompt("one"), Effect.result(agent.prompt("two"))))
      yield* pass(100)
      yield* resultOf(both)
      // Whichever run comes first, the agent's own or the prompt's: the message is taken at its beginning.
      const words = yield* transcriptOf(harness)
      expect(words.slice(0, words.indexOf("assistant b"))).toContain("user s")
    })
  )

  it.effect("reset the agent, and prompt it anew", () =>
    Effect.gen(function* () {
      const harness = yield* make([[pause(5), say("a")], [say("b")]])
      const { agent } = harness
      yield* start(agent.prompt("one"))
      const next = yield* start(Effect.andThen(agent.waitForIdle, Effect.andThen(agent.reset, agent.prompt("two"))))
      yield* pass(5)
      yield* resultOf(next)
      expect(yield* transcriptOf(harness)).toEqual(["user two", "assistant b"])
    })
  )
})

describe("a watcher, which is woken in the middle of an event, may", () => {
  it.effect("abort, queue, look at the state, and watch from there on", () =>
    Effect.gen(function* () {
      const harness = yield* make([[say("a")], [say("b"), { type: "stall" }]])
      const { agent } = harness
      const lengths: Array<number> = []
      const { events } = yield* agent.watch
      yield* start(
        Stream.runForEach(events, (event) =>
          Effect.gen(function* () {
            lengths.push((yield* agent.state).messages.length)
            if (event.type === "message_start" && lengths.length < 5) yield* agent.followUp(user("f"))
            if (event.type === "message_end" && event.message.role === "user" && lengths.length > 5) yield* agent.abort
          })
        )
      )
      const prompt = yield* start(agent.prompt("go"))
      yield* pass(0)
      expect(yield* resultOf(prompt)).toMatchObject({ reason: "aborted" })
      expect((yield* transcriptOf(harness)).slice(0, 3)).toEqual(["user go", "assistant a", "user f"])
      expect(lengths).toHaveLength(harness.events.length)
    })
  )

  it.effect("prompt at agent_end only when the run is over", () =>
    Effect.gen(function* () {
      const { agent } = yield* make([[say("a")], [say("b")]])
      const { events } = yield* agent.watch
      const results: Array<string> = []
      yield* start(
        Stream.runForEach(
          Stream.take(
            Stream.filter(events, ({ type }) => type === "agent_end"),
            1
          ),
          () =>
            Effect.gen(function* () {
              yield* agent.waitForIdle
              results.push((yield* Effect.result(agent.prompt("next")))._tag)
            })
        )
      )
      yield* agent.prompt("go")
      yield* pass(0)
      expect(results).toEqual(["Success"])
    })
  )
})

describe("a listener may", () => {
  it.effect("interrupt who prompted, and the run is aborted", () =>
    Effect.gen(function* () {
      const harness = yield* make([[pause(1), say("a")]])
      let prompting: Fiber.Fiber<unknown, unknown> | undefined
      yield* harness.agent.subscribe(
        at(
          "message_update",
          Effect.suspend(() => Effect.sync(() => prompting?.interruptUnsafe()))
        )
      )
      prompting = yield* start(harness.agent.prompt("go"))
      yield* pass(1)
      expect([isDone(prompting), outline(harness.events).at(-1)]).toEqual([true, "run) aborted"])
    })
  )

  it.effect("prompt another agent and wait for it", () =>
    Effect.gen(function* () {
      const inner = yield* make([[pause(5), say("inner")]])
      const outer = yield* make([[say("outer")]])
      yield* outer.agent.subscribe(at("turn_end", Effect.orDie(inner.agent.prompt("go"))))
      const prompt = yield* start(outer.agent.prompt("go"))
      expect(isDone(prompt)).toBe(false)
      yield* pass(5)
      expect(yield* resultOf(prompt)).toMatchObject({ text: "outer" })
      expect(yield* transcriptOf(inner)).toEqual(["user go", "assistant inner"])
    })
  )

  it.effect("start a run from a fiber of its own, which waits until the agent is idle", () =>
    Effect.gen(function* () {
      const harness = yield* make([[say("a")], [say("b")]])
      const { agent } = harness
      let isStarted = false
      yield* agent.subscribe(() => {
        if (isStarted) return undefined
        isStarted = true
        return Effect.asVoid(Effect.forkDetach(Effect.andThen(agent.waitForIdle, agent.prompt("next"))))
      })
      yield* agent.prompt("go")
      yield* pass(0)
      expect(yield* transcriptOf(harness)).toEqual(["user go", "assistant a", "user next", "assistant b"])
    })
  )
})

describe("agents do not keep each other waiting", () => {
  it.effect("an agent as a tool of another is aborted with it", () =>
    Effect.gen(function* () {
      const inner = yield* make([[call("slow")]], { tools: [slow("slow", 1000)] })
      const ask = tool("ask", () => Effect.map(Effect.orDie(inner.agent.prompt("go")), ({ text }) => text))
      const outer = yield* make([[call("ask")]], { tools: [ask] })
      const prompt = yield* start(outer.agent.prompt("go"))
      yield* outer.agent.abort
      yield* pass(0)
      expect(yield* resultOf(prompt)).toMatchObject({ reason: "aborted" })
      expect(outline(inner.events).at(-1)).toBe("run) aborted")
    })
  )

  it.effect("a run without any wait lets others run", () =>
    Effect.gen(function* () {
      const busy = yield* make([[say("x".repeat(4000), 1)]], { messages: [assistant([])], isFold: false })
      let ticks = 0
      const ticking = yield* Effect.forkDetach(
        Effect.forever(
          Effect.andThen(
            Effect.sync(() => ticks++),
            Effect.yieldNow
          )
        )
      )
      yield* busy.agent.prompt("go")
      yield* Fiber.interrupt(ticking)
      expect(ticks).toBeGreaterThan(2)
    })
  )
})
