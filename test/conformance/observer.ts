// What is seen of one run: its events with their instants, its requests, and every call of a hook, tool or provider. A
// call notes how many events the consumer had handled before it, and keeps a copy of what it was given.
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { AgentEvent } from "../../src/AgentEvent.ts"
import type { Message } from "../../src/Message.ts"
import * as TraceChecker from "../../src/testing/TraceChecker.ts"

export interface Observer {
  readonly recorder: TraceChecker.Recorder
  readonly times: Array<number>
  readonly requests: Array<unknown>
  readonly hooks: Array<Record<string, unknown>>
  /** Handles one event. */
  readonly handle: (event: AgentEvent) => Effect.Effect<void>
  /** Notes a call with what it was given. */
  readonly called: (hook: string, given: Record<string, unknown>) => void
}

export const make = Effect.map(Clock.Clock, (clock): Observer => {
  const recorder = TraceChecker.recorder()
  const times: Array<number> = []
  const hooks: Array<Record<string, unknown>> = []
  return {
    recorder,
    times,
    requests: [],
    hooks,
    handle: (event) =>
      Effect.sync(() => {
        recorder.add(event)
        times.push(clock.currentTimeMillisUnsafe())
      }),
    called: (hook, given) => {
      hooks.push({ hook, ...structuredClone(given), at: recorder.events.length, t: clock.currentTimeMillisUnsafe() })
    }
  }
})

/** What a record says of the transcript that a hook sees. */
export const seen = ({ messages }: { readonly messages: ReadonlyArray<Message> }) => ({
  contextMessages: messages.length,
  contextLast: messages.at(-1)?.role ?? null
})
