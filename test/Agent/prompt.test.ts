// SPEC 7: the forms of a prompt, what comes of it, and what one prompt may set for its run.
import { describe, expect, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { Image, Message } from "../../src/Message.ts"
import * as Tool from "../../src/Tool.ts"
import { call, failing, pause, say, slow, tokensIn, tool, user } from "../support/make.ts"
import { notice } from "../support/notice.ts"
import { isDone, make, outline, pass, resultOf, start, toEnd, transcriptOf } from "./harness.ts"

describe("a prompt", () => {
  it.effect("that is a text becomes a user message with one text block, of that time", () =>
    Effect.gen(function* () {
      const { agent, requests } = yield* make([[say("hi")]])
      yield* pass(7)
      const { messages } = yield* agent.prompt("go")
      expect(messages[0]).toEqual({ role: "user", content: [{ type: "text", text: "go" }], timestamp: 7 })
      expect(requests[0]?.messages).toEqual([messages[0]])
    })
  )

  it.effect("that has images has the text first, then the images in order", () =>
    Effect.gen(function* () {
      const images: ReadonlyArray<Image> = [
        { type: "image", data: "AAAA", mimeType: "image/png" },
        { type: "image", data: "BBBB", mimeType: "image/jpeg" }
      ]
      const { agent } = yield* make([[say("hi")]])
      const { messages } = yield* agent.prompt({ text: "look", images })
      expect(messages[0]).toMatchObject({ content: [{ type: "text", text: "look" }, ...images] })
    })
  )

  it.effect("that is a message is that message", () =>
    Effect.gen(function* () {
      const message = user("plain", 3)
      const { agent } = yield* make([[say("hi")]])
      const { messages } = yield* agent.prompt(message)
      expect(messages[0]).toBe(message)
    })
  )

  it.effect("that is messages has them in their order, also kinds of the application", () =>
    Effect.gen(function* () {
      const prompts = [user("a"), notice("b"), user("c")]
      const harness = yield* make([[say("hi")]])
      yield* harness.agent.prompt(prompts)
      expect(outline(harness.events)).toEqual([
        "run(",
        "turn(",
        "user",
        "notice",
        "user",
        "assistant stop",
        "turn)",
        "run) completed"
      ])
      expect(yield* transcriptOf(harness)).toEqual(["user a", "notice", "user c", "assistant hi"])
      expect(harness.requests[0]?.messages).toEqual([prompts[0], prompts[2]])
    })
  )

  it.effect("that is an empty list runs on the transcript as it is", () =>
    Effect.gen(function* () {
      const harness = yield* make([[say("hi")]], { messages: [user("x")] })
      yield* harness.agent.prompt([])
      expect(outline(harness.events)).toEqual(["run(", "turn(", "assistant stop", "turn)", "run) completed"])
      expect(yield* transcriptOf(harness)).toEqual(["user x", "assistant hi"])
    })
  )

  it.effect("comes after what was said before", () =>
    Effect.gen(function* () {
      const harness = yield* make([[say("one")], [say("two")]])
      yield* harness.agent.prompt("a")
      yield* harness.agent.prompt("b")
      expect(yield* transcriptOf(harness)).toEqual(["user a", "assistant one", "user b", "assistant two"])
      expect(harness.requests[1]?.messages).toHaveLength(3)
    })
  )
})

describe("what comes of a prompt", () => {
  it.effect("are its messages, the text of the last response, the reason, and what all responses cost", () =>
    Effect.gen(function* () {
      const harness = yield* make(
        [
          [say("wait"), call("a"), { type: "done", reason: "toolUse", usage: tokensIn(3) }],
          [say("all "), say("good"), { type: "done", reason: "stop", usage: tokensIn(4) }]
        ],
        { tools: [tool("a")], messages: [user("before"), notice("n")] }
      )
      const result = yield* harness.agent.prompt("go")
      expect(result).toEqual({
        messages: (yield* harness.agent.state).messages.slice(2),
        reason: "completed",
        text: "all good",
        usage: tokensIn(7)
      })
      expect(result.messages).toHaveLength(4)
    })
  )

  it.effect("adds to the usage of the agent, until that is reset", () =>
    Effect.gen(function* () {
      const cost = { input: 1, output: 0, cacheRead: 0, cacheWrite: 0, total: 1 }
      const usages = [{ ...tokensIn(3), cost }, { ...tokensIn(4), cost }, tokensIn(5)]
      const { agent } = yield* make(usages.map((usage) => [say("ok"), { type: "done", reason: "stop", usage }]))
      const totals: Array<unknown> = []
      for (const _ of usages) {
        yield* agent.prompt("go")
        totals.push((yield* agent.state).usage)
      }
      // The cost of the third is not known, and so that of all three is not.
      expect(totals).toEqual([
        { ...tokensIn(3), cost },
        { ...tokensIn(7), cost: { ...cost, input: 2, total: 2 } },
        tokensIn(12)
      ])
      yield* agent.setMessages([])
      expect((yield* agent.state).usage).toEqual(tokensIn(12))
      yield* agent.reset
      expect((yield* agent.state).usage).toEqual(tokensIn(0))
    })
  )

  it.effect("has the error of a run that failed, and what was streamed", () =>
    Effect.gen(function* () {
      const { agent } = yield* make([[say("part"), failing("too busy", true)]], { retry: false })
      expect(yield* agent.prompt("go")).toMatchObject({
        reason: "error",
        text: "part",
        errorMessage: "too busy",
        error: { reason: "overloaded", retryable: true }
      })
    })
  )

  it.effect("has the reason of every end there is", () =>
    Effect.gen(function* () {
      const last = tool("last", () => Effect.succeed({ content: [], terminate: true }))
      const stop = { shouldStopAfterTurn: () => Effect.succeed(true) }
      const harness = yield* make(
        [[call("last")], [say("a")], [call("last", {}, "b"), call("none")], [{ type: "stall" }]],
        {
          tools: [last]
        }
      )
      const { agent } = harness
      expect((yield* agent.prompt("go")).reason).toBe("terminated")
      expect((yield* agent.prompt("go", { hooks: stop })).reason).toBe("stopped")
      expect((yield* agent.prompt("go", { maxTurns: 1 })).reason).toBe("limit")
      const aborted = yield* start(agent.prompt("go"))
      yield* agent.abort
      expect(yield* resultOf(aborted)).toMatchObject({ reason: "aborted", text: "", errorMessage: "Operation aborted" })
    })
  )
})

describe("one prompt may set", () => {
  it.effect("hooks, asked after those of the agent, for its run only", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const noting = (name: string) => ({ shouldStopAfterTurn: () => Effect.sync(() => asked.push(name) === 0) })
      const { agent } = yield* make([[say("a")], [say("b")]], { hooks: noting("agent") })
      yield* agent.prompt("go", { hooks: noting("prompt") })
      yield* agent.prompt("go")
      expect(asked).toEqual(["agent", "prompt", "agent"])
    })
  )

  it.effect("hooks whose needs are met where the prompt is run", () =>
    Effect.gen(function* () {
      class User extends Context.Service<User, { readonly name: string }>()("test/User") {}
      const hooks = {
        transformContext: (messages: ReadonlyArray<Message>) =>
          Effect.map(User, ({ name }) => [...messages, user(name)])
      }
      const { agent, requests } = yield* make([[say("a")], [say("b")]])
      const prompt = agent.prompt("go", { hooks })
      yield* Effect.provideService(prompt, User, { name: "Ann" })
      yield* Effect.provideService(prompt, User, { name: "Bob" })
      expect(requests.map(({ messages }) => messages.at(-1)?.content)).toEqual(["Ann", "Bob"])
    })
  )

  it.effect("the greatest number of turns, else that of the agent holds", () =>
    Effect.gen(function* () {
      const turns = ["a", "b", "c", "d"].map((id) => [call("a", {}, id)])
      const { agent, requests } = yield* make(turns, { tools: [tool("a")], maxTurns: 3 })
      expect(yield* agent.prompt("go", { maxTurns: 1 })).toMatchObject({ reason: "limit" })
      expect(requests).toHaveLength(1)
      expect(yield* agent.prompt("go")).toMatchObject({ reason: "limit" })
      expect(requests).toHaveLength(4)
    })
  )
})

describe("one run at a time (D3)", () => {
  it.effect("of two prompts at once one runs, the other gets a typed error and changes nothing", () =>
    Effect.gen(function* () {
      const harness = yield* make([[pause(10), say("a")], [say("never")]])
      const { agent } = harness
      const [first, second] = yield* toEnd(
        Effect.all([Effect.result(agent.prompt("one")), Effect.result(agent.prompt("two"))], { concurrency: 2 })
      )
      expect(first).toMatchObject({ _tag: "Success", success: { text: "a" } })
      expect(second).toMatchObject({ _tag: "Failure", failure: { _tag: "AgentBusy" } })
      expect(yield* transcriptOf(harness)).toEqual(["user one", "assistant a"])
    })
  )

  it.effect("prompt, continue and reset are refused at every event, and change nothing", () =>
    Effect.gen(function* () {
      const harness = yield* make([[say("a"), call("a")], [say("b")]], { tools: [tool("a")], messages: [user("x")] })
      const { agent } = harness
      const refused: Array<string> = []
      yield* agent.subscribe(() =>
        Effect.gen(function* () {
          const before = yield* agent.state
          for (const what of [agent.prompt("no"), agent.continue, agent.reset]) {
            refused.push((yield* Effect.flip(what))._tag)
          }
          expect(yield* agent.state).toEqual(before)
        }).pipe(Effect.orDie)
      )
      yield* agent.prompt("go")
      expect(refused).toEqual(Array.from({ length: harness.events.length * 3 }, () => "AgentBusy"))
      expect(yield* transcriptOf(harness)).toHaveLength(5)
    })
  )

  it.effect("the error says what to do instead", () =>
    Effect.gen(function* () {
      const { agent } = yield* make([[{ type: "stall" }]])
      yield* start(agent.prompt("go"))
      const error = yield* Effect.flip(agent.prompt("no"))
      expect(error.message).toBe(
        "The agent is running. Wait until it is idle, or queue the message with steer or followUp."
      )
    })
  )
})

describe("interrupting a prompt", () => {
  it.effect("aborts the run and waits for its end", () =>
    Effect.gen(function* () {
      const held = tool("a", () => Effect.onInterrupt(Effect.never, () => Effect.sleep(20)))
      const harness = yield* make([[call("a")], [say("never")]], { tools: [held] })
      const prompt = yield* start(harness.agent.prompt("go"))
      const interrupt = yield* start(Fiber.interrupt(prompt))
      yield* pass(19)
      expect([isDone(interrupt), (yield* harness.agent.state).isStreaming]).toEqual([false, true])
      yield* pass(1)
      expect([isDone(interrupt), (yield* harness.agent.state).isStreaming]).toEqual([true, false])
      expect(outline(harness.events).slice(-4)).toEqual(["error a", "result a", "turn)", "run) aborted"])
    })
  )

  it.effect("is what a timeout does", () =>
    Effect.gen(function* () {
      const harness = yield* make([[call("a")]], { tools: [slow("a", 1000)] })
      const result = yield* toEnd(Effect.timeoutOption(harness.agent.prompt("go"), 50))
      expect(result._tag).toBe("None")
      expect(outline(harness.events).at(-1)).toBe("run) aborted")
    })
  )

  it.effect("that was refused leaves the run alone", () =>
    Effect.gen(function* () {
      const { agent } = yield* make([[pause(10), say("a")]])
      const running = yield* start(agent.prompt("go"))
      const refused = yield* start(Effect.andThen(Effect.exit(agent.prompt("no")), Effect.never))
      yield* Fiber.interrupt(refused)
      yield* pass(10)
      expect(yield* resultOf(running)).toMatchObject({ reason: "completed" })
    })
  )
})

describe("a tool", () => {
  it.effect("that prompts its own agent gets the busy error, and the run goes on", () =>
    Effect.gen(function* () {
      let ask: Effect.Effect<string, Tool.ToolFailure> = Effect.die("not yet")
      const harness = yield* make([[call("a")], [say("done")]], { tools: [tool("a", () => ask)] })
      ask = harness.agent.prompt("inner").pipe(
        Effect.map(({ text }) => text),
        Effect.mapError(({ message }) => new Tool.ToolFailure({ message }))
      )
      const { text, messages } = yield* harness.agent.prompt("go")
      expect(text).toBe("done")
      expect(messages[2]).toMatchObject({ role: "toolResult", isError: true })
    })
  )
})
