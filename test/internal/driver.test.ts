import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { Driver, toStream } from "../../src/internal/driver.ts"
import { cleanup, EVENTS_PER_YIELD, type Program, repeat, wait, wasAborted } from "../../src/internal/program.ts"

const stream = (program: Program<string, never>) => toStream(() => program, "5 seconds")

/** Reads in an uninterruptible region, as a consumer does that wants the end of an aborted run. */
const readToEnd = (program: Program<string, never>, seen: Array<string>) =>
  Effect.uninterruptible(Stream.runForEach(stream(program), (event) => Effect.sync(() => seen.push(event))))

const deaf = Effect.uninterruptible(Effect.never)

describe("delivery", () => {
  it.effect("all events before a wait are delivered before it begins", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      yield* readToEnd(function* (run) {
        run.outbox.push("a", "b")
        yield* wait(Effect.sync(() => seen.push("wait 1")))
        run.outbox.push("c")
        yield* wait(Effect.sync(() => seen.push("wait 2")))
        run.outbox.push("d")
      }, seen)
      assert.deepStrictEqual(seen, ["a", "b", "wait 1", "c", "wait 2", "d"])
    })
  )

  it.effect("the events between two waits are one array", () =>
    Effect.gen(function* () {
      const arrays: Array<ReadonlyArray<string>> = []
      yield* Stream.runForEachArray(
        stream(function* (run) {
          run.outbox.push("a", "b")
          yield* wait(Effect.void)
          assert.strictEqual(run.outbox.length, 0)
          yield* wait(Effect.void)
          run.outbox.push("c")
        }),
        (events) => Effect.sync(() => arrays.push(events))
      )
      assert.deepStrictEqual(arrays, [["a", "b"], ["c"]])
    })
  )

  it.effect("a consumer that does not read stops the program at its next wait", () =>
    Effect.gen(function* () {
      let waits = 0
      const pull = yield* Stream.toPull(
        stream(function* (run) {
          while (true) {
            run.outbox.push("a")
            yield* wait(Effect.sync(() => waits++))
          }
        })
      )
      yield* pull
      yield* Effect.yieldNow
      assert.strictEqual(waits, 0)
      yield* pull
      yield* Effect.yieldNow
      assert.strictEqual(waits, 1)
    })
  )

  it.effect("a pull that is interrupted loses nothing, and the wait goes on", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const pull = yield* Stream.toPull(
        stream(function* (run) {
          yield* wait(Deferred.await(gate))
          run.outbox.push("a")
          yield* wait(Effect.void)
          run.outbox.push("b")
        })
      )
      const pulling = yield* Effect.forkChild(pull, { startImmediately: true })
      yield* Fiber.interrupt(pulling)
      yield* Deferred.succeed(gate, undefined)
      assert.deepStrictEqual(yield* pull, ["a"])
      assert.deepStrictEqual(yield* pull, ["b"])
      assert.isTrue(Exit.isFailure(yield* Effect.exit(pull)))
    })
  )

  it.effect("each consumer of a stream has a run of its own", () =>
    Effect.gen(function* () {
      let runs = 0
      const both = stream(function* (run) {
        run.outbox.push(`run ${++runs}`)
      })
      assert.deepStrictEqual(yield* Stream.runCollect(both), ["run 1"])
      assert.deepStrictEqual(yield* Stream.runCollect(both), ["run 2"])
    })
  )

  it.effect("others run after at most 1,024 events", () =>
    Effect.gen(function* () {
      let delivered = 0
      let before: number | undefined
      const half = Array.from({ length: EVENTS_PER_YIELD / 2 }, () => "a")
      const reading = yield* Stream.runForEachArray(
        stream(function* (run) {
          for (let i = 0; i < 8; i++) {
            run.outbox.push(...half)
            yield* wait(Effect.void)
          }
        }),
        (events) => Effect.sync(() => (delivered += events.length))
      ).pipe(Effect.forkChild({ startImmediately: true }))
      yield* Effect.sync(() => (before = delivered))
      yield* Fiber.join(reading)
      assert.isAtMost(before!, EVENTS_PER_YIELD)
      assert.strictEqual(delivered, 4 * EVENTS_PER_YIELD)
    })
  )

  it.effect("a defect of the program is one of the stream", () =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(
        Stream.runDrain(
          stream(function* () {
            throw new Error("broken program")
          })
        )
      )
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
    })
  )
})

describe("abort", () => {
  it.effect("ends the wait that it meets, and the rest is delivered", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const reading = yield* readToEnd(function* (run) {
        const exit = yield* wait(Effect.onInterrupt(Effect.never, () => Effect.sync(() => seen.push("finalizer"))))
        run.outbox.push(wasAborted(run, exit) ? "aborted" : "not aborted")
        const next = yield* wait(Effect.sync(() => seen.push("this wait does not begin")))
        run.outbox.push(wasAborted(run, next) ? "aborted again" : "not aborted")
        yield* cleanup(Effect.sync(() => seen.push("cleanup")))
        run.outbox.push("end")
      }, seen).pipe(Effect.forkChild({ startImmediately: true }))
      yield* Fiber.interrupt(reading)
      assert.deepStrictEqual(seen, ["finalizer", "aborted", "aborted again", "cleanup", "end"])
    })
  )

  it.effect("an interrupt that is not the run's abort is the wait's own affair", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      yield* readToEnd(function* (run) {
        const exit = yield* wait(Effect.interrupt)
        run.outbox.push(wasAborted(run, exit) ? "aborted" : "not aborted")
        const next = yield* wait(Effect.succeed("goes on"))
        run.outbox.push(Exit.isSuccess(next) ? next.value : "stopped")
      }, seen)
      assert.deepStrictEqual(seen, ["not aborted", "goes on"])
    })
  )

  it.effect("what a wait interrupts itself aborts the run, and no event is lost", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      let reading: Fiber.Fiber<void> | undefined
      const gate = yield* Deferred.make<void>()
      reading = yield* readToEnd(function* (run) {
        yield* wait(Deferred.await(gate))
        run.outbox.push("a")
        const exit = yield* wait(Effect.sync(() => reading!.interruptUnsafe()))
        run.outbox.push(wasAborted(run, exit) ? "stopped" : "finished")
        const next = yield* wait(Effect.void)
        run.outbox.push(wasAborted(run, next) ? "aborted" : "not aborted")
      }, seen).pipe(Effect.forkChild({ startImmediately: true }))
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.await(reading)
      assert.deepStrictEqual(seen, ["a", "stopped", "aborted"])
    })
  )

  it.effect("a deaf wait is left behind when the grace period is over", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const reading = yield* readToEnd(function* (run) {
        const exit = yield* wait(deaf)
        run.outbox.push(wasAborted(run, exit) ? "aborted" : "not aborted")
        yield* cleanup(deaf)
        run.outbox.push("end")
      }, seen).pipe(Effect.forkChild({ startImmediately: true }))
      const interrupting = yield* Effect.forkChild(Fiber.interrupt(reading), { startImmediately: true })
      yield* TestClock.adjust(4999)
      assert.deepStrictEqual(seen, [])
      yield* TestClock.adjust(1)
      yield* Fiber.join(interrupting)
      assert.deepStrictEqual(seen, ["aborted", "end"])
    })
  )

  it.effect("a deaf cleanup is left behind when the grace period is over", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const reading = yield* readToEnd(function* (run) {
        yield* wait(Effect.never)
        run.outbox.push("aborted")
        yield* cleanup(deaf)
        run.outbox.push("end")
      }, seen).pipe(Effect.forkChild({ startImmediately: true }))
      const interrupting = yield* Effect.forkChild(Fiber.interrupt(reading), { startImmediately: true })
      assert.deepStrictEqual(seen, ["aborted"])
      yield* TestClock.adjust("5 seconds")
      yield* Fiber.join(interrupting)
      assert.deepStrictEqual(seen, ["aborted", "end"])
    })
  )

  it.effect("after the grace period no wait begins, with or without events before it", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const reading = yield* readToEnd(function* (run) {
        yield* wait(deaf)
        yield* cleanup(deaf)
        yield* cleanup(deaf)
        run.outbox.push("a")
        yield* cleanup(deaf)
        run.outbox.push("end")
      }, seen).pipe(Effect.forkChild({ startImmediately: true }))
      const interrupting = yield* Effect.forkChild(Fiber.interrupt(reading), { startImmediately: true })
      yield* TestClock.adjust("5 seconds")
      yield* Fiber.join(interrupting)
      assert.deepStrictEqual(seen, ["a", "end"])
    })
  )

  it.effect("a wait that comes loose after it was left behind changes nothing", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const gate = yield* Deferred.make<void>()
      const reading = yield* readToEnd(function* (run) {
        yield* wait(Effect.uninterruptible(Deferred.await(gate)))
        run.outbox.push("end")
      }, seen).pipe(Effect.forkChild({ startImmediately: true }))
      const interrupting = yield* Effect.forkChild(Fiber.interrupt(reading), { startImmediately: true })
      yield* TestClock.adjust("5 seconds")
      yield* Fiber.join(interrupting)
      yield* Deferred.succeed(gate, undefined)
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(seen, ["end"])
    })
  )

  it.effect("the scope of the run is closed while a deaf wait still hangs", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const reading = yield* readToEnd(function* (run) {
        yield* cleanup(
          Scope.addFinalizer(
            run.scope,
            Effect.sync(() => seen.push("closed"))
          )
        )
        yield* wait(deaf)
        run.outbox.push("end")
      }, seen).pipe(Effect.forkChild({ startImmediately: true }))
      const interrupting = yield* Effect.forkChild(Fiber.interrupt(reading), { startImmediately: true })
      yield* TestClock.adjust("5 seconds")
      yield* Fiber.join(interrupting)
      assert.deepStrictEqual(seen, ["closed", "end"])
    })
  )
})

describe("a wait that is repeated", () => {
  it.effect("delivers what its handler tells before it waits again, and ends when the handler says so", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      let n = 0
      const next = Effect.sync(() => {
        seen.push(`wait ${++n}`)
        return n
      })
      yield* readToEnd(function* (run) {
        const exit = yield* repeat(next, (value) => {
          run.outbox.push(`told ${value}`)
          return value < 3
        })
        run.outbox.push(Exit.isSuccess(exit) ? `ended with ${exit.value}` : "failed")
        yield* wait(Effect.sync(() => seen.push("next wait")))
      }, seen)
      assert.deepStrictEqual(seen, [
        "wait 1",
        "told 1",
        "wait 2",
        "told 2",
        "wait 3",
        "told 3",
        "ended with 3",
        "next wait"
      ])
    })
  )

  it.effect("gives a failure back without asking its handler", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      let n = 0
      const next = Effect.suspend(() => (++n < 3 ? Effect.succeed(n) : Effect.fail("no more")))
      yield* readToEnd(function* (run) {
        const exit = yield* repeat(next, (value) => run.outbox.push(`told ${value}`) > 0)
        run.outbox.push(Exit.isFailure(exit) ? `${String(Cause.squash(exit.cause))}` : "succeeded")
      }, seen)
      assert.deepStrictEqual(seen, ["told 1", "told 2", "no more"])
    })
  )

  it.effect("ends at an abort, which the program sees", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const values = ["a", "b"]
      const next = Effect.suspend(() => {
        const value = values.shift()
        return value === undefined ? Effect.never : Effect.succeed(value)
      })
      const reading = yield* readToEnd(function* (run) {
        const exit = yield* repeat(next, (value) => run.outbox.push(value) > 0)
        run.outbox.push(wasAborted(run, exit) ? "aborted" : "not aborted")
      }, seen).pipe(Effect.forkChild({ startImmediately: true }))
      yield* Fiber.interrupt(reading)
      assert.deepStrictEqual(seen, ["a", "b", "aborted"])
    })
  )

  it.effect("is left behind when the grace period is over, and asks its handler no more", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const gate = yield* Deferred.make<string>()
      const reading = yield* readToEnd(function* (run) {
        const exit = yield* repeat(Effect.uninterruptible(Deferred.await(gate)), (value) => run.outbox.push(value) > 0)
        run.outbox.push(wasAborted(run, exit) ? "aborted" : "not aborted")
      }, seen).pipe(Effect.forkChild({ startImmediately: true }))
      const interrupting = yield* Effect.forkChild(Fiber.interrupt(reading), { startImmediately: true })
      yield* TestClock.adjust("5 seconds")
      yield* Fiber.join(interrupting)
      yield* Deferred.succeed(gate, "late")
      assert.deepStrictEqual(seen, ["aborted"])
    })
  )
})

describe("leaving", () => {
  const leaving = (program: Program<string, never>) => Stream.runCollect(Stream.take(stream(program), 1))

  it.effect("interrupts the wait and closes the scope before it returns", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      yield* leaving(function* (run) {
        yield* cleanup(
          Scope.addFinalizer(
            run.scope,
            Effect.sync(() => seen.push("closed"))
          )
        )
        run.outbox.push("a")
        seen.push("waiting")
        yield* wait(Effect.never)
        run.outbox.push("b")
      })
      assert.deepStrictEqual(seen, ["waiting", "closed"])
    })
  )

  it.effect("runs nothing of the program after the wait that it ends", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const pull = yield* Effect.scoped(
        Effect.gen(function* () {
          const pull = yield* Stream.toPull(
            stream(function* (run) {
              run.outbox.push("a")
              yield* wait(Effect.onInterrupt(Effect.never, () => Effect.sync(() => seen.push("interrupted"))))
              run.outbox.push("b")
              yield* wait(Effect.sync(() => seen.push("after")))
            })
          )
          yield* pull
          const pulling = yield* Effect.forkChild(pull, { startImmediately: true })
          yield* Fiber.interrupt(pulling)
          return pull
        })
      )
      assert.deepStrictEqual(seen, ["interrupted"])
      assert.isTrue(Exit.isFailure(yield* Effect.exit(pull)))
    })
  )

  it.effect("takes at most the grace period where a wait is deaf", () =>
    Effect.gen(function* () {
      const reading = yield* Stream.runDrain(
        stream(function* () {
          yield* wait(deaf)
        })
      ).pipe(Effect.forkChild({ startImmediately: true }))
      const interrupting = yield* Effect.forkChild(Fiber.interrupt(reading), { startImmediately: true })
      yield* TestClock.adjust(4999)
      assert.isUndefined(interrupting.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.isDefined(interrupting.pollUnsafe())
    })
  )

  it.effect("takes at most the grace period where a finalizer is deaf", () =>
    Effect.gen(function* () {
      const leave = yield* leaving(function* (run) {
        yield* cleanup(Scope.addFinalizer(run.scope, deaf))
        run.outbox.push("a")
        yield* wait(Effect.never)
      }).pipe(Effect.forkChild({ startImmediately: true }))
      yield* TestClock.adjust(4999)
      assert.isUndefined(leave.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(leave.pollUnsafe(), Exit.succeed(["a"]))
    })
  )
})

it.effect("a program that was left is not resumed when its scope does not close in time", () =>
  Effect.gen(function* () {
    const seen: Array<string> = []
    const leave = yield* Stream.take(
      stream(function* (run) {
        yield* cleanup(Scope.addFinalizer(run.scope, deaf))
        run.outbox.push("a")
        yield* wait(Effect.never)
        seen.push("resumed")
      }),
      1
    ).pipe(Stream.runDrain, Effect.forkChild({ startImmediately: true }))
    yield* TestClock.adjust("5 seconds")
    yield* Fiber.join(leave)
    assert.deepStrictEqual(seen, [])
  })
)

describe("a driver that feeds listeners", () => {
  const drive = (
    program: Program<string, never>,
    deliver: (event: string, driver: Driver<string, never>) => Effect.Effect<void>
  ) =>
    Effect.callback<void>((resume) => {
      const driver: Driver<string, never> = new Driver({
        program,
        context: Context.empty(),
        gracePeriod: "5 seconds",
        deliver: (events) =>
          Effect.as(
            Effect.forEach(events, (event) => deliver(event, driver)),
            true
          ),
        onEnd: (exit) => resume(exit)
      })
      driver.start()
    })

  it.live("a listener of the first events can abort", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      yield* drive(
        function* (run) {
          run.outbox.push("first")
          const exit = yield* wait(Effect.never)
          run.outbox.push(wasAborted(run, exit) ? "aborted" : "not aborted")
        },
        (event, driver) =>
          Effect.sync(() => {
            seen.push(event)
            if (event === "first") driver.abort()
          })
      )
      assert.deepStrictEqual(seen, ["first", "aborted"])
    })
  )

  it.effect("a delivery is finished, however long it takes, and what follows is not waited for", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const context = yield* Effect.context<never>()
      const ended = yield* Deferred.make<void>()
      const driver: Driver<string, never> = new Driver({
        program: function* (run) {
          yield* cleanup(Scope.addFinalizer(run.scope, deaf))
          run.outbox.push("slow")
          const exit = yield* wait(Effect.sync(() => seen.push("this wait does not begin")))
          run.outbox.push(wasAborted(run, exit) ? "aborted" : "not aborted")
        },
        context,
        gracePeriod: "5 seconds",
        deliver: (events) =>
          Effect.delay(
            Effect.sync(() => {
              seen.push(...events)
              return true
            }),
            "1 minute"
          ),
        onEnd: (exit) => Deferred.doneUnsafe(ended, exit)
      })
      driver.start()
      yield* TestClock.adjust("1 second")
      driver.abort()
      yield* TestClock.adjust("58 seconds")
      assert.deepStrictEqual(seen, [])
      yield* TestClock.adjust("2 minutes")
      yield* Deferred.await(ended)
      assert.deepStrictEqual(seen, ["slow", "aborted"])
    })
  )

  it.effect("a wait that comes loose while the next owner delivers does not go on with the program", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const context = yield* Effect.context<never>()
      const gate = yield* Deferred.make<void>()
      const ended = yield* Deferred.make<void>()
      const driver: Driver<string, never> = new Driver({
        program: function* (run) {
          yield* wait(Effect.uninterruptible(Deferred.await(gate)))
          run.outbox.push("taken over")
          const second = yield* cleanup(Effect.sync(() => seen.push("this cleanup does not begin")))
          run.outbox.push(Exit.hasInterrupts(second) ? "second" : "cleaned up")
          const third = yield* cleanup(Effect.sync(() => seen.push("nor does this one")))
          run.outbox.push(Exit.hasInterrupts(third) ? "third" : "cleaned up")
        },
        context,
        gracePeriod: "5 seconds",
        deliver: (events) =>
          Effect.gen(function* () {
            seen.push(`${events.join()} begins`)
            yield* Effect.sleep("1 minute")
            seen.push(`${events.join()} ends`)
            return true
          }),
        onEnd: (exit) => Deferred.doneUnsafe(ended, exit)
      })
      driver.start()
      driver.abort()
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(seen, ["taken over begins"])
      yield* Deferred.succeed(gate, undefined)
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(seen, ["taken over begins"])
      yield* TestClock.adjust("3 minutes")
      yield* Deferred.await(ended)
      assert.deepStrictEqual(
        seen,
        ["taken over", "second", "third"].flatMap((event) => [`${event} begins`, `${event} ends`])
      )
    })
  )

  it.effect("an abort before the start is one all the same", () =>
    Effect.gen(function* () {
      const context = yield* Effect.context<never>()
      const seen: Array<string> = []
      const driver: Driver<string, never> = new Driver({
        program: function* (run) {
          const exit = yield* wait(Effect.sync(() => seen.push("this wait does not begin")))
          run.outbox.push(wasAborted(run, exit) ? "aborted" : "not aborted")
        },
        context,
        gracePeriod: "5 seconds",
        deliver: (events) =>
          Effect.sync(() => {
            seen.push(...events)
            return true
          }),
        onEnd: () => seen.push("ended")
      })
      driver.abort()
      driver.start()
      assert.deepStrictEqual(seen, ["aborted", "ended"])
    })
  )
})
