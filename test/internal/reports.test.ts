// What the calls of a batch report, and how the program that waits for them takes it in.
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { Reports } from "../../src/internal/reports.ts"

const start = <A>(effect: Effect.Effect<A>) => Effect.forkChild(effect, { startImmediately: true })
const isOver = (fiber: Fiber.Fiber<unknown>) => fiber.pollUnsafe() !== undefined

it.effect("who waits for reports goes on at once where there are some, and with the first that comes otherwise", () =>
  Effect.gen(function* () {
    const reports = new Reports<string>()
    reports.add("a")
    reports.add("b")
    yield* reports.some
    assert.deepStrictEqual(reports.takeAll(), ["a", "b"])
    const waiting = yield* start(reports.some)
    assert.isFalse(isOver(waiting))
    reports.add("c")
    assert.isTrue(isOver(waiting))
    assert.strictEqual(reports.size, 1)
    assert.deepStrictEqual(reports.takeAll(), ["c"])
    assert.deepStrictEqual(reports.takeAll(), [])
  })
)

it.effect("a wait that was interrupted takes no report from the next one", () =>
  Effect.gen(function* () {
    const reports = new Reports<string>()
    yield* Fiber.interrupt(yield* start(reports.some))
    const waiting = yield* start(reports.some)
    reports.add("a")
    assert.isTrue(isOver(waiting))
    assert.deepStrictEqual(reports.takeAll(), ["a"])
  })
)

it.effect("reports are delivered when the program waits again after it took them", () =>
  Effect.gen(function* () {
    const reports = new Reports<string>()
    reports.add("a")
    const first = yield* start(reports.delivered)
    yield* reports.some
    assert.isFalse(isOver(first), "not taken yet")
    assert.deepStrictEqual(reports.takeAll(), ["a"])
    assert.isFalse(isOver(first), "taken, but not delivered yet")
    reports.add("b")
    const second = yield* start(reports.delivered)
    yield* reports.some
    assert.isTrue(isOver(first))
    assert.isFalse(isOver(second))
    assert.deepStrictEqual(reports.takeAll(), ["b"])
    const waiting = yield* start(reports.some)
    assert.isTrue(isOver(second))
    assert.isFalse(isOver(waiting))
  })
)

it.effect("what is reported as soon as others are delivered is there for the wait that delivered them", () =>
  Effect.gen(function* () {
    const reports = new Reports<string>()
    const reporting = yield* start(
      Effect.andThen(
        reports.delivered,
        Effect.sync(() => reports.add("after"))
      )
    )
    assert.deepStrictEqual(reports.takeAll(), [])
    const waiting = yield* start(reports.some)
    assert.isTrue(isOver(reporting))
    assert.isTrue(isOver(waiting))
    assert.deepStrictEqual(reports.takeAll(), ["after"])
  })
)
