// A queue alone, where it is larger than a test of an agent could play.
import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { MessageQueue } from "../../src/agent/messageQueue.ts"
import { user } from "../support/make.ts"
import { isDone, resultOf, start } from "./harness.ts"

const COUNT = 200_000

it("gives all that it has, and takes it back in its order, however much that is", () => {
  const queue = new MessageQueue("all")
  const messages = Array.from({ length: COUNT }, (_, index) => user(`${index}`))
  for (const message of messages) queue.add(message)
  expect(queue.take()).toEqual(messages)
  expect(queue.isEmpty).toBe(true)
  queue.giveBack()
  expect(queue.isEmpty).toBe(false)
  expect(queue.take()).toEqual(messages)
})

it.effect("settles the oldest of messages that are the same, and no other", () =>
  Effect.gen(function* () {
    const queue = new MessageQueue("all")
    const same = user("same")
    const receipts = [queue.add(same), queue.add(same)]
    const waiting = yield* Effect.forEach(receipts, ({ delivered }) => start(delivered))
    queue.take()
    queue.settle(user("same"), { turn: 1, timestamp: 0 })
    yield* start(Effect.void)
    expect(waiting.map(isDone)).toEqual([false, false])
    queue.settle(same, { turn: 1, timestamp: 0 })
    yield* start(Effect.void)
    expect(waiting.map(isDone)).toEqual([true, false])
    queue.settle(same, { turn: 2, timestamp: 0 })
    yield* start(Effect.void)
    expect(yield* resultOf(waiting[1]!)).toEqual({ turn: 2, timestamp: 0 })
  })
)

it("puts what did not arrive back before what was queued meanwhile", () => {
  const queue = new MessageQueue("all")
  const [first, second, third] = [user("1"), user("2"), user("3")]
  queue.add(first)
  queue.add(second)
  queue.take()
  queue.add(third)
  queue.settle(first, { turn: 1, timestamp: 0 })
  queue.giveBack()
  expect(queue.take()).toEqual([second, third])
  queue.giveBack()
  expect(queue.take()).toEqual([second, third])
})

it.effect("settles what is on its way when it is closed", () =>
  Effect.gen(function* () {
    const queue = new MessageQueue("one-at-a-time")
    const receipts = [queue.add(user("1")), queue.add(user("2"))]
    queue.take()
    queue.close()
    const reasons = yield* Effect.forEach(receipts, ({ delivered }) =>
      Effect.flatMap(start(Effect.flip(delivered)), resultOf)
    )
    expect(reasons.map(({ reason }) => reason)).toEqual(["closed", "closed"])
  })
)
