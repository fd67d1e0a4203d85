/** The arguments of one tool call, as they stream: four times the length must not cost much more than four times as much. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Loop from "../src/Loop.ts"
import type { ProviderEvent } from "../src/services/Provider.ts"
import { compare } from "./harness.ts"
import { inArraysOf, model, prompt, provide } from "./support.ts"

const DELTA_LENGTH = 20
const SHORT = 50_000
const LONG = 200_000
const AT_MOST = 5

/** Arguments of about a length in characters. */
const shapes: Record<string, (length: number) => unknown> = {
  "one long text": (length) => ({ path: "a.txt", text: "A line of a text that is written.\n".repeat(length / 35) }),
  "many small members": (length) => ({
    data: Object.fromEntries(Array.from({ length: length / 16 }, (_, i) => [`key${i}`, i]))
  }),
  "a list of numbers": (length) => ({ numbers: Array.from({ length: length / 6 }, (_, i) => i) }),
  "a list of edits": (length) => ({
    edits: Array.from({ length: length / 60 }, (_, i) => ({ line: i, from: "before it", to: "after that" }))
  })
}

const responseOf = (args: unknown): ReadonlyArray<ProviderEvent> => {
  const json = JSON.stringify(args)
  return [
    { type: "start" },
    { type: "toolcall_start", contentIndex: 0, id: "a", name: "write" },
    ...Array.from({ length: Math.ceil(json.length / DELTA_LENGTH) }, (_, i): ProviderEvent => ({
      type: "toolcall_delta",
      contentIndex: 0,
      delta: json.slice(i * DELTA_LENGTH, (i + 1) * DELTA_LENGTH)
    })),
    { type: "toolcall_end", contentIndex: 0 },
    { type: "done", reason: "stop" }
  ]
}

/** Reads a run, and counts the updates and, where they are read, those whose arguments are an object. */
const read = (events: ReadonlyArray<ProviderEvent>, size: number, isRead: boolean) => {
  const responses = [inArraysOf(size, events)]
  return () => {
    let count = 0
    return Loop.run({ model, prompts: [prompt], maxTurns: 1 }).pipe(
      Stream.runForEachArray((events) => {
        for (const event of events) {
          if (event.type !== "message_update") continue
          const call = event.message.content[0]
          if (!isRead || (call?.type === "toolCall" && typeof call.arguments === "object")) count++
        }
        return Effect.void
      }),
      provide(responses),
      Effect.map(() => count),
      Effect.runPromise
    )
  }
}

const readings = [
  { how: "unread, arrays of 64", size: 64, isRead: false },
  { how: "read at each delta, arrays of 64", size: 64, isRead: true },
  { how: "read at each delta, arrays of 1", size: 1, isRead: true }
]

for (const [shape, make] of Object.entries(shapes)) {
  for (const { how, size, isRead } of readings) {
    const variantOf = (length: number) => {
      const events = responseOf(make(length))
      return { name: `${length / 1000} KB`, run: read(events, size, isRead), count: events.length - 2 }
    }
    const title = `Arguments in ${DELTA_LENGTH}-character deltas: ${shape}, ${how}`
    await compare(title, [variantOf(SHORT), { ...variantOf(LONG), atMost: AT_MOST }])
  }
}
