// The example backend over real HTTP: what many clients at once, a client that leaves, a slow one, and one that sends
// nonsense see of it, and what is left when it is closed.
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Queue from "effect/Queue"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { ServerResponse } from "node:http"
import { setImmediate as nextTask } from "node:timers/promises"
import type { WireEvent } from "../examples/backend/events.ts"
import { WATCH_BUFFER } from "../src/Agent.ts"
import type { AgentState } from "../src/AgentState.ts"
import type * as Scripted from "../src/providers/Scripted.ts"
import { type Answer, gate, scripts, SECRET, serve, streamedText, textOf, toldMessages } from "./support/backend.ts"
import { call, pause, say, tool } from "./support/make.ts"

/** Resolves when the server has noticed that a client went away. */
const gone = (response: ServerResponse) =>
  Effect.callback<void>((resume) => {
    response.once("close", () => resume(Effect.void))
  })

const isDelta = (event: WireEvent): boolean =>
  event.type === "message_update" && event.assistantMessageEvent.type === "text_delta"

const is =
  (type: WireEvent["type"]) =>
  (event: WireEvent): boolean =>
    event.type === type

/** Reads events to the end, and does something when one of a type comes. */
const readTo = <R>(events: Stream.Stream<WireEvent>, type: WireEvent["type"], act: Effect.Effect<unknown, never, R>) =>
  events.pipe(
    Stream.tap((event) => (event.type === type ? act : Effect.void)),
    Stream.takeUntil(is("agent_end")),
    Stream.runCollect
  )

const stall: Scripted.Step = { type: "stall" }

/** A tool that an abort does not reach. */
const deaf = tool("deaf", () => Effect.uninterruptible(Effect.never))

/** What there is of sockets, servers and timers. */
const handles = (): ReadonlyArray<string> =>
  process
    .getActiveResourcesInfo()
    .filter((name) => /^TCP|Connect|Timeout/.test(name))
    .toSorted()

// First, while nothing of other tests is still open.
describe("shutdown", () => {
  it.live("settles every run, tells it to who reads, and leaves no handle open", () =>
    Effect.gen(function* () {
      const before = handles()
      const scope = yield* Scope.make()
      const { provider } = scripts((prompt) => (prompt === "deaf" ? [[call("deaf")]] : [[say("Half"), stall]]))
      const store = yield* Effect.gen(function* () {
        const { prompt, watch, ask, store, server } = yield* serve(provider, [deaf], scope)
        const read = Effect.fnUntraced(function* (events: Stream.Stream<WireEvent>, until: WireEvent["type"]) {
          const reached = Latch.makeUnsafe(false)
          const all = yield* events.pipe(
            Stream.tap((event) => (event.type === until ? reached.open : Effect.void)),
            Stream.runCollect,
            Effect.forkScoped
          )
          yield* reached.await
          return all
        })
        const reading = [
          yield* read(yield* prompt("deaf", "deaf"), "tool_execution_start"),
          yield* read(yield* prompt("stalled", "stalled"), "message_update"),
          yield* read(yield* watch("deaf"), "snapshot"),
          yield* read(yield* watch("stalled"), "snapshot")
        ]
        const closing = yield* Effect.forkScoped(Scope.close(scope, Exit.void), { startImmediately: true })
        const { status, body } = yield* ask("GET", "stalled/state")
        assert.strictEqual(status, 503)
        assert.deepInclude(body, { error: "ShuttingDown" })
        for (const events of yield* Fiber.joinAll(reading)) {
          assert.deepInclude(events.at(-1), { type: "agent_end", reason: "aborted" })
        }
        yield* Fiber.join(closing)
        assert.isFalse(server.listening)
        return store
      }).pipe(Effect.scoped)
      const { messages } = yield* store.load("deaf")
      assert.deepStrictEqual(
        messages.map(({ role }) => role),
        ["user", "assistant", "toolResult"]
      )
      assert.deepStrictEqual((yield* store.load("stalled")).messages.map(textOf), ["stalled", "Half"])
      // What was closed is gone in the next turn of the event loop but one.
      yield* Effect.promise(() => nextTask().then(() => nextTask()))
      assert.deepStrictEqual(handles(), before)
    }).pipe(Effect.timeout("4 seconds"))
  )
})

describe("runs", () => {
  it.live("go on in 200 conversations at once, each with tool calls, and nothing is mixed up", () =>
    Effect.gen(function* () {
      const count = 200
      const all = Latch.makeUnsafe(false)
      let waiting = 0
      const meet = tool("meet", () =>
        Effect.suspend(() => (++waiting === 2 * count ? all.open : all.await)).pipe(Effect.as("met"))
      )
      const { provider } = scripts((prompt) => [
        [say(`Calling for ${prompt}. `, 5), pause(0), call("meet", {}, "a"), call("meet", {}, "b")],
        [say("Done with "), pause(0), say(prompt, 2)]
      ])
      const { prompt, state } = yield* serve(provider, [meet])
      const converse = Effect.fnUntraced(function* (id: string) {
        const events = yield* Stream.runCollect(yield* prompt(id, `prompt of ${id}`))
        assert.strictEqual(streamedText(events), `Calling for prompt of ${id}. Done with prompt of ${id}`)
        assert.deepInclude(events.at(-1), { type: "agent_end", reason: "completed" })
        const { messages, isStreaming } = yield* state(id)
        assert.deepStrictEqual(toldMessages(events), messages)
        assert.deepStrictEqual(messages.map(textOf), [
          `prompt of ${id}`,
          `Calling for prompt of ${id}. `,
          "met",
          "met",
          `Done with prompt of ${id}`
        ])
        assert.isFalse(isStreaming)
      })
      const ids = Array.from({ length: count }, (_, index) => `c${index}`)
      yield* Effect.forEach(ids, converse, { concurrency: "unbounded", discard: true })
      assert.strictEqual(waiting, 2 * count)
    }).pipe(Effect.scoped)
  )

  it.live("go on when their client is cut off, and another tab sees the rest", () =>
    Effect.gen(function* () {
      const pass = Latch.makeUnsafe(false)
      const { provider } = scripts(() => [[say("First half, "), ...gate, say("second half.")]], pass.await)
      const { prompt, watch, state, responses } = yield* serve(provider)
      const seen = yield* (yield* prompt("c", "go")).pipe(Stream.takeUntil(isDelta), Stream.runCollect)
      yield* gone(responses[0]!)
      assert.strictEqual(streamedText(seen), "First half, ")

      const [first, ...rest] = yield* readTo(yield* watch("c"), "snapshot", pass.open)
      assert(first?.type === "snapshot")
      assert.isTrue(first.state.isStreaming)
      assert.notInclude(JSON.stringify(first), SECRET)
      assert.strictEqual(textOf(first.state.streamingMessage!), "First half, ")
      assert.strictEqual(streamedText(rest), "second half.")
      for (const event of rest.filter(isDelta))
        assert.deepStrictEqual(Object.keys(event), ["type", "assistantMessageEvent"])
      assert.deepInclude(rest.at(-1), { type: "agent_end", reason: "completed" })
      const { messages } = yield* state("c")
      assert.deepStrictEqual(messages.map(textOf), ["go", "First half, second half."])
      assert.deepStrictEqual(messages, [...first.state.messages, ...toldMessages(rest)])
    }).pipe(Effect.scoped)
  )

  it.live("are told whole to a tab that reads, and with a gap within a bound to one that does not", () =>
    Effect.gen(function* () {
      const delta = "x".repeat(4096)
      const [rounds, perRound] = [48, 100]
      const round = [say(delta.repeat(perRound), delta.length), ...gate]
      const read = yield* Queue.unbounded<void>()
      const { provider } = scripts(() => [Array.from({ length: rounds }, () => round).flat()], Queue.take(read))
      const { prompt, watch, state, responses } = yield* serve(provider)
      const fast = yield* prompt("c", "go")
      const slow = yield* watch("c")

      let deltas = 0
      let buffered = 0
      const told = yield* fast.pipe(
        Stream.tap((event) => {
          if (!isDelta(event) || ++deltas % (perRound + 1) !== perRound) return Effect.void
          buffered = Math.max(buffered, responses[1]!.writableLength)
          return Queue.offer(read, undefined)
        }),
        Stream.runCollect
      )
      assert.strictEqual(deltas, rounds * (perRound + 1))
      assert.isFalse(told.some(is("events_skipped")))
      assert.isAbove(buffered, 0)
      assert.isAtMost(buffered, (WATCH_BUFFER + 1) * (delta.length + 200))

      const [first, ...rest] = yield* slow.pipe(Stream.takeUntil(is("agent_end")), Stream.runCollect)
      assert(first?.type === "snapshot")
      const before = told.findIndex(is("message_update")) + perRound + 2
      const skipped = rest.flatMap((event) => (event.type === "events_skipped" ? [event.count] : []))
      assert.isNotEmpty(skipped)
      const sum = skipped.reduce((sum, count) => sum + count)
      assert.strictEqual(before + rest.length - skipped.length + sum, told.length)

      const last = rest.findLastIndex(is("events_skipped"))
      assert.isAtMost(rest.length - 1 - last, WATCH_BUFFER)
      const { messages } = (rest[last] as { readonly state: AgentState }).state
      assert.deepStrictEqual([...messages, ...toldMessages(rest.slice(last))], (yield* state("c")).messages)
    }).pipe(Effect.scoped)
  )

  it.live("are steered: the model sees the message before its next response", () =>
    Effect.gen(function* () {
      const go = Latch.makeUnsafe(false)
      const held = tool("held", () => Effect.as(go.await, "done"))
      const { provider, of } = scripts(() => [[call("held")], [say("I see.")]])
      const { prompt, steer, state, store } = yield* serve(provider, [held])
      const act = Effect.andThen(steer("c", "also this"), go.open)
      const events = yield* readTo(yield* prompt("c", "go"), "tool_execution_start", act)
      assert.deepStrictEqual(toldMessages(events).map(textOf), ["go", "", "done", "also this", "I see."])
      assert.deepStrictEqual(of("go").requests[1]?.messages.map(textOf), ["go", "", "done", "also this"])
      assert.isFalse((yield* state("c")).isQueued)
      assert.deepStrictEqual((yield* store.load("c")).queued, [])
    }).pipe(Effect.scoped)
  )

  it.live("end within the grace period when they are aborted; what waited is delivered by the next", () =>
    Effect.gen(function* () {
      const { provider } = scripts(() => [[call("deaf")], [say("Again.")]])
      const { prompt, steer, abort, state } = yield* serve(provider, [deaf])
      const act = Effect.andThen(steer("c", "also this"), abort("c"))
      const events = yield* readTo(yield* prompt("c", "go"), "tool_execution_start", act)
      assert.deepInclude(events.at(-1), { type: "agent_end", reason: "aborted" })
      assert.include(textOf(toldMessages(events).at(-1)!), "may still be running")
      assert.isTrue((yield* state("c")).isQueued)

      const next = yield* Stream.runCollect(yield* prompt("c", "again"))
      assert.deepStrictEqual(toldMessages(next).map(textOf), ["again", "also this", "Again."])
      assert.isFalse((yield* state("c")).isQueued)
    }).pipe(Effect.scoped, Effect.timeout("4 seconds"))
  )

  it.live("are one at a time: of two prompts at once one is refused, and the run does not notice", () =>
    Effect.gen(function* () {
      const pass = Latch.makeUnsafe(false)
      const { provider } = scripts(() => [[...gate, say("Done.")]], pass.await)
      const { prompt, refused, state } = yield* serve(provider)
      const events = yield* prompt("c", "one")
      const { status, body } = yield* refused("c", "two")
      assert.strictEqual(status, 409)
      assert.deepInclude(body, { error: "AgentBusy" })
      yield* pass.open
      assert.strictEqual(streamedText(yield* Stream.runCollect(events)), "Done.")
      assert.deepStrictEqual((yield* state("c")).messages.map(textOf), ["one", "Done."])
    }).pipe(Effect.scoped)
  )
})

describe("errors", () => {
  it.live("say what is wrong with a request", () =>
    Effect.gen(function* () {
      const { provider } = scripts(() => [[say("Hello.")]])
      const { prompt, ask } = yield* serve(provider)
      yield* Stream.runDrain(yield* prompt("c", "go"))
      const expectError = (answer: Answer, status: number, error: string, message: string) => {
        assert.strictEqual(answer.status, status, JSON.stringify(answer.body))
        const body = answer.body as Record<string, string>
        assert.deepStrictEqual(Object.keys(body), ["error", "message"])
        assert.strictEqual(body["error"], error)
        assert.include(body["message"], message)
      }
      expectError(yield* ask("POST", "c/prompt", "{ nonsense"), 400, "NotJson", "not JSON")
      expectError(yield* ask("POST", "c/prompt", ""), 400, "InvalidRequest", "Expected object")
      expectError(yield* ask("POST", "c/prompt", `{ "text": 3 }`), 400, "InvalidRequest", `at ["text"]`)
      expectError(yield* ask("POST", "c/prompt", `{ "text": "" }`), 400, "InvalidRequest", `at ["text"]`)
      expectError(yield* ask("POST", "c/prompt", `{}`), 400, "InvalidRequest", `at ["text"]`)
      expectError(yield* ask("POST", "c%20d/prompt", `{ "text": "x" }`), 400, "InvalidRequest", `at ["id"]`)
      const tooLarge = JSON.stringify({ text: "x".repeat(256 * 1024) })
      expectError(yield* ask("POST", "c/prompt", tooLarge), 413, "BodyTooLarge", "too large")
      const form = { "content-type": "text/plain" }
      expectError(
        yield* ask("POST", "c/prompt", `{ "text": "x" }`, form),
        415,
        "UnsupportedMediaType",
        "application/json"
      )
      expectError(yield* ask("POST", "c/steer", `{ "text": "x" }`), 409, "NotRunning", "not running")
      expectError(yield* ask("POST", "other/steer", `{ "text": "x" }`), 404, "ConversationNotFound", `"other"`)
      expectError(yield* ask("POST", "other/abort"), 404, "ConversationNotFound", `"other"`)
      expectError(yield* ask("GET", "other/state"), 404, "ConversationNotFound", `"other"`)
      expectError(yield* ask("GET", "other/events"), 404, "ConversationNotFound", `"other"`)
      expectError(yield* ask("GET", "c/nothing"), 404, "RouteNotFound", "nothing here")
      expectError(yield* ask("PUT", "c/prompt", `{ "text": "x" }`), 404, "RouteNotFound", "nothing here")
    }).pipe(Effect.scoped)
  )
})
