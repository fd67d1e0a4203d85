// The double loop of SPEC 4: what a run starts from, how turns follow each other, and each way in which a run ends.
import { describe, expect, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as Loop from "../../src/Loop.ts"
import * as Scripted from "../../src/providers/Scripted.ts"
import { Provider } from "../../src/services/Provider.ts"
import * as TraceChecker from "../../src/testing/TraceChecker.ts"
import * as Tool from "../../src/Tool.ts"
import { assistant, call, failing, model, pause, policy, say, slow, tokensIn, tool, user } from "../support/make.ts"
import { notice } from "../support/notice.ts"
import { of, play, stream } from "../support/play.ts"
import { outline } from "../support/tokens.ts"

const terminating = (name: string) =>
  tool(name, () => Effect.succeed({ content: [{ type: "text", text: name }], terminate: true }))

describe("the shape of a run", () => {
  it.effect("one response without calls is one turn", () =>
    Effect.gen(function* () {
      const { tokens } = yield* play([[say("hello", 3)]])
      expect(tokens).toEqual([
        "run(",
        "turn(",
        "user",
        "assistant(",
        ".text_start",
        ".text_delta",
        ".text_delta",
        ".text_end",
        "assistant) stop",
        "turn)",
        "run) completed"
      ])
    })
  )

  it.effect("a batch has its results answered by a further turn, without a turn_start before the first", () =>
    Effect.gen(function* () {
      const { outline, requests } = yield* play([[call("a")], [call("a", {}, "a2")], [say("done")]], {
        tools: [tool("a")]
      })
      const batch = (id: string) => [`start ${id}`, `end ${id}`, `result ${id}`, "turn)"]
      expect(outline).toEqual(
        [
          ["run(", "turn(", "user"],
          ["assistant toolUse", ...batch("a"), "turn("],
          ["assistant toolUse", ...batch("a2"), "turn("],
          ["assistant stop", "turn)", "run) completed"]
        ].flat()
      )
      expect(requests.map(({ messages }) => messages.map(({ role }) => role))).toEqual([
        ["user"],
        ["user", "assistant", "toolResult"],
        ["user", "assistant", "toolResult", "assistant", "toolResult"]
      ])
    })
  )

  it.effect("prompts enter the transcript behind the given messages, and only they are new", () =>
    Effect.gen(function* () {
      const messages = [user("before"), assistant([{ type: "text", text: "yes" }])]
      const trace = yield* play([[say("ok")]], { messages, prompts: [user("one"), notice("two")] })
      expect(trace.outline.slice(0, 5)).toEqual(["run(", "turn(", "user", "notice", "assistant stop"])
      expect(trace.requests[0]?.messages).toEqual([...messages, user("one")])
      expect(of(trace, "agent_end")[0]?.messages).toEqual([user("one"), notice("two"), trace.responses[0]])
    })
  )

  it.effect("a run may have no prompt at all", () =>
    Effect.gen(function* () {
      const { outline } = yield* play([[say("ok")]], { prompts: [], messages: [user("before")] })
      expect(outline).toEqual(["run(", "turn(", "assistant stop", "turn)", "run) completed"])
    })
  )

  it.effect("a request carries system prompt, tool declarations, model and thinking level", () =>
    Effect.gen(function* () {
      const { requests } = yield* play([[say("ok")]], {
        systemPrompt: "Be brief.",
        tools: [tool("a"), tool("b")],
        thinkingLevel: "high"
      })
      expect(requests[0]).toMatchObject({ systemPrompt: "Be brief.", model, thinkingLevel: "high" })
      expect(requests[0]?.tools?.map(({ name, description }) => [name, description])).toEqual([
        ["a", "Does a."],
        ["b", "Does b."]
      ])
      expect(Object.keys(requests[0]?.tools?.[0] ?? {})).toEqual(["name", "description", "parameters"])
    })
  )

  it.effect("without tools a request has no list, with an empty list it has that", () =>
    Effect.gen(function* () {
      expect((yield* play([[say("ok")]])).requests[0]?.tools).toBeUndefined()
      expect((yield* play([[say("ok")]], { tools: [] })).requests[0]?.tools).toEqual([])
    })
  )

  it.effect("the thinking level off, and none at all, ask for no thinking", () =>
    Effect.gen(function* () {
      expect((yield* play([[say("ok")]], { thinkingLevel: "off" })).requests[0]?.thinkingLevel).toBeUndefined()
      expect((yield* play([[say("ok")]])).requests[0]?.thinkingLevel).toBeUndefined()
    })
  )

  it.effect("messages carry the instant at which they came", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(1_000_000)
      const trace = yield* play([[pause(7), call("a")], [say("ok")]], { tools: [slow("a", 20)] })
      expect(trace.responses.map(({ timestamp }) => timestamp)).toEqual([1_000_000, 1_000_027])
      expect(trace.results[0]?.timestamp).toBe(1_000_027)
      expect(trace.events.length).toBe(trace.times.length)
    })
  )

  it.effect("a message in progress has stop reason stop and zero usage, the finished one its own", () =>
    Effect.gen(function* () {
      const usage = tokensIn(7)
      const trace = yield* play([[say("hello", 2), { type: "done", reason: "length", usage }]])
      for (const { message } of of(trace, "message_update")) {
        expect(message).toMatchObject({ stopReason: "stop", usage: tokensIn(0) })
      }
      expect(trace.responses[0]).toMatchObject({ stopReason: "length", usage })
      expect(of(trace, "agent_end")[0]?.usage).toEqual(usage)
    })
  )

  it.effect("the usage of a run is the sum of its responses", () =>
    Effect.gen(function* () {
      const trace = yield* play(
        [
          [call("a"), { type: "done", reason: "toolUse", usage: tokensIn(5) }],
          [say("ok"), { type: "done", reason: "stop", usage: tokensIn(30) }]
        ],
        { tools: [tool("a")] }
      )
      expect(of(trace, "agent_end")[0]?.usage).toEqual(tokensIn(35))
    })
  )
})

describe("the ends of a run", () => {
  it.effect("terminated: a batch asked for it, and nothing is pending", () =>
    Effect.gen(function* () {
      const trace = yield* play([[call("a"), call("b")]], { tools: [terminating("a"), terminating("b")] })
      expect(trace.reason).toBe("terminated")
      expect(trace.requests).toHaveLength(1)
    })
  )

  it.effect("a batch of which one result does not ask for the end goes on", () =>
    Effect.gen(function* () {
      const trace = yield* play([[call("a"), call("b")], [say("ok")]], { tools: [terminating("a"), tool("b")] })
      expect(trace.reason).toBe("completed")
    })
  )

  it.effect("a batch of which one call was refused goes on", () =>
    Effect.gen(function* () {
      const trace = yield* play([[call("a"), call("nobody")], [say("ok")]], { tools: [terminating("a")] })
      expect(trace.reason).toBe("completed")
      expect(trace.results.map(({ isError }) => isError)).toEqual([false, true])
    })
  )

  it.effect("a batch that terminates goes on where messages are pending", () =>
    Effect.gen(function* () {
      const polls = [[], [user("wait")]]
      const trace = yield* play([[call("a")], [say("ok")]], {
        tools: [terminating("a")],
        steering: Effect.sync(() => polls.shift() ?? [])
      })
      expect(trace.outline.slice(-5)).toEqual(["turn(", "user", "assistant stop", "turn)", "run) completed"])
    })
  )

  it.effect("error: the response failed; no tool of it runs, no hook is called, no queue polled", () =>
    Effect.gen(function* () {
      const calls: Array<string> = []
      const note = <A>(name: string, value: A) => Effect.sync(() => (calls.push(name), value))
      const trace = yield* play([[call("a"), failing("overloaded")]], {
        tools: [tool("a", () => note("tool", "x"))],
        steering: note("steering", []),
        followUp: note("followUp", []),
        hooks: {
          beforeToolCall: () => note("before", { _tag: "Allow" as const }),
          prepareNextTurn: () => note("prepare", undefined),
          shouldStopAfterTurn: () => note("stop", false)
        }
      })
      expect(trace.outline.slice(-3)).toEqual(["assistant error", "turn)", "run) error"])
      expect(of(trace, "turn_end")[0]?.toolResults).toEqual([])
      expect(calls).toEqual(["steering"])
      expect(trace.responses[0]?.content).toMatchObject([{ type: "toolCall", id: "a" }])
    })
  )

  it.effect("calls are executed whatever the stop reason says", () =>
    Effect.gen(function* () {
      const trace = yield* play([[call("a"), { type: "done", reason: "stop" }], [say("ok")]], { tools: [tool("a")] })
      expect(trace.resultTexts).toEqual(["a done"])
    })
  )

  it.effect("completed: the model had nothing more to ask for, even if it said toolUse", () =>
    Effect.gen(function* () {
      const trace = yield* play([[say("ok"), { type: "done", reason: "toolUse" }]])
      expect(trace.reason).toBe("completed")
    })
  )
})

describe("resume", () => {
  const resume = (messages: Loop.ResumeOptions["messages"]) => Loop.resume({ model, messages })

  it.effect("an empty transcript is refused before any event", () =>
    Effect.gen(function* () {
      const empty = yield* Effect.flip(resume([]))
      expect(empty).toMatchObject({ _tag: "CannotResume", reason: "empty" })
      expect(empty.message).toContain("transcript is empty")
      expect((yield* Effect.flip(resume(undefined))).reason).toBe("empty")
    })
  )

  it.effect("a transcript that ends with an assistant message is refused", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(resume([user("a"), assistant([])]))
      expect(error).toMatchObject({ _tag: "CannotResume", reason: "endsWithAssistant" })
      expect(error.message).toContain("assistant message")
    })
  )

  for (const last of [user("a"), notice("n")]) {
    it.effect(`a transcript that ends with a ${last.role} message is answered without adding one`, () =>
      Effect.gen(function* () {
        const scripted = yield* Scripted.make({ turns: [[say("ok")]] })
        const answered = yield* Loop.resume<ReadonlyArray<Tool.Any<never>>>({ model, messages: [last] })
        const events = yield* TraceChecker.collect(Stream.provideService(answered, Provider, scripted), [last])
        expect(outline(events).slice(0, 3)).toEqual(["run(", "turn(", "assistant stop"])
      })
    )
  }
})

describe("the stream of a run", () => {
  it.effect("two consumers of the same stream are two independent runs", () =>
    Effect.gen(function* () {
      const scripted = yield* Scripted.make({ turns: [[call("a")], [say("one")], [call("a")], [say("two")]] })
      const run = stream(scripted, { tools: [tool("a")] })
      const first = yield* TraceChecker.collect(run)
      const second = yield* TraceChecker.collect(run)
      expect(outline(second)).toEqual(outline(first))
      expect(scripted.requests[2]?.messages).toEqual([user("go")])
      expect(of({ events: second }, "agent_end")[0]?.messages).toHaveLength(4)
    })
  )

  it.effect("two consumers at once do not share anything", () =>
    Effect.gen(function* () {
      const scripted = yield* Scripted.make({
        turns: [[call("a")], [call("a")], [say("one")], [say("two")]]
      })
      const run = stream(scripted, { tools: [slow("a", 5)] })
      const fiber = yield* Effect.forkChild(
        Effect.all([TraceChecker.collect(run), TraceChecker.collect(run)], { concurrency: 2 })
      )
      yield* TestClock.adjust(100)
      const [first, second] = yield* Fiber.join(fiber)
      expect(outline(second)).toEqual(outline(first))
      expect(scripted.requests.map(({ messages }) => messages.length)).toEqual([1, 1, 3, 3])
    })
  )

  it.effect("what tools, hooks and polls need is met by the context of the stream", () =>
    Effect.gen(function* () {
      class Name extends Context.Service<Name, string>()("test/Name") {}
      const asking = Tool.make({
        name: "ask",
        description: "",
        parameters: Schema.Struct({}),
        execute: () => Name.use((name) => Effect.succeed(`tool ${name}`)),
        exclusive: () => Name.use((name) => Effect.succeed(name))
      })
      const seen: Array<string> = []
      const note = (who: string) => Name.use((name) => Effect.sync(() => void seen.push(`${who} ${name}`)))
      const scripted = yield* Scripted.make({ turns: [[call("ask")], [say("ok")]] })
      const run = Loop.run({
        model,
        prompts: [],
        tools: [asking],
        steering: Effect.as(note("steering"), []),
        followUp: Effect.as(note("followUp"), []),
        retry: policy(() => Effect.as(note("retry"), Option.none())),
        resolveApiKey: () => Effect.as(note("key"), undefined),
        hooks: { afterToolCall: () => note("after"), prepareNextTurn: () => note("prepare") }
      })
      const events = yield* TraceChecker.collect(run).pipe(
        Effect.provideService(Name, "n"),
        Effect.provideService(Provider, scripted)
      )
      expect(of({ events }, "tool_execution_end")[0]?.result).toEqual(Tool.text("tool n"))
      expect(new Set(seen)).toEqual(new Set(["steering n", "followUp n", "key n", "after n", "prepare n"]))
    })
  )

  it.effect("a stream that nobody pulls does nothing", () =>
    Effect.gen(function* () {
      const scripted = yield* Scripted.make({ turns: [[say("ok")]] })
      let polls = 0
      const pull = yield* Effect.scoped(Stream.toPull(stream(scripted, { steering: Effect.sync(() => (polls++, [])) })))
      expect(Effect.isEffect(pull)).toBe(true)
      expect([polls, scripted.requests.length]).toEqual([0, 0])
    })
  )
})
