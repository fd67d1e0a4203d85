// How long a server may be silent: what counts as silence, and what does not. The time is virtual, the connection is not.
import { describe, expect, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import type { ServerResponse } from "node:http"
import * as Idle from "../../../src/providers/anthropic/idle.ts"
import type { Options } from "../../../src/providers/Anthropic.ts"
import type { ProviderEvent } from "../../../src/services/Provider.ts"
import { read, requestOf } from "./play.ts"
import { providerOf, serve, stalls } from "./server.ts"
import * as wire from "./wire.ts"
import { sse } from "./wire.ts"

/** A response whose server does what the test says, when it says so. */
const conversation = Effect.fnUntraced(function* (options: Options = {}) {
  let response: ServerResponse | undefined
  const server = yield* serve((each) => {
    response = each
    stalls(sse(wire.start(), wire.begin(0, { type: "thinking", thinking: "" })))(each)
  })
  let seen = ""
  let told = Deferred.makeUnsafe<void>()
  const onEvent = (event: ProviderEvent) =>
    Effect.sync(() => {
      if ("delta" in event) seen += event.delta
      Deferred.doneUnsafe(told, Effect.void)
    })
  const provider = yield* providerOf(server, options)
  const fiber = yield* provider
    .stream(requestOf())
    .pipe(Stream.runForEach(onEvent), Effect.flip, Effect.forkChild({ startImmediately: true }))
  yield* Deferred.await(told)
  return {
    server,
    fiber,
    /** Has something sent, and waits until the client has told the delta that is in it. */
    send: (...events: ReadonlyArray<wire.WireEvent>) =>
      Effect.suspend(() => {
        told = Deferred.makeUnsafe()
        response!.write(sse(...events))
        return Deferred.await(told)
      }),
    seen: () => seen
  }
})

const thinks = (thinking: string) => wire.delta(0, { type: "thinking_delta", thinking })

describe("a silent server", () => {
  it.effect("fails after five minutes, retryably, with what it has cost, and its connection is closed", () =>
    Effect.gen(function* () {
      const { fiber, server } = yield* conversation()
      yield* TestClock.adjust("299 seconds")
      expect(fiber.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust("1 second")
      expect(yield* Fiber.join(fiber)).toMatchObject({
        reason: "idle",
        retryable: true,
        usage: { input: 10, output: 1 }
      })
      expect(yield* server.ended(0)).toBe("left")
    })
  )

  it.effect("is not silent while it thinks", () =>
    Effect.gen(function* () {
      const { fiber, send, seen } = yield* conversation()
      for (let n = 0; n < 3; n++) {
        yield* TestClock.adjust("299 seconds")
        yield* send(thinks("hm "))
      }
      yield* TestClock.adjust("299 seconds")
      expect(fiber.pollUnsafe()).toBeUndefined()
      expect(seen()).toBe("hm hm hm ")
      yield* TestClock.adjust("1 second")
      expect((yield* Fiber.join(fiber)).message).toMatch(/^There was nothing from http.* for 300 seconds\.$/)
    })
  )

  it.effect("is silent before the headers, too, and in the body of an error", () =>
    Effect.gen(function* () {
      const server = yield* serve(
        () => {},
        (response) => void response.writeHead(500).write("{")
      )
      const provider = yield* providerOf(server, { idleLimit: "1 second" })
      for (const n of [0, 1]) {
        const fiber = yield* Effect.forkChild(read(provider), { startImmediately: true })
        yield* server.asked(n)
        yield* TestClock.adjust("1 second")
        expect((yield* Fiber.join(fiber)).error).toMatchObject({ reason: "idle", retryable: true })
        expect(yield* server.ended(n)).toBe("left")
      }
    })
  )

  it.effect("may be silent for as long as it likes without a limit", () =>
    Effect.gen(function* () {
      const { fiber, send } = yield* conversation({ idleLimit: 0 })
      yield* TestClock.adjust("10 days")
      yield* send(thinks("at last"))
      expect(fiber.pollUnsafe()).toBeUndefined()
      yield* Fiber.interrupt(fiber)
    })
  )

  it.effect("is not to blame for a consumer that takes its time", () =>
    Effect.gen(function* () {
      let response: ServerResponse | undefined
      const server = yield* serve((each) => {
        response = each
        stalls(sse(wire.start()))(each)
      })
      const types: Array<string> = []
      const takeTime = Effect.andThen(
        TestClock.adjust("1 hour"),
        Effect.sync(() => response?.end(sse(...wire.text(0, "a"), wire.stop)))
      )
      yield* (yield* providerOf(server)).stream(requestOf()).pipe(
        Stream.runForEach((event) => {
          types.push(event.type)
          return event.type === "start" ? takeTime : Effect.void
        })
      )
      expect(types).toEqual(["start", "text_start", "text_delta", "text_end", "done"])
    })
  )

  it.effect("is alive while anything else comes, also if nothing can be told of it yet", () =>
    Effect.gen(function* () {
      const signature = sse(wire.delta(0, { type: "signature_delta", signature: "c2ln" }))
      const thinking = sse(wire.start(), wire.begin(0, { type: "thinking", thinking: "" }))
      const { fiber, server, hungry } = yield* bodyOf(thinking, ...Array.from({ length: 4 }, () => signature))
      for (let n = 0; n < 4; n++) {
        yield* hungry
        yield* TestClock.adjust("299 seconds")
        expect(fiber.pollUnsafe()).toBeUndefined()
        server.next()
      }
      yield* hungry
      yield* TestClock.adjust("299 seconds")
      expect(fiber.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust("1 second")
      expect((yield* Fiber.join(fiber)).error).toMatchObject({ reason: "idle" })
    })
  )

  it.effect("is silent as long as there are only pings and comments", () =>
    Effect.gen(function* () {
      const { fiber, server, hungry } = yield* bodyOf(sse(wire.start()), sse(wire.ping), ": alive\n\n", sse(wire.ping))
      for (let n = 0; n < 3; n++) {
        // The client has taken in what came before, and waits for more.
        yield* hungry
        yield* TestClock.adjust("99 seconds")
        server.next()
      }
      yield* hungry
      expect(fiber.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust("3 seconds")
      expect((yield* Fiber.join(fiber)).error).toMatchObject({ reason: "idle" })
    })
  )
})

/** A response without a network, so that it can be seen when the client wants more of it. */
const bodyOf = Effect.fnUntraced(function* (...chunks: ReadonlyArray<string>) {
  const latch = Latch.makeUnsafe(false)
  let send = () => {}
  const rest = chunks.map((chunk) => new TextEncoder().encode(chunk))
  const fetch = async (_: unknown, init?: RequestInit) => {
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          init!.signal!.addEventListener("abort", () => controller.error(init!.signal!.reason))
        },
        pull: (controller) => {
          const chunk = rest.shift()
          if (rest.length === chunks.length - 1) return controller.enqueue(chunk!)
          latch.openUnsafe()
          return new Promise<void>((resolve) => {
            send = () => {
              latch.closeUnsafe()
              controller.enqueue(chunk!)
              resolve()
            }
          })
        }
      },
      { highWaterMark: 0 }
    )
    return new Response(body, { headers: { "content-type": "text/event-stream" } })
  }
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      const original = globalThis.fetch
      globalThis.fetch = fetch as typeof globalThis.fetch
      return original
    }),
    (original) => Effect.sync(() => void (globalThis.fetch = original))
  )
  const fiber = yield* Effect.forkChild(
    read(yield* providerOf({ url: "http://nowhere" }, { idleLimit: "300 seconds" }))
  )
  return { fiber, hungry: latch.await, server: { next: () => send() } }
})

it.effect("one timer serves a whole response, however many waits there are", () =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    let sleeps = 0
    const counting: Clock.Clock = {
      ...clock,
      currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe(),
      sleep: (duration) => {
        sleeps++
        return clock.sleep(duration)
      }
    }
    let isOver = false
    const watch = yield* Idle.watch(1_000, () => (isOver = true)).pipe(Effect.provideService(Clock.Clock, counting))
    for (let n = 0; n < 10_000; n++) {
      watch.begin()
      watch.end()
    }
    yield* TestClock.adjust("10300 millis")
    expect([sleeps, isOver]).toEqual([11, false])
    watch.begin()
    yield* TestClock.adjust("999 millis")
    expect(isOver).toBe(false)
    yield* TestClock.adjust("1 millis")
    expect([sleeps, isOver, watch.isIdle()]).toEqual([12, true, true])
  })
)
