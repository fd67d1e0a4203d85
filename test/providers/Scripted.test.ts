import { describe, expect, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as Scripted from "../../src/providers/Scripted.ts"
import { Provider, type ProviderEvent, type ProviderRequest } from "../../src/services/Provider.ts"

const request: ProviderRequest = {
  systemPrompt: undefined,
  messages: [],
  tools: undefined,
  model: { id: "m1", provider: "acme" },
  thinkingLevel: undefined,
  apiKey: undefined
}

/** The arrays in which one turn arrives, and how its stream ended. */
const playTurn = Effect.fnUntraced(function* (turn: Scripted.Turn, options?: Scripted.Options) {
  const scripted = yield* Scripted.make({ turns: [turn] }, options)
  const arrays: Array<ReadonlyArray<ProviderEvent>> = []
  const exit = yield* scripted.stream(request).pipe(
    Stream.runForEachArray((events) => Effect.sync(() => arrays.push(events))),
    Effect.exit
  )
  return { arrays, exit }
})

const eventsOf = (turn: Scripted.Turn) => Effect.map(playTurn(turn), ({ arrays }) => arrays.flat())

const errorOf = (exit: Exit.Exit<void, unknown>) => (Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined)

describe("turns", () => {
  it.effect("events are played as they are, each in an array of its own", () =>
    Effect.gen(function* () {
      const turn: Scripted.Turn = [
        { type: "text_start", contentIndex: 0 },
        { type: "thinking_start", contentIndex: 1, redacted: true, signature: "s" },
        { type: "text_delta", contentIndex: 0, delta: "a" },
        { type: "other", contentIndex: 2, data: { kind: 1 } },
        { type: "done", reason: "length", stopDetail: { type: "cut" } }
      ]
      const { arrays, exit } = yield* playTurn(turn)
      expect(arrays).toEqual(turn.map((event) => [event]))
      expect(Exit.isSuccess(exit)).toBe(true)
    })
  )

  it.effect("`arrays` is the greatest number of events in one array", () =>
    Effect.gen(function* () {
      const turn: Scripted.Turn = [{ type: "text", text: "abcdef", chunk: 1 }]
      const lengths = Effect.fnUntraced(function* (arrays: number | undefined) {
        return (yield* playTurn(turn, { arrays })).arrays.map((events) => events.length)
      })
      expect(yield* lengths(Infinity)).toEqual([10])
      expect(yield* lengths(4)).toEqual([4, 4, 2])
      for (const one of [1, 0, undefined]) expect(yield* lengths(one)).toEqual(Array.from({ length: 10 }, () => 1))
    })
  )

  it.effect("a wait lets virtual time pass and separates arrays", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(
        playTurn(
          [
            { type: "wait", ms: 5 },
            { type: "start" },
            { type: "wait", ms: 20 },
            { type: "text", text: "a" },
            { type: "wait", ms: 0 }
          ],
          { arrays: Infinity }
        )
      )
      yield* TestClock.adjust(24)
      expect(fiber.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust(1)
      const { arrays } = yield* Fiber.join(fiber)
      expect(arrays.map((events) => events.map((event) => event.type))).toEqual([
        ["start"],
        ["text_start", "text_delta", "text_end"],
        ["done"]
      ])
    })
  )

  it.effect("an error fails after what came before it, and is not retryable unless it says so", () =>
    Effect.gen(function* () {
      const usage = { input: 1, output: 2, cacheRead: 0, cacheWrite: 0, totalTokens: 3 }
      const { arrays, exit } = yield* playTurn([
        { type: "start" },
        { type: "error", reason: "network", message: "gone", usage }
      ])
      expect(arrays).toEqual([[{ type: "start" }]])
      expect(errorOf(exit)).toMatchObject({
        _tag: "ProviderError",
        reason: "network",
        message: "gone",
        retryable: false,
        usage
      })

      const retryable = yield* playTurn([
        { type: "error", reason: "rateLimit", message: "slow down", retryable: true, retryAfterMs: 7 }
      ])
      expect(errorOf(retryable.exit)).toMatchObject({ reason: "rateLimit", retryable: true, retryAfterMs: 7 })
    })
  )

  it.effect("a death is a defect", () =>
    Effect.gen(function* () {
      const { exit } = yield* playTurn([{ type: "start" }, { type: "die", message: "broken" }])
      expect(Exit.isFailure(exit) && Cause.hasDies(exit.cause)).toBe(true)
      expect(errorOf(exit)).toEqual(new Error("broken"))
    })
  )

  it.effect("a cut closes the stream without done", () =>
    Effect.gen(function* () {
      const { arrays, exit } = yield* playTurn([{ type: "text", text: "a" }, { type: "cut" }])
      expect(arrays.flat().map((event) => event.type)).toEqual(["start", "text_start", "text_delta", "text_end"])
      expect(Exit.isSuccess(exit)).toBe(true)
    })
  )

  it.effect("a stall never goes on, and can be interrupted", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(
        playTurn([{ type: "start" }, { type: "stall" }, { type: "text", text: "a" }])
      )
      yield* TestClock.adjust("1 day")
      expect(fiber.pollUnsafe()).toBeUndefined()
      yield* Fiber.interrupt(fiber)
      expect(fiber.pollUnsafe()).toSatisfy((exit: Exit.Exit<unknown>) => Exit.hasInterrupts(exit))
    })
  )
})

describe("a script that is none, as the types would say", () => {
  const step = { type: "txt", text: "hi" } as unknown as Scripted.Step
  it.effect("is refused before it plays, with the place of what is wrong", () =>
    Effect.gen(function* () {
      const made = yield* Effect.exit(Scripted.make({ turns: [[{ type: "text", text: "hi" }], [step]] }))
      const error = Exit.isFailure(made) ? Cause.squash(made.cause) : undefined
      expect(error).toBeInstanceOf(Scripted.InvalidScript)
      expect(String(error)).toContain("Expected a step: a whole block")
      expect(String(error)).toContain('["turns"][1][0]')
    })
  )
})

describe("whole blocks", () => {
  it.effect("take the next free index, with start before them and done at the end", () =>
    Effect.gen(function* () {
      const events = yield* eventsOf([
        { type: "wait", ms: 0 },
        { type: "thinking", text: "hm" },
        { type: "text_start", contentIndex: 1 },
        { type: "text", text: "" },
        { type: "toolCall", id: "c1", name: "read", arguments: { path: "a" } }
      ])
      expect(events).toEqual([
        { type: "start" },
        { type: "thinking_start", contentIndex: 0 },
        { type: "thinking_delta", contentIndex: 0, delta: "hm" },
        { type: "thinking_end", contentIndex: 0 },
        { type: "text_start", contentIndex: 1 },
        { type: "text_start", contentIndex: 2 },
        { type: "text_end", contentIndex: 2 },
        { type: "toolcall_start", contentIndex: 3, id: "c1", name: "read" },
        { type: "toolcall_delta", contentIndex: 3, delta: '{"path":"a"}' },
        { type: "toolcall_end", contentIndex: 3 },
        { type: "done", reason: "toolUse" }
      ])
    })
  )

  it.effect("start and done are not doubled", () =>
    Effect.gen(function* () {
      const events = yield* eventsOf([
        { type: "start" },
        { type: "text", text: "a" },
        { type: "text", text: "b" },
        { type: "done", reason: "length" }
      ])
      expect(events.filter((event) => event.type === "start")).toHaveLength(1)
      expect(events.filter((event) => event.type === "done")).toEqual([{ type: "done", reason: "length" }])
    })
  )

  it.effect("a turn of events alone gets no start, an empty one only done", () =>
    Effect.gen(function* () {
      expect(yield* eventsOf([{ type: "text_start", contentIndex: 0 }])).toEqual([
        { type: "text_start", contentIndex: 0 },
        { type: "done", reason: "stop" }
      ])
      expect(yield* eventsOf([])).toEqual([{ type: "done", reason: "stop" }])
    })
  )

  it.effect("raw arguments are streamed as they are; without arguments there is no delta", () =>
    Effect.gen(function* () {
      const events = yield* eventsOf([
        { type: "toolCall", id: "c1", name: "x", arguments: {}, rawArguments: '{"a": ' },
        { type: "toolCall", id: "c2", name: "x" }
      ])
      expect(events.filter((event) => event.type === "toolcall_delta")).toEqual([
        { type: "toolcall_delta", contentIndex: 0, delta: '{"a": ' }
      ])
    })
  )

  it.effect("deltas have the given length and never cut a surrogate pair", () =>
    Effect.gen(function* () {
      const deltas = Effect.fnUntraced(function* (text: string, chunk: number) {
        const events = yield* eventsOf([{ type: "text", text, chunk }])
        return events.flatMap((event) => (event.type === "text_delta" ? [event.delta] : []))
      })
      expect(yield* deltas("abcde", 2)).toEqual(["ab", "cd", "e"])
      expect(yield* deltas("a😀b😀", 2)).toEqual(["a", "😀", "b", "😀"])
      expect(yield* deltas("😀😀", 1)).toEqual(["😀", "😀"])
      expect(yield* deltas("\ude00a", 1)).toEqual(["\ude00", "a"])
    })
  )
})

describe("requests", () => {
  const script: Scripted.Script = { turns: [[{ type: "text", text: "one" }], [{ type: "text", text: "two" }]] }

  it.effect("the n-th request gets the n-th turn, and one beyond the last says that no turn is left", () =>
    Effect.gen(function* () {
      const scripted = yield* Scripted.make(script)
      const ask = (id: string) =>
        scripted.stream({ ...request, model: { id, provider: "acme" } }).pipe(
          Stream.filter((event) => event.type === "text_delta"),
          Stream.runCollect
        )
      const never = ask("never pulled")
      expect(yield* ask("first")).toMatchObject([{ delta: "one" }])
      expect(yield* ask("second")).toMatchObject([{ delta: "two" }])
      const error = yield* Effect.flip(ask("third"))
      expect(error).toMatchObject({ _tag: "ProviderError", retryable: false })
      expect(error.message).toBe("The script has no turn left: it has 2, and this is request 3.")
      expect(scripted.requests.map((made) => made.model.id)).toEqual(["first", "second", "third"])
      yield* Effect.flip(never)
      expect(scripted.requests.at(-1)?.model.id).toBe("never pulled")
    })
  )

  it.effect("streams are counted as open until their consumer closes them, however it leaves", () =>
    Effect.gen(function* () {
      const scripted = yield* Scripted.make({
        turns: [
          [{ type: "text", text: "a" }],
          [{ type: "text", text: "a" }],
          [{ type: "die", message: "no" }],
          [{ type: "stall" }]
        ]
      })
      const ask = scripted.stream(request)
      expect(scripted.streams).toEqual({ opened: 0, closed: 0 })
      yield* Stream.runDrain(ask)
      yield* ask.pipe(Stream.take(1), Stream.runDrain)
      yield* Effect.exit(Stream.runDrain(ask))
      expect(scripted.streams).toEqual({ opened: 3, closed: 3 })
      const fiber = yield* Effect.forkChild(Stream.runDrain(ask), { startImmediately: true })
      expect(scripted.streams).toEqual({ opened: 4, closed: 3 })
      yield* Fiber.interrupt(fiber)
      expect(scripted.streams).toEqual({ opened: 4, closed: 4 })
    })
  )

  it.effect("each build of a layer plays from the beginning", () =>
    Effect.gen(function* () {
      const ask = Effect.gen(function* () {
        const provider = yield* Provider
        yield* Stream.runDrain(provider.stream(request))
        return (yield* Scripted.Scripted).requests.length
      })
      const layer = Scripted.layer(script)
      expect(yield* Effect.provide(Effect.andThen(ask, ask), Layer.fresh(layer))).toBe(2)
      expect(yield* Effect.provide(ask, Layer.fresh(layer))).toBe(1)
      expect(yield* Effect.provide(ask, Scripted.layer(script))).toBe(1)
    })
  )
})

describe("scripts as text", () => {
  const refused = (turns: unknown) =>
    Scripted.parse(JSON.stringify({ turns })).pipe(
      Effect.flip,
      Effect.map((error) => error.message)
    )

  it.effect("a script is read from JSON", () =>
    Effect.gen(function* () {
      const script: Scripted.Script = {
        turns: [
          [
            { type: "text", text: "a", chunk: 2 },
            { type: "wait", ms: 5 },
            { type: "done", reason: "stop" }
          ],
          []
        ]
      }
      expect(yield* Scripted.parse(JSON.stringify(script))).toEqual(script)
    })
  )

  it.effect("what is wrong is named with its path", () =>
    Effect.gen(function* () {
      expect(yield* refused([[], [{ type: "text", text: 3 }]])).toBe(
        'Expected string, got 3\n  at ["turns"][1][0]["text"]'
      )
      expect(yield* refused([[{ type: "txt" }]])).toMatch(/^Expected a step: .*\n {2}at \["turns"\]\[0\]\[0\]$/)
      expect(yield* refused([[{ type: "error", reason: "network", message: "m", retriable: true }]])).toBe(
        'Unexpected key with value true\n  at ["turns"][0][0]["retriable"]'
      )
      expect(
        yield* refused([
          [
            { type: "text", text: "a", chunk: 0 },
            { type: "wait", ms: -1 }
          ]
        ])
      ).toBe(
        'Expected a value greater than 0, got 0\n  at ["turns"][0][0]["chunk"]\n' +
          'Expected a value greater than or equal to 0, got -1\n  at ["turns"][0][1]["ms"]'
      )
    })
  )

  it.effect("a text that is not JSON is told where it stops being so", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Scripted.parse('{ "turns": [}'))
      expect(error.message).toMatch(/^Not JSON: Unexpected token '}'/)
    })
  )
})
