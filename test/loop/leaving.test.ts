// A consumer that leaves its stream early (A9): the run ends, streams and tools are closed, and nothing goes on behind it.
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import type { AgentEvent } from "../../src/AgentEvent.ts"
import * as Scripted from "../../src/providers/Scripted.ts"
import { call, failing, pause, say, tool } from "../support/make.ts"
import { type Options, settle, stream } from "../support/play.ts"

/** A tool that tells of its life, once to the consumer too, and takes so long to close. */
const watched = (life: Array<string>, closing: Effect.Effect<unknown> = Effect.void) =>
  tool("a", (_, { update }) =>
    Effect.sync(() => void life.push("started")).pipe(
      Effect.andThen(update("running")),
      Effect.andThen(Effect.sleep("1 hour")),
      Effect.onInterrupt(() =>
        Effect.andThen(
          closing,
          Effect.sync(() => void life.push("closed"))
        )
      ),
      Effect.as("done")
    )
  )

type Leave = (run: Stream.Stream<AgentEvent>) => Effect.Effect<unknown>

const isUpdate = (event: AgentEvent) => event.type === "tool_execution_update"

/** Ways to leave a run in the middle of a batch: at the update of its tool, or after 50 ms. */
const leaving: Record<string, Leave> = {
  take: (run) => Stream.runDrain(Stream.take(run, 11)),
  takeUntil: (run) => Stream.runDrain(Stream.takeUntil(run, isUpdate)),
  timeout: (run) => Effect.timeoutOption(Stream.runDrain(run), 50),
  interruptWhen: (run) => Stream.runDrain(Stream.interruptWhen(run, Effect.sleep(50))),
  interrupt: (run) =>
    Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(Stream.runDrain(run))
      yield* Effect.sleep(50)
      yield* Fiber.interrupt(fiber)
    }),
  "a failing consumer": (run) =>
    Effect.exit(Stream.runForEach(run, (event) => (isUpdate(event) ? Effect.fail("enough") : Effect.void))),
  "a dying consumer": (run) =>
    Effect.exit(Stream.runForEach(run, (event) => (isUpdate(event) ? Effect.die("bug") : Effect.void))),
  "a closed scope": (run) =>
    Effect.scoped(
      Effect.gen(function* () {
        const pull = yield* Stream.toPull(run)
        for (let pulls = 0; pulls < 4; pulls++) yield* Effect.orDie(pull)
      })
    ),
  "an iterator that is broken off": (run) =>
    Effect.promise(async () => {
      for await (const event of Stream.toAsyncIterable(run)) if (isUpdate(event)) break
    })
}

const leave = Effect.fnUntraced(function* (how: Leave, turn: Scripted.Turn, options: Options) {
  yield* TestClock.adjust(0)
  const scripted = yield* Scripted.make({ turns: [turn, [say("never")]] }, { arrays: Infinity })
  const fiber = yield* Effect.forkDetach(
    Effect.andThen(
      how(stream(scripted, options)),
      Effect.clockWith((clock) => clock.currentTimeMillis)
    )
  )
  yield* settle
  yield* TestClock.adjust(100)
  yield* settle
  const early = fiber.pollUnsafe()
  yield* TestClock.adjust("10 minutes")
  yield* settle
  const exit = fiber.pollUnsafe()
  return { scripted, wasEarly: early !== undefined, endedAt: exit && Exit.isSuccess(exit) ? exit.value : undefined }
})

describe("leaving while a tool runs", () => {
  for (const [name, how] of Object.entries(leaving)) {
    it.effect(`${name}: the tool is closed, nothing more is asked`, () =>
      Effect.gen(function* () {
        const life: Array<string> = []
        const { scripted, wasEarly } = yield* leave(how, [call("a")], { tools: [watched(life)] })
        expect([wasEarly, life]).toEqual([true, ["started", "closed"]])
        expect(scripted.requests).toHaveLength(1)
        expect(scripted.streams).toEqual({ opened: 1, closed: 1 })
      })
    )

    // `toAsyncIterable` runs on default services, the real clock among them.
    if (name.includes("iterator")) continue

    it.effect(`${name}: a tool that does not close holds it for the grace period`, () =>
      Effect.gen(function* () {
        const life: Array<string> = []
        const { endedAt } = yield* leave(how, [call("a")], { tools: [watched(life, Effect.never)] })
        expect(life).toEqual(["started"])
        expect(endedAt).toBe(["timeout", "interruptWhen", "interrupt"].includes(name) ? 5050 : 5000)
      })
    )
  }
})

describe("leaving while a response streams", () => {
  const turn = [say("one"), pause(1000), say("two")]
  const text = (event: AgentEvent) => event.type === "message_update"

  const ways: Record<string, Leave> = {
    take: (run) => Stream.runDrain(Stream.take(run, 6)),
    takeUntil: (run) => Stream.runDrain(Stream.takeUntil(run, text)),
    timeout: (run) => Effect.timeoutOption(Stream.runDrain(run), 50)
  }
  for (const [name, how] of Object.entries(ways)) {
    it.effect(`${name}: its stream is closed`, () =>
      Effect.gen(function* () {
        const { scripted, wasEarly } = yield* leave(how, turn, {})
        expect(wasEarly).toBe(true)
        expect(scripted.streams).toEqual({ opened: 1, closed: 1 })
      })
    )
  }
})

describe("leaving elsewhere", () => {
  it.effect("before the first event: nothing was begun", () =>
    Effect.gen(function* () {
      const { scripted, wasEarly } = yield* leave((run) => Stream.runDrain(Stream.take(run, 0)), [say("x")], {})
      expect([wasEarly, scripted.requests.length]).toEqual([true, 0])
    })
  )

  it.effect("in a hook or a poll that hangs: it is interrupted", () =>
    Effect.gen(function* () {
      for (const place of ["hook", "poll"]) {
        let interrupted = 0
        const hanging = Effect.onInterrupt(Effect.never, () => Effect.sync(() => void interrupted++))
        const { wasEarly } = yield* leave(
          (run) => Effect.timeoutOption(Stream.runDrain(run), 50),
          [say("x")],
          place === "hook" ? { hooks: { transformContext: () => hanging } } : { steering: hanging }
        )
        expect([wasEarly, interrupted]).toEqual([true, 1])
      }
    })
  )

  it.effect("in the wait before a retry: no further attempt", () =>
    Effect.gen(function* () {
      const { scripted, wasEarly } = yield* leave(
        (run) => Effect.timeoutOption(Stream.runDrain(run), 50),
        [failing("busy", true)],
        { retry: Schedule.spaced("1 second") }
      )
      expect([wasEarly, scripted.requests.length]).toEqual([true, 1])
    })
  )

  it.effect("after the end: there is nothing to wait for", () =>
    Effect.gen(function* () {
      const life: Array<string> = []
      const { wasEarly, scripted } = yield* leave((run) => Stream.runDrain(run), [say("x")], { tools: [watched(life)] })
      expect([wasEarly, scripted.streams.closed]).toEqual([true, 1])
    })
  )

  it.effect("no unhandled rejection comes of 200 runs that are left at once (A7)", () =>
    Effect.gen(function* () {
      const rejections: Array<unknown> = []
      const note = (reason: unknown) => rejections.push(reason)
      process.on("unhandledRejection", note)
      for (let run = 0; run < 200; run++) {
        const life: Array<string> = []
        const late = tool("a", (_, { update }) =>
          Effect.as(Effect.forkDetach(Effect.delay(update("late"), 10)), "settled")
        )
        yield* leave((events) => Stream.runDrain(Stream.take(events, run % 14)), [call("a"), call("b")], {
          tools: [late, tool("b", () => Effect.promise(() => Promise.reject(new Error(`b ${life.length}`))))]
        })
      }
      process.off("unhandledRejection", note)
      expect(rejections).toEqual([])
    })
  )
})
