/** What the benchmarks run: scripts, a provider that plays them, a tool, and a consumer that counts. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { AgentEvent } from "../src/AgentEvent.ts"
import type { Message, UserMessage } from "../src/Message.ts"
import { allow, type Hooks } from "../src/services/Hooks.ts"
import { type Model, Provider, type ProviderEvent } from "../src/services/Provider.ts"
import * as Tool from "../src/Tool.ts"

export const model: Model = { id: "m1", provider: "acme" }

export const prompt: UserMessage = { role: "user", content: "go", timestamp: 0 }

// ---------------------------------------------------------------------------------------------------------------------
// Scripts
// ---------------------------------------------------------------------------------------------------------------------

/** The events of one response, in arrays as they arrive: each is one pull. */
export type Response = ReadonlyArray<readonly [ProviderEvent, ...Array<ProviderEvent>]>

export const inArraysOf = (size: number, events: ReadonlyArray<ProviderEvent>): Response =>
  Array.from(
    { length: Math.ceil(events.length / size) },
    (_, i) => events.slice(i * size, (i + 1) * size) as [ProviderEvent]
  )

const inOneArray = (events: ReadonlyArray<ProviderEvent>): Response => inArraysOf(events.length, events)

export const DELTA = "twenty characters !!"

export const textOf = (deltas: number): ReadonlyArray<ProviderEvent> => [
  { type: "start" },
  { type: "text_start", contentIndex: 0 },
  ...Array.from({ length: deltas }, (): ProviderEvent => ({ type: "text_delta", contentIndex: 0, delta: DELTA })),
  { type: "text_end", contentIndex: 0 },
  { type: "done", reason: "stop" }
]

/** A response that calls the tool `echo` so many times. */
export const callsOf = (turn: number, calls: number): ReadonlyArray<ProviderEvent> => [
  { type: "start" },
  ...Array.from({ length: calls }, (_, contentIndex): ReadonlyArray<ProviderEvent> => [
    { type: "toolcall_start", contentIndex, id: `call_${turn}_${contentIndex}`, name: echo.name },
    { type: "toolcall_delta", contentIndex, delta: '{"text":' },
    { type: "toolcall_delta", contentIndex, delta: '"hello"}' },
    { type: "toolcall_end", contentIndex }
  ]).flat(),
  { type: "done", reason: "toolUse" }
]

/** Responses of a run: so many turns with calls, each in one array, and one with a text. */
export const turnsOf = (turns: number, calls: number): ReadonlyArray<Response> => [
  ...Array.from({ length: turns }, (_, turn) => inOneArray(callsOf(turn, calls))),
  inOneArray(textOf(1))
]

// ---------------------------------------------------------------------------------------------------------------------
// Provider, tool, consumer
// ---------------------------------------------------------------------------------------------------------------------

/** A provider whose n-th request gets `responses[n]`; before each array it waits for `before`, where that is given. */
export const provide = (responses: ReadonlyArray<Response>, before?: Effect.Effect<void>) => {
  let n = 0
  return Effect.provideService(Provider, {
    stream: () =>
      Stream.fromPull(
        Effect.sync(() => {
          const arrays = responses[n++]!
          let at = 0
          const next = Effect.suspend(() => (at < arrays.length ? Effect.succeed(arrays[at++]!) : Cause.done()))
          return before === undefined ? next : Effect.andThen(before, next)
        })
      )
  })
}

export const echo = Tool.make({
  name: "echo",
  description: "Echoes a text.",
  parameters: Schema.Struct({ text: Schema.String }),
  execute: ({ text }) => Effect.succeed(text)
})

/** Reads a run to its end, and gives how many events of a type there were. */
export const countEvents = (
  run: Stream.Stream<AgentEvent, never, Provider>,
  type: AgentEvent["type"]
): Effect.Effect<number, never, Provider> =>
  Effect.suspend(() => {
    let count = 0
    const read = Stream.runForEachArray(run, (events) => {
      for (const event of events) if (event.type === type) count++
      return Effect.void
    })
    return Effect.map(read, () => count)
  })

/** A transcript of so many messages: questions, calls, their results, and answers. */
export const transcriptOf = (messages: number): ReadonlyArray<Message> =>
  Array.from({ length: messages / 4 }, (_, i): ReadonlyArray<Message> => {
    const id = `old_${i}`
    const rest = { provider: "acme", model: "m1", usage, timestamp: 0 }
    return [
      { role: "user", content: "What does it say?", timestamp: 0 },
      {
        role: "assistant",
        content: [{ type: "toolCall", id, name: echo.name, arguments: { text: "hello" } }],
        stopReason: "toolUse",
        ...rest
      },
      {
        role: "toolResult",
        toolCallId: id,
        toolName: echo.name,
        content: [{ type: "text", text: "hello" }],
        isError: false,
        timestamp: 0
      },
      { role: "assistant", content: [{ type: "text", text: "It says hello." }], stopReason: "stop", ...rest }
    ]
  }).flat()

const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2 }

/** Every hook, each doing the least. */
export const allHooks: Hooks = {
  transformContext: (messages) => Effect.succeed(messages),
  convertToLlm: (messages) => Effect.succeed(messages.filter((message) => message.role !== undefined)),
  beforeToolCall: () => Effect.succeed(allow),
  afterToolCall: () => Effect.void,
  prepareNextTurn: () => Effect.void,
  shouldStopAfterTurn: () => Effect.succeed(false)
}
