// Values that the types forbid, from applications, providers and models: each is an error of whoever gave it. No run hangs,
// no stream dies, and nothing gets into an event that is not data.
import { describe, expect, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import * as Scripted from "../../src/providers/Scripted.ts"
import type { ProviderEvent } from "../../src/services/Provider.ts"
import { call, failing, provider, rawCall, say, slow, tool, untyped } from "../support/make.ts"
import { type Options, of, play, stream } from "../support/play.ts"

const ok = [say("ok")]

describe("a tool that gives", () => {
  const cyclic: Record<string, unknown> = {}
  cyclic["self"] = cyclic
  const deep = JSON.parse(`${"[".repeat(20_000)}${"]".repeat(20_000)}`) as unknown
  const results: Record<string, unknown> = {
    "a getter that throws": {
      get content() {
        throw new Error("getter")
      }
    },
    "details that contain themselves": { content: [], details: cyclic },
    "details that nest very deeply": { content: [], details: deep },
    "content that is a text": { content: "text" },
    "a content block that is a text": { content: ["text"] },
    "details that are not JSON": { details: new Map() },
    "a terminate that is a text": { terminate: "yes" }
  }
  for (const [name, result] of Object.entries(results)) {
    it.effect(`${name} has an error result, and the other calls go on`, () =>
      Effect.gen(function* () {
        const giving = tool(
          "a",
          untyped(() => Effect.succeed(result))
        )
        const trace = yield* play([[call("a"), call("b")], ok], { tools: [giving, tool("b")] })
        expect(trace.resultTexts).toEqual([expect.stringContaining("The tool gave a result"), "b done"])
        expect(trace.results[0]).toMatchObject({ isError: true, details: {} })
        expect(trace.reason).toBe("completed")
      })
    )

    it.effect(`${name} as an update is not told, and goes on`, () =>
      Effect.gen(function* () {
        const reporting = tool("a", (_, { update }) => Effect.as(update(untyped(result)), "a done"))
        const trace = yield* play([[call("a")], ok], { tools: [reporting] })
        expect(of(trace, "tool_execution_update")).toEqual([])
        expect(trace.resultTexts).toEqual(["a done"])
      })
    )
  }

  it.effect("details that are undefined has none", () =>
    Effect.gen(function* () {
      const giving = tool(
        "a",
        untyped(() => Effect.succeed({ content: [], details: undefined }))
      )
      const trace = yield* play([[call("a")], ok], { tools: [giving] })
      expect(trace.results[0]).not.toHaveProperty("details")
      expect(trace.results[0]?.isError).toBe(false)
    })
  )

  it.effect("nothing as an update goes on to its result", () =>
    Effect.gen(function* () {
      for (const nothing of [undefined, null, 5, []]) {
        const reporting = tool("a", (_, { update }) =>
          Effect.as(Effect.andThen(update(untyped(nothing)), Effect.sleep(10)), "a done")
        )
        const trace = yield* play([[call("a")], ok], { tools: [reporting] })
        expect([of(trace, "tool_execution_update").length, trace.resultTexts]).toEqual([0, ["a done"]])
      }
    })
  )
})

it.effect("the fiber of one call may be interrupted by others: that call alone has an error result", () =>
  Effect.gen(function* () {
    for (const toolExecution of ["parallel", "sequential"] as const) {
      let running: Fiber.Fiber<unknown, unknown> | undefined
      const cancelled = tool("a", () =>
        Effect.withFiber((fiber) => {
          running = fiber
          return Effect.never
        })
      )
      yield* Effect.forkChild(
        Effect.delay(
          Effect.sync(() => running?.interruptUnsafe()),
          10
        )
      )
      const trace = yield* play([[call("a"), call("b")], ok], { tools: [cancelled, slow("b", 50)], toolExecution })
      expect(trace.resultTexts).toEqual(["The tool was interrupted.", "b done"])
      expect(trace.reason).toBe("completed")
    }
  })
)

describe("an error response comes of", () => {
  const gives = (value: unknown) => untyped<() => Effect.Effect<never>>(() => Effect.succeed(value))
  const cases: Record<string, Options> = {
    "convertToLlm that gives nothing": { hooks: { convertToLlm: gives(undefined) } },
    "convertToLlm that gives a list of nothing": { hooks: { convertToLlm: gives([null]) } },
    "transformContext that gives a text": { hooks: { transformContext: gives("messages") } },
    "transformContext that gives null": { hooks: { transformContext: gives(null) } },
    "prepareNextTurn that gives a context without messages": { hooks: { prepareNextTurn: gives({ context: {} }) } },
    "prepareNextTurn that gives a text": { hooks: { prepareNextTurn: gives("next") } },
    "a steering poll that gives nothing": { steering: Effect.suspend(gives(undefined)) },
    "a follow-up poll that gives a message that is null": { followUp: Effect.suspend(gives([null])) },
    "a key that is a plain text": { resolveApiKey: gives("sk-plain") }
  }
  for (const [name, options] of Object.entries(cases)) {
    it.effect(name, () =>
      Effect.gen(function* () {
        const trace = yield* play([ok, ok], options)
        expect(trace.reason).toBe("error")
        expect(trace.responses.at(-1)?.errorMessage).toBeTruthy()
      })
    )
  }

  it.effect("a retry policy that is no Schedule, or whose steps give no delay", () =>
    Effect.gen(function* () {
      const stepsGiving = (value: unknown) =>
        Schedule.fromStep(Effect.succeed(() => untyped<Effect.Effect<never>>(value)))
      const values = [undefined, 5, Duration.seconds(1), [undefined, 5]].map((value) => Effect.succeed(value))
      for (const retry of [gives(undefined), {}, 5, ...[undefined, ...values].map(stepsGiving)]) {
        const trace = yield* play([[failing("busy", true)], ok], { retry: untyped(retry) })
        expect([trace.reason, trace.requests.length]).toEqual(["error", 1])
        expect(trace.responses[0]?.errorMessage).toMatch(/retry policy/)
      }
    })
  )

  it.effect("a failure that is to be retried after an infinite time", () =>
    Effect.gen(function* () {
      const trace = yield* play([[failing("busy", true)], ok], { retry: Schedule.spaced(Duration.infinity) })
      expect(trace.responses[0]?.errorMessage).toBe("busy")
    })
  )
})

it.effect("beforeToolCall that gives no decision refuses the call", () =>
  Effect.gen(function* () {
    for (const decision of [undefined, null, true, {}]) {
      const trace = yield* play([[call("a")], ok], {
        tools: [tool("a")],
        hooks: { beforeToolCall: untyped(() => Effect.succeed(decision)) }
      })
      expect([trace.results[0]?.isError, trace.reason]).toEqual([true, "completed"])
    }
  })
)

describe("a provider that gives", () => {
  const start = { type: "start" }
  const streams: Record<string, ReadonlyArray<unknown>> = {
    "a call without an id": [start, { type: "toolcall_start", contentIndex: 0, name: "a" }],
    "a call without a name": [start, { type: "toolcall_start", contentIndex: 0, id: "a" }],
    "an index that is a text": [
      start,
      { type: "text_start", contentIndex: 0 },
      { type: "text_delta", contentIndex: "0", delta: "x" }
    ],
    "a stop reason that nobody knows": [start, { type: "done", reason: "tired" }],
    "a signature that is no text": [start, { type: "thinking_start", contentIndex: 0, signature: 5 }],
    "a usage that is incomplete": [start, { type: "done", reason: "stop", usage: { input: 1 } }],
    "an unknown block without data": [start, { type: "other", contentIndex: 0 }],
    "an unknown block with data that is not JSON": [start, { type: "other", contentIndex: 0, data: new Map() }]
  }
  for (const [name, events] of Object.entries(streams)) {
    it.effect(`${name}: an error response`, () =>
      Effect.gen(function* () {
        const done = { type: "done", reason: "stop" }
        const trace = yield* play(provider(() => Stream.fromIterable([...events, done] as Array<ProviderEvent>)))
        expect(trace.reason).toBe("error")
        expect(trace.responses[0]?.errorMessage).toContain("makes no sense")
      })
    )
  }
})

describe("a model that has lost its way", () => {
  const depth = 20_000
  const open = `{"a":${"[".repeat(depth)}`

  it.effect("nests its arguments very deeply: the call is refused, and every event can be written as JSON", () =>
    Effect.gen(function* () {
      for (const text of [open, `${open}${"]".repeat(depth)}}`, `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`]) {
        const scripted = yield* Scripted.make({ turns: [[rawCall("a", text)], ok] })
        let lines = 0
        const last = yield* stream(scripted, { tools: [tool("a")] }).pipe(
          Stream.tap((event) =>
            Effect.sync(() => {
              JSON.stringify(event)
              lines++
            })
          ),
          Stream.runLast
        )
        expect(lines).toBeGreaterThan(10)
        expect(Option.getOrUndefined(last)).toMatchObject({ type: "agent_end", reason: "completed" })
      }
    })
  )

  it.effect("sends a number beyond all numbers: the call is refused, and shown what arrived", () =>
    Effect.gen(function* () {
      const trace = yield* play([[rawCall("a", '{"n":1e999}')], ok], { tools: [tool("a")] })
      expect(trace.results[0]?.isError).toBe(true)
      expect(trace.resultTexts[0]).toContain("1e999")
    })
  )

  it.effect("may nest as deeply as anyone would", () =>
    Effect.gen(function* () {
      const text = `{"a":${"[".repeat(100)}${"]".repeat(100)}}`
      const trace = yield* play([[rawCall("a", text)], ok], { tools: [tool("a")] })
      expect(trace.resultTexts).toEqual(["a done"])
    })
  )
})
