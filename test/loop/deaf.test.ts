// SPEC 9.1: an abort always ends the run. What does not react to the interrupt is left behind when the grace period, on the
// virtual clock, is over.
import { describe, expect, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { AgentEvent } from "../../src/AgentEvent.ts"
import * as Hooks from "../../src/services/Hooks.ts"
import { call, failing, pause, policy, provider, say, slow, tool, user } from "../support/make.ts"
import { type Options, of, play } from "../support/play.ts"

const STILL_RUNNING = "Operation aborted. The tool did not stop in time and may still be running."

/** Ways not to react to an interrupt. */
const deaf: Record<string, Effect.Effect<never>> = {
  "an uninterruptible minute": Effect.uninterruptible(Effect.andThen(Effect.sleep("1 minute"), Effect.die("too late"))),
  "a promise that never settles": Effect.uninterruptible(Effect.promise(() => new Promise<never>(() => {}))),
  "uninterruptible for ever": Effect.uninterruptible(Effect.never),
  "a finalizer that hangs": Effect.onInterrupt(Effect.never, () => Effect.never)
}

const abortAt = 100
const over = { reason: "aborted", endedAt: 5100 }

describe("a deaf tool", () => {
  for (const [name, wait] of Object.entries(deaf)) {
    for (const toolExecution of ["parallel", "sequential"] as const) {
      it.effect(`${name}, ${toolExecution}: the run is over within the grace period, its result says so (A3, A4)`, () =>
        Effect.gen(function* () {
          const trace = yield* play(
            [[call("done"), call("deaf"), call("later")], [say("never")]],
            { tools: [tool("done"), tool("deaf", () => wait), slow("later", 50_000)], toolExecution },
            { abortAt }
          )
          expect(trace).toMatchObject(over)
          expect(trace.resultTexts).toEqual(["done done", STILL_RUNNING, "Operation aborted"])
          expect(trace.results.map(({ isError }) => isError)).toEqual([false, true, true])
          expect(trace.requests).toHaveLength(1)
        })
      )
    }
  }

  it.effect("a promise that ignores its signal is let go at once: its fiber reacts", () =>
    Effect.gen(function* () {
      const trace = yield* play(
        [[call("a")], [say("never")]],
        { tools: [tool("a", () => Effect.promise(() => new Promise<never>(() => {})))] },
        { abortAt }
      )
      expect(trace.endedAt).toBe(abortAt)
      expect(trace.resultTexts).toEqual(["Operation aborted"])
    })
  )

  it.effect("one that settles within the grace period counts as aborted all the same", () =>
    Effect.gen(function* () {
      for (const end of [Effect.succeed("too late"), Effect.die("too late")]) {
        const late = tool("late", () => Effect.uninterruptible(Effect.delay(end, 1000)))
        const trace = yield* play(
          [[call("late"), call("b")], [say("never")]],
          { tools: [late, tool("b")] },
          { abortAt }
        )
        expect(trace.resultTexts).toEqual(["Operation aborted", "b done"])
        expect(trace.endedAt).toBe(1000)
      }
    })
  )

  it.effect("one that settles after the run is over changes nothing", () =>
    Effect.gen(function* () {
      let after = 0
      const late = tool("late", (_, { update }) =>
        Effect.uninterruptible(
          Effect.gen(function* () {
            yield* Effect.sleep(20_000)
            yield* update("late")
            after++
            return "late"
          })
        )
      )
      const trace = yield* play(
        [[call("late")], [say("never")]],
        { tools: [late], hooks: { afterToolCall: () => Effect.sync(() => void after++) } },
        { abortAt }
      )
      expect(trace.endedAt).toBe(5100)
      expect(after).toBe(1)
      expect(trace.outline.slice(4)).toEqual(["start late", "error late", "result late", "turn)", "run) aborted"])
    })
  )

  it.effect("many of them cost one grace period", () =>
    Effect.gen(function* () {
      const names = Array.from({ length: 20 }, (_, index) => `t${index}`)
      const trace = yield* play(
        [names.map((name) => call(name)), [say("never")]],
        { tools: names.map((name) => tool(name, () => deaf["uninterruptible for ever"]!)), concurrency: 7 },
        { abortAt }
      )
      expect(trace.endedAt).toBe(5100)
      expect(trace.resultTexts.filter((text) => text === STILL_RUNNING)).toHaveLength(7)
      expect(trace.resultTexts.filter((text) => text === "Operation aborted")).toHaveLength(13)
    })
  )

  it.effect("a deaf afterToolCall: the call keeps the tool's result", () =>
    Effect.gen(function* () {
      const trace = yield* play(
        [[call("a")], [say("never")]],
        { tools: [tool("a")], hooks: { afterToolCall: () => deaf["uninterruptible for ever"]! } },
        { abortAt }
      )
      expect(trace).toMatchObject(over)
      expect(trace.results[0]).toMatchObject({ isError: false, content: [{ text: "a done" }] })
    })
  )
})

describe("an afterToolCall that reacts late", () => {
  for (const [name, end] of [
    ["succeeds", Effect.succeed({ isError: true })],
    ["dies", Effect.die("late")]
  ] as const) {
    it.effect(`and ${name}: the call keeps the tool's result`, () =>
      Effect.gen(function* () {
        const afterToolCall = () => Effect.uninterruptible(Effect.delay(end, 1000))
        const trace = yield* play(
          [[call("a")], [say("never")]],
          { tools: [tool("a")], hooks: { afterToolCall } },
          { abortAt }
        )
        expect(trace.results[0]).toMatchObject({ isError: false, content: [{ text: "a done" }] })
        expect(trace.endedAt).toBe(1000)
      })
    )
  }
})

describe("the grace period", () => {
  const hanging: Options = { tools: [tool("a", () => deaf["uninterruptible for ever"]!)] }

  for (const [gracePeriod, ms] of [
    ["30 seconds", 30_000],
    [0, 0],
    [Duration.millis(1), 1]
  ] as const) {
    it.effect(`is what the options say: ${ms} ms`, () =>
      Effect.gen(function* () {
        const trace = yield* play([[call("a")]], { ...hanging, gracePeriod }, { abortAt })
        expect(trace.endedAt).toBe(abortAt + ms)
        expect(trace.resultTexts).toEqual([STILL_RUNNING])
      })
    )
  }

  it.effect("is not waited for where everything reacts", () =>
    Effect.gen(function* () {
      const trace = yield* play([[call("a")]], { tools: [slow("a", 1000)] }, { abortAt })
      expect(trace.endedAt).toBe(abortAt)
    })
  )

  it.effect("that ends while the consumer is busy is over when it comes back", () =>
    Effect.gen(function* () {
      const trace = yield* play([[call("a")]], hanging, {
        abortOn: (event) => event.type === "tool_execution_start",
        onEvents: (events) =>
          events.some(({ type }) => type === "tool_execution_start") ? Effect.sleep(60_000) : Effect.void
      })
      // The tool had not been started when the run was aborted, so there is nothing to wait for.
      expect(trace.endedAt).toBe(60_000)
      expect(trace.resultTexts).toEqual(["Operation aborted"])
    })
  )
})

describe("whatever else is deaf", () => {
  for (const [name, wait] of Object.entries(deaf)) {
    it.effect(`a provider: ${name}`, () =>
      Effect.gen(function* () {
        const stuck = provider(() =>
          Stream.concat(
            Stream.fromIterable([
              { type: "start" as const },
              { type: "text_start" as const, contentIndex: 0 },
              { type: "text_delta" as const, contentIndex: 0, delta: "kept" }
            ]),
            Stream.fromEffect(wait)
          )
        )
        const trace = yield* play(stuck, {}, { abortAt })
        expect(trace).toMatchObject(over)
        expect(trace.responses[0]).toMatchObject({ stopReason: "aborted", content: [{ text: "kept" }] })
      })
    )

    for (const hook of ["transformContext", "convertToLlm"] as const) {
      it.effect(`${hook}: ${name}`, () =>
        Effect.gen(function* () {
          const trace = yield* play([[say("never")]], { hooks: { [hook]: () => wait } }, { abortAt })
          expect(trace).toMatchObject(over)
          expect(trace.responses[0]).toMatchObject({ stopReason: "aborted", content: [] })
        })
      )
    }

    for (const hook of ["prepareNextTurn", "shouldStopAfterTurn"] as const) {
      it.effect(`${hook}: ${name}`, () =>
        Effect.gen(function* () {
          const trace = yield* play([[say("ok")]], { hooks: { [hook]: () => wait } }, { abortAt })
          expect(trace).toMatchObject(over)
          expect(trace.outline.slice(3)).toEqual(["assistant stop", "turn)", "run) aborted"])
        })
      )
    }

    it.effect(`beforeToolCall: ${name}`, () =>
      Effect.gen(function* () {
        const trace = yield* play(
          [[call("a"), call("b")]],
          {
            tools: [tool("a"), tool("b")],
            hooks: { beforeToolCall: ({ toolCall }) => (toolCall.id === "b" ? wait : Effect.succeed(Hooks.allow)) }
          },
          { abortAt }
        )
        expect(trace).toMatchObject(over)
        expect(trace.resultTexts).toEqual(["Operation aborted", "Operation aborted"])
      })
    )

    it.effect(`exclusive: ${name}`, () =>
      Effect.gen(function* () {
        const trace = yield* play(
          [[call("a")]],
          { tools: [tool("a", undefined, { exclusive: () => wait })] },
          { abortAt }
        )
        expect(trace).toMatchObject(over)
        expect(trace.resultTexts).toEqual(["Operation aborted"])
      })
    )

    it.effect(`the polls: ${name}`, () =>
      Effect.gen(function* () {
        const first = yield* play([[say("never")]], { steering: wait }, { abortAt })
        expect(first).toMatchObject(over)
        expect(first.outline.slice(3)).toEqual(["assistant aborted", "turn)", "run) aborted"])
        const followUp = yield* play([[say("ok")]], { followUp: wait }, { abortAt })
        expect(followUp).toMatchObject(over)
      })
    )

    it.effect(`the retry policy and the API key: ${name}`, () =>
      Effect.gen(function* () {
        const retry = yield* play([[say("kept"), failing("busy", true)]], { retry: policy(() => wait) }, { abortAt })
        expect(retry).toMatchObject(over)
        expect(retry.responses[0]).toMatchObject({ stopReason: "aborted", content: [{ text: "kept" }] })
        const key = yield* play([[say("never")]], { resolveApiKey: () => wait }, { abortAt })
        expect(key).toMatchObject(over)
      })
    )
  }

  it.effect("a provider whose stream cannot be opened", () =>
    Effect.gen(function* () {
      const stuck = provider(() => Stream.unwrap(Effect.uninterruptible(Effect.never)))
      expect(yield* play(stuck, {}, { abortAt })).toMatchObject(over)
    })
  )

  it.effect("a provider whose stream cannot be closed, after a whole response", () =>
    Effect.gen(function* () {
      const stuck = provider(() =>
        Stream.ensuring(
          Stream.fromIterable([
            { type: "text_start" as const, contentIndex: 0 },
            { type: "done" as const, reason: "stop" as const }
          ]),
          Effect.never
        )
      )
      const trace = yield* play(stuck, { followUp: Effect.succeed([user("never")]) }, { abortAt })
      expect(trace).toMatchObject(over)
      expect(of(trace, "agent_end")).toHaveLength(1)
    })
  )

  it.effect("what is left behind has its scope closed: what can react is still cleaned up", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const tools = [
        tool("deaf", () => deaf["uninterruptible for ever"]!),
        tool("slow", () =>
          Effect.onInterrupt(Effect.never, () =>
            Effect.delay(
              Effect.sync(() => void seen.push("cleaned")),
              20_000
            )
          )
        )
      ]
      const trace = yield* play([[call("deaf"), call("slow")]], { tools }, { abortAt })
      expect(trace.endedAt).toBe(5100)
      expect(trace.resultTexts).toEqual([STILL_RUNNING, STILL_RUNNING])
      expect(seen).toEqual(["cleaned"])
    })
  )

  it.effect("the stream of a deaf provider is closed when the grace period is over, however slow the consumer", () =>
    Effect.gen(function* () {
      const closed: Array<number> = []
      const stuck = provider(() =>
        Stream.ensuring(
          Stream.concat(Stream.make({ type: "start" as const }), Stream.fromEffect(deaf["uninterruptible for ever"]!)),
          Effect.map(Clock.currentTimeMillis, (now) => void closed.push(now))
        )
      )
      const isEnd = ({ type }: AgentEvent) => type === "turn_end" || type === "message_end"
      yield* play(
        stuck,
        { prompts: [] },
        { abortAt, onEvents: (events) => Effect.sleep(events.some(isEnd) ? "1 hour" : 0), within: "2 hours" }
      )
      expect(closed).toEqual([5100])
    })
  )

  it.effect("what comes loose while the run tells of its end does not tell it twice", () =>
    Effect.gen(function* () {
      const late = tool("late", () => Effect.uninterruptible(Effect.delay(Effect.succeed("late"), 6000)))
      const trace = yield* play(
        [[call("late")]],
        { tools: [late] },
        {
          abortAt,
          onEvents: (events) => Effect.sleep(events.some(({ type }) => type === "tool_execution_end") ? 10_000 : 0)
        }
      )
      expect(trace.outline.slice(4)).toEqual(["start late", "error late", "result late", "turn)", "run) aborted"])
      expect(trace.resultTexts).toEqual([STILL_RUNNING])
    })
  )

  it.effect("two deaf things one after the other cost one grace period", () =>
    Effect.gen(function* () {
      const trace = yield* play(
        [[say("x"), pause(1000)]],
        {
          hooks: { transformContext: () => deaf["uninterruptible for ever"]!, convertToLlm: () => Effect.never },
          followUp: Effect.never
        },
        { abortAt }
      )
      expect(trace).toMatchObject(over)
    })
  )
})
