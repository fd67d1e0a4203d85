// What is seen of the runs of a case: their events with their instants, the requests, and every call of a hook, tool or
// provider. A call notes how many events the consumer had handled before it, and keeps a copy of what it was given.
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { AgentEvent } from "../../src/AgentEvent.ts"
import type { Message } from "../../src/Message.ts"
import * as TraceChecker from "../../src/testing/TraceChecker.ts"

export interface Observer {
  readonly events: ReadonlyArray<AgentEvent>
  readonly times: Array<number>
  readonly requests: Array<unknown>
  readonly hooks: Array<Record<string, unknown>>
  /** Handles one event; `history` is the transcript before its run. */
  readonly handle: (event: AgentEvent, history: ReadonlyArray<Message>) => Effect.Effect<void>
  /** Notes a call with what it was given. */
  readonly called: (hook: string, given: Record<string, unknown>) => void
  /** The first rule that a run breaks. There must have been one. */
  readonly check: () => TraceChecker.Violation | undefined
}

interface Run {
  readonly recorder: TraceChecker.Recorder
  readonly history: ReadonlyArray<Message>
}

export const make = Effect.map(Clock.Clock, (clock): Observer => {
  const events: Array<AgentEvent> = []
  const runs: Array<Run> = []
  const times: Array<number> = []
  const hooks: Array<Record<string, unknown>> = []
  return {
    events,
    times,
    requests: [],
    hooks,
    handle: (event, history) =>
      Effect.sync(() => {
        if (event.type === "agent_start" || runs.length === 0) {
          runs.push({ recorder: TraceChecker.recorder(), history: [...history] })
        }
        runs.at(-1)!.recorder.add(event)
        events.push(event)
        times.push(clock.currentTimeMillisUnsafe())
      }),
    called: (hook, given) => {
      hooks.push({ hook, ...structuredClone(given), at: events.length, t: clock.currentTimeMillisUnsafe() })
    },
    check: () =>
      runs.length === 0
        ? Option.getOrUndefined(TraceChecker.check([]))
        : runs.map(({ recorder, history }) => Option.getOrUndefined(recorder.check(history))).find((found) => found)
  }
})

/** What a record says of the transcript that a hook sees. */
export const seen = ({ messages }: { readonly messages: ReadonlyArray<Message> }) => ({
  contextMessages: messages.length,
  contextLast: messages.at(-1)?.role ?? null
})
