// SPEC 9.1 and 9.2: an abort at any point of a run. Nothing more is asked, and the grammar holds. Batches
// are in abortedBatch.test.ts, what does not react to an interrupt in deaf.test.ts.
import { describe, expect, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { AgentEvent } from "../../src/AgentEvent.ts"
import * as Hooks from "../../src/services/Hooks.ts"
import { call, nonsense, pause, provider, say, slow, tool, user } from "../support/make.ts"
import { Abort, type Options, of, play } from "../support/play.ts"

const isEvent =
  <Type extends AgentEvent["type"]>(type: Type, nth = 1) =>
  (event: AgentEvent): boolean =>
    event.type === type && --nth === 0

describe("where the abort meets the run", () => {
  it.effect("the first poll: an empty aborted response in the open turn, and prompts are kept", () =>
    Effect.gen(function* () {
      const trace = yield* play([[say("never")]], { steering: Effect.never }, { abortAt: 5 })
      expect(trace.outline).toEqual(["run(", "turn(", "user", "assistant aborted", "turn)", "run) aborted"])
      expect(trace.responses[0]).toMatchObject({ content: [], errorMessage: "Operation aborted" })
      expect(of(trace, "agent_end")[0]?.messages[0]).toEqual(user("go"))
      expect(trace.requests).toHaveLength(0)
    })
  )

  for (const hook of ["transformContext", "convertToLlm"] as const) {
    it.effect(`${hook}: an empty aborted response, and no request`, () =>
      Effect.gen(function* () {
        const trace = yield* play([[say("never")]], { hooks: { [hook]: () => Effect.never } }, { abortAt: 5 })
        expect(trace.outline.slice(3)).toEqual(["assistant aborted", "turn)", "run) aborted"])
        expect([trace.requests.length, trace.endedAt]).toEqual([0, 5])
      })
    )
  }

  it.effect("the API key: aborted, not error (A8)", () =>
    Effect.gen(function* () {
      const trace = yield* play([[say("never")]], { resolveApiKey: () => Effect.never }, { abortAt: 5 })
      expect(trace.responses[0]).toMatchObject({ stopReason: "aborted", content: [] })
    })
  )

  it.effect("a stalled provider: its stream is closed, the partial text kept (A5)", () =>
    Effect.gen(function* () {
      const trace = yield* play(
        [[say("partial"), nonsense({ type: "text_start", contentIndex: 1 }), { type: "stall" }]],
        {},
        { abortAt: 5 }
      )
      expect(trace.responses[0]).toMatchObject({
        stopReason: "aborted",
        errorMessage: "Operation aborted",
        content: [{ text: "partial" }, { text: "" }]
      })
      expect(trace.tokens.slice(-3)).toEqual(["assistant) aborted", "turn)", "run) aborted"])
      expect([trace.streams, trace.endedAt]).toEqual([{ opened: 1, closed: 1 }, 5])
    })
  )

  it.effect("a response that had not begun: an empty aborted one", () =>
    Effect.gen(function* () {
      const trace = yield* play([[{ type: "stall" }]], {}, { abortAt: 5 })
      expect(trace.outline.slice(3)).toEqual(["assistant aborted", "turn)", "run) aborted"])
      expect(trace.streams).toEqual({ opened: 1, closed: 1 })
    })
  )

  it.effect("a call that streams is kept with its tolerant reading, and does not run", () =>
    Effect.gen(function* () {
      const trace = yield* play(
        [
          [
            { type: "start" },
            { type: "toolcall_start", contentIndex: 0, id: "a", name: "a" },
            { type: "toolcall_delta", contentIndex: 0, delta: '{"path": "/tm' },
            { type: "stall" }
          ]
        ],
        { tools: [tool("a")] },
        { abortAt: 5 }
      )
      expect(trace.responses[0]?.content).toEqual([
        { type: "toolCall", id: "a", name: "a", arguments: { path: "/tm" }, rawArguments: '{"path": "/tm' }
      ])
      expect(trace.results).toHaveLength(0)
    })
  )

  it.effect("a tool: the provider was asked once, there is one terminal event (A6)", () =>
    Effect.gen(function* () {
      const trace = yield* play([[call("a")], [say("never")]], { tools: [slow("a", 100)] }, { abortAt: 50 })
      expect(trace.requests).toHaveLength(1)
      expect(of(trace, "agent_end")).toHaveLength(1)
      expect(trace.endedAt).toBe(50)
    })
  )

  it.effect("a tool has its finalizers run before the run ends", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const held = tool("a", () =>
        Effect.onInterrupt(Effect.never, () =>
          Effect.delay(
            Effect.sync(() => void seen.push("closed")),
            20
          )
        )
      )
      const trace = yield* play([[call("a")], [say("never")]], { tools: [held] }, { abortAt: 50 })
      expect(seen).toEqual(["closed"])
      expect(trace.endedAt).toBe(70)
    })
  )

  it.effect("beforeToolCall: calls that had not been prepared are aborted, no tool runs", () =>
    Effect.gen(function* () {
      let ran = 0
      const counting = (name: string) => tool(name, () => Effect.sync(() => `${ran++}`))
      const trace = yield* play(
        [[call("a"), call("nobody"), call("b"), call("c")], [say("never")]],
        {
          tools: ["a", "b", "c"].map(counting),
          hooks: {
            beforeToolCall: ({ toolCall }) => (toolCall.id === "b" ? Effect.never : Effect.succeed(Hooks.allow))
          }
        },
        { abortAt: 5 }
      )
      expect(ran).toBe(0)
      expect(trace.results.map(({ isError }) => isError)).toEqual([true, true, true, true])
      expect(trace.resultTexts[1]).toContain("no tool")
      expect(trace.resultTexts.filter((text) => text === "Operation aborted")).toHaveLength(3)
    })
  )

  it.effect("exclusive: aborted", () =>
    Effect.gen(function* () {
      const held = tool("a", undefined, { exclusive: () => Effect.never })
      const trace = yield* play([[call("a")], [say("never")]], { tools: [held] }, { abortAt: 5 })
      expect(trace.resultTexts).toEqual(["Operation aborted"])
    })
  )

  it.effect("afterToolCall: the call keeps the tool's result", () =>
    Effect.gen(function* () {
      const trace = yield* play(
        [[call("a"), call("b")], [say("never")]],
        {
          tools: [tool("a"), slow("b", 100)],
          hooks: { afterToolCall: () => Effect.as(Effect.sleep(1000), { isError: true }) }
        },
        { abortAt: 50 }
      )
      expect(trace.resultTexts).toEqual(["a done", "Operation aborted"])
      expect(trace.results.map(({ isError }) => isError)).toEqual([false, true])
      expect(trace.endedAt).toBe(50)
    })
  )

  for (const wait of ["prepareNextTurn", "shouldStopAfterTurn", "steering", "followUp"] as const) {
    it.effect(`${wait}: only agent_end follows`, () =>
      Effect.gen(function* () {
        let polls = 0
        const hanging: Options =
          wait === "steering"
            ? { steering: Effect.suspend(() => (polls++ === 0 ? Effect.succeed([]) : Effect.never)) }
            : wait === "followUp"
              ? { followUp: Effect.never }
              : { hooks: { [wait]: () => Effect.never } }
        const trace = yield* play([[say("ok")]], hanging, { abortAt: 5 })
        expect(trace.outline.slice(3)).toEqual(["assistant stop", "turn)", "run) aborted"])
      })
    )
  }

  it.effect("messages that were polled enter the transcript, whatever comes", () =>
    Effect.gen(function* () {
      const polls = [[], [user("kept")]]
      const trace = yield* play(
        [[call("a")], [say("never")]],
        { tools: [tool("a")], steering: Effect.sync(() => polls.shift() ?? []) },
        { abortOn: isEvent("turn_start", 2) }
      )
      expect(trace.outline.slice(-5)).toEqual(["turn(", "user", "assistant aborted", "turn)", "run) aborted"])
      expect(of(trace, "agent_end")[0]?.messages).toContainEqual(user("kept"))
      expect(trace.requests).toHaveLength(1)
    })
  )

  it.effect("turn_end: no hook and no poll comes after it", () =>
    Effect.gen(function* () {
      let asked = 0
      const trace = yield* play(
        [[call("a")], [say("never")]],
        {
          tools: [tool("a")],
          steering: Effect.sync(() => (asked++, [])),
          hooks: { prepareNextTurn: () => Effect.sync(() => void asked++) }
        },
        { abortOn: isEvent("turn_end") }
      )
      expect([asked, trace.reason]).toEqual([1, "aborted"])
      expect(trace.outline.at(-2)).toBe("turn)")
    })
  )

  it.effect("the last turn_end: the run was aborted, though there was nothing left to do", () =>
    Effect.gen(function* () {
      const trace = yield* play([[say("ok")]], {}, { abortOn: isEvent("turn_end") })
      expect(trace.outline.slice(3)).toEqual(["assistant stop", "turn)", "run) aborted"])
    })
  )

  it.effect("agent_end: an abort after the last wait changes nothing", () =>
    Effect.gen(function* () {
      const trace = yield* play([[say("ok")]], {}, { abortOn: isEvent("agent_end") })
      expect(trace.reason).toBe("completed")
    })
  )
})

describe("who aborts", () => {
  it.effect("a tool: its own call is aborted, the run ends", () =>
    Effect.gen(function* () {
      const abort = new Abort()
      const trace = yield* play(
        [[call("a"), call("b")], [say("never")]],
        { tools: [tool("a", () => Effect.as(abort.now, "late")), tool("b")] },
        { abort }
      )
      expect([trace.reason, trace.requests.length]).toEqual(["aborted", 1])
      expect(trace.results).toHaveLength(2)
    })
  )

  it.effect("a hook, a poll, a provider, a retry policy", () =>
    Effect.gen(function* () {
      const ran: Array<string> = []
      const places: ReadonlyArray<(abort: Abort) => Options> = [
        (abort) => ({ hooks: { transformContext: (messages) => Effect.as(abort.now, messages) } }),
        (abort) => ({ hooks: { beforeToolCall: () => Effect.as(abort.now, Hooks.allow) } }),
        (abort) => ({ hooks: { afterToolCall: () => abort.now } }),
        (abort) => ({ hooks: { prepareNextTurn: () => abort.now } }),
        (abort) => ({ steering: Effect.as(abort.now, []) })
      ]
      for (const place of places) {
        const abort = new Abort()
        const trace = yield* play(
          [[call("a")], [call("a", {}, "2")], [say("never")]],
          { tools: [tool("a")], ...place(abort) },
          { abort }
        )
        ran.push(trace.reason)
        expect(trace.requests.length).toBeLessThan(3)
      }
      expect(ran).toEqual(places.map(() => "aborted"))
    })
  )

  it.effect("a provider, in the middle of its stream", () =>
    Effect.gen(function* () {
      const abort = new Abort()
      const aborting = provider(() =>
        Stream.concat(
          Stream.fromIterable([
            { type: "start" as const },
            { type: "text_start" as const, contentIndex: 0 },
            { type: "text_delta" as const, contentIndex: 0, delta: "kept" }
          ]),
          Stream.drain(Stream.fromEffect(Effect.andThen(abort.now, Effect.never)))
        )
      )
      const trace = yield* play(aborting, {}, { abort })
      expect(trace.responses[0]).toMatchObject({ stopReason: "aborted", content: [{ text: "kept" }] })
    })
  )

  it.effect("twice: the second one changes nothing", () =>
    Effect.gen(function* () {
      const entered = yield* Deferred.make<void>()
      const abort = new Abort()
      const held = tool("a", () =>
        Effect.onInterrupt(Effect.andThen(Deferred.succeed(entered, undefined), Effect.never), () =>
          Effect.andThen(abort.now, Effect.sleep(10))
        )
      )
      const trace = yield* play([[call("a")], [say("never")]], { tools: [held] }, { abortAt: 5, abort })
      expect(trace.resultTexts).toEqual(["Operation aborted"])
      expect(of(trace, "agent_end")).toHaveLength(1)
      expect(trace.endedAt).toBe(15)
    })
  )
})

describe("what an abort does not hide", () => {
  it.effect("5,000 events in one array: the abort is met between them, and nothing behind it is folded", () =>
    Effect.gen(function* () {
      const trace = yield* play([[say("x".repeat(5000), 1), pause(5)]], {}, { abortOn: isEvent("message_update", 10) })
      const [response] = trace.responses
      expect(response?.stopReason).toBe("aborted")
      const [text] = response?.content ?? []
      expect(text?.type === "text" && text.text.length).toBeLessThan(2100)
    })
  )
})
