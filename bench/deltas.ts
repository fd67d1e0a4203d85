/** The cost of one text delta, in arrays of different sizes, and where each array comes in a task of its own. */
import { equal } from "node:assert/strict"
import { setImmediate as nextTask } from "node:timers/promises"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { AgentEvent } from "../src/AgentEvent.ts"
import * as Loop from "../src/Loop.ts"
import { emptyUsage } from "../src/Message.ts"
import { compare, compareApart } from "./harness.ts"
import * as pi from "./pi.ts"
import { countEvents, DELTA, inArraysOf, model, prompt, provide, textOf } from "./support.ts"

const DELTAS = 20_000
const text = textOf(DELTAS)
/** Besides the deltas, the start and the end of the text are updates. */
const count = DELTAS + 2

const floor = async function* (before?: () => Promise<unknown>): AsyncGenerator<AgentEvent> {
  const timestamp = Date.now()
  let text = ""
  for (let i = 0; i < DELTAS; i++) {
    if (before !== undefined) await before()
    text += DELTA
    yield {
      type: "message_update",
      message: {
        role: "assistant",
        content: [{ type: "text", text }],
        provider: model.provider,
        model: model.id,
        usage: emptyUsage,
        stopReason: "stop",
        timestamp
      },
      assistantMessageEvent: { type: "text_delta", contentIndex: 0, delta: DELTA }
    }
  }
}

const countFloor = async (before?: () => Promise<unknown>) => {
  let count = 2
  for await (const event of floor(before)) if (event.type === "message_update") count++
  return count
}

const run = Loop.run({ model, prompts: [prompt] })

const ofSize = (size: number, before?: Effect.Effect<void>) => {
  const responses = [inArraysOf(size, text)]
  return () => countEvents(run, "message_update").pipe(provide(responses, before), Effect.runPromise)
}

const ofPi = (before?: () => Promise<unknown>) => {
  const responses = [inArraysOf(1, text)]
  return pi.versions.map(({ name, agentLoop }) => ({
    name: `${name}, arrays of 1`,
    run: () => pi.countEvents(agentLoop, { responses, before }, "message_update"),
    count
  }))
}

/** The 100th delta of the run and of the generator are the same, but for the time. */
const expectEqualEvents = async () => {
  const [ours] = await run.pipe(
    Stream.filter((event) => event.type === "message_update"),
    Stream.drop(100),
    Stream.take(1),
    Stream.runCollect,
    provide([inArraysOf(64, text)]),
    Effect.runPromise
  )
  let n = 0
  for await (const event of floor()) if (++n === 100) return equal(withoutTime(ours), withoutTime(event))
}

const withoutTime = (event: unknown) => JSON.stringify(event, (key, value) => (key === "timestamp" ? 0 : value))

await expectEqualEvents()

await compare(`${DELTAS} text deltas, read by type only`, [
  { name: "bare async generator of equal events", run: () => countFloor(), count },
  { name: "Loop.run, arrays of 64", run: ofSize(64), count, atMost: 1 },
  { name: "Loop.run, arrays of 8", run: ofSize(8), count },
  { name: "Loop.run, arrays of 1", run: ofSize(1), count }
])

await compareApart(`${DELTAS} text deltas, against pi-agent-core`, [
  ...ofPi(),
  { name: "Loop.run, arrays of 64", run: ofSize(64), count },
  { name: "Loop.run, arrays of 1", run: ofSize(1), count }
])

const immediate = Effect.callback<void>((resume) => {
  setImmediate(resume, Effect.void)
})

await compareApart(`${DELTAS} text deltas, each array in a task of its own`, [
  ...ofPi(nextTask),
  { name: "Loop.run, arrays of 1", run: ofSize(1, immediate), count },
  { name: "bare async generator of equal events", run: () => countFloor(nextTask), count }
])
