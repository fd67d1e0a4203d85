// Leaving a response closes its connection, in whatever phase it is, and what had arrived is kept.
import { describe, expect, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import type { AgentEvent } from "../../../src/AgentEvent.ts"
import * as TraceChecker from "../../../src/testing/TraceChecker.ts"
import { requestOf, runOf } from "./play.ts"
import { type Answer, breaks, providerOf, serve, stalls, type TestServer } from "./server.ts"
import * as wire from "./wire.ts"
import { sse } from "./wire.ts"

const phases: ReadonlyArray<{
  readonly name: string
  readonly answer: Answer
  readonly content: ReadonlyArray<object>
}> = [
  { name: "before the headers", answer: () => {}, content: [] },
  {
    name: "after the headers",
    answer: (response) => void response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders(),
    content: []
  },
  { name: "after the start", answer: stalls(sse(wire.start())), content: [] },
  {
    name: "in a text",
    answer: stalls(
      sse(wire.start(), wire.begin(0, { type: "text", text: "" }), wire.delta(0, { type: "text_delta", text: "par" }))
    ),
    content: [{ type: "text", text: "par" }]
  },
  {
    name: "in a thought",
    answer: stalls(
      sse(
        wire.start(),
        wire.begin(0, { type: "thinking", thinking: "" }),
        wire.delta(0, { type: "thinking_delta", thinking: "hm" })
      )
    ),
    content: [{ type: "thinking", thinking: "hm" }]
  },
  {
    name: "in the arguments of a call",
    answer: stalls(
      sse(wire.start(), ...wire.text(0, "I will"), ...wire.call(1, "read", "toolu_1", '{"pa').slice(0, -1))
    ),
    content: [
      { type: "text", text: "I will" },
      { type: "toolCall", id: "toolu_1", name: "read", rawArguments: '{"pa' }
    ]
  },
  {
    name: "in the body of an error",
    answer: (response) => void response.writeHead(500, { "content-type": "application/json" }).write('{"type":'),
    content: []
  },
  {
    name: "in a document that is no stream",
    answer: (response) => void response.writeHead(200, { "content-type": "text/html" }).write("<html>"),
    content: []
  }
]

/** Starts a run, aborts it once it has told its last event, and gives its events. */
const aborted = Effect.fnUntraced(function* (server: TestServer, isLast: (event: AgentEvent) => boolean) {
  const recorder = TraceChecker.recorder()
  const reached = Deferred.makeUnsafe<void>()
  const fiber = yield* runOf(yield* providerOf(server), { tools: [] }).pipe(
    Stream.runForEachArray((events) =>
      Effect.sync(() => {
        for (const event of events) {
          recorder.add(event)
          if (isLast(event)) Deferred.doneUnsafe(reached, Effect.void)
        }
      })
    ),
    Effect.uninterruptible,
    Effect.forkChild({ startImmediately: true })
  )
  yield* Deferred.await(reached)
  yield* server.asked(0)
  yield* Fiber.interrupt(fiber)
  return recorder
})

describe("an abort", () => {
  it.live.each(phases)("$name closes the connection and keeps what had arrived", ({ answer, content }) =>
    Effect.gen(function* () {
      const server = yield* serve(answer)
      const isTold = (event: AgentEvent) =>
        event.type === "message_update" && event.message.content.length === content.length
      const recorder = yield* aborted(server, (event) =>
        content.length === 0 ? event.type === "turn_start" : isTold(event)
      )
      expect(yield* server.ended(0)).toBe("left")
      const { events } = recorder
      expect(recorder.check()).toMatchObject({ _tag: "None" })
      const ended = events.findLast((event) => event.type === "message_end")
      expect(ended?.message).toMatchObject({ role: "assistant", stopReason: "aborted", content })
      expect(events.at(-1)).toMatchObject({ type: "agent_end", reason: "aborted" })
      expect(server.requests.length).toBe(1)
    })
  )
})

describe("a consumer that leaves", () => {
  it.live.each(phases.slice(2, 6))("$name closes the connection", ({ answer }) =>
    Effect.gen(function* () {
      const server = yield* serve(answer)
      const provider = yield* providerOf(server)
      yield* provider.stream(requestOf()).pipe(Stream.take(1), Stream.runDrain)
      expect(yield* server.ended(0)).toBe("left")
    })
  )

  it.live("closes the connection of a run", () =>
    Effect.gen(function* () {
      const server = yield* serve(stalls(sse(wire.start(), ...wire.text(0, "a"))))
      const isUpdate = (event: AgentEvent) => event.type === "message_update"
      yield* runOf(yield* providerOf(server)).pipe(Stream.takeUntil(isUpdate), Stream.runDrain)
      expect(yield* server.ended(0)).toBe("left")
    })
  )
})

it.live("an abort while the key is being fetched sends nothing", () =>
  Effect.gen(function* () {
    const server = yield* serve(breaks(""))
    const asked = Deferred.makeUnsafe<void>()
    const resolveApiKey = () => Effect.andThen(Deferred.succeed(asked, undefined), Effect.never)
    const recorder = TraceChecker.recorder()
    const fiber = yield* runOf(yield* providerOf(server), { resolveApiKey }).pipe(
      Stream.runForEach((event) => Effect.sync(() => recorder.add(event))),
      Effect.uninterruptible,
      Effect.forkChild({ startImmediately: true })
    )
    yield* Deferred.await(asked)
    yield* Fiber.interrupt(fiber)
    expect(recorder.check()).toMatchObject({ _tag: "None" })
    expect(recorder.events.at(-1)).toMatchObject({ type: "agent_end", reason: "aborted" })
    expect(server.requests).toEqual([])
  })
)
