// Plays a run to its end under the test clock and hands back everything that can be seen of it. Every run passes the trace
// checker, also for snapshots that change after the run, and whatever is given to a run is frozen.
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Duration from "effect/Duration"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import type { AgentEvent } from "../../src/AgentEvent.ts"
import * as Loop from "../../src/Loop.ts"
import type { AssistantMessage, Content, ToolResultMessage } from "../../src/Message.ts"
import * as Scripted from "../../src/providers/Scripted.ts"
import { Provider } from "../../src/services/Provider.ts"
import * as TraceChecker from "../../src/testing/TraceChecker.ts"
import type * as Tool from "../../src/Tool.ts"
import { model, user } from "./make.ts"
import { outline, tokens } from "./tokens.ts"

export type Options = Partial<Loop.Options<ReadonlyArray<Tool.Any<never>>, never>>

/** A script, or any provider. */
export type Source = ReadonlyArray<Scripted.Turn> | Provider["Service"]

export interface How {
  /** Aborts the run so many milliseconds after its start. */
  readonly abortAt?: Duration.Input | undefined
  /** Aborts the run while this event is handled; with a number, the event of that index. */
  readonly abortOn?: number | ((event: AgentEvent) => boolean) | undefined
  /** Whatever is in it may abort the run. */
  readonly abort?: Abort | undefined
  /** Done for each array of events. It cannot be interrupted. */
  readonly onEvents?: ((events: ReadonlyArray<AgentEvent>) => Effect.Effect<void>) | undefined
  /** How long the run may take; 10 minutes unless given. */
  readonly within?: Duration.Input | undefined
  /** The greatest number of events in one array of the script. */
  readonly arrays?: number | undefined
}

/** Lets tools, hooks and providers abort the run that they are part of. */
export class Abort {
  private request: (() => void) | undefined
  readonly now = Effect.sync(() => this.request?.())
  bind(request: () => void): void {
    this.request = request
  }
}

export interface Trace {
  readonly events: ReadonlyArray<AgentEvent>
  /** When each event and the end of the run came, in virtual milliseconds from the start. */
  readonly times: ReadonlyArray<number>
  readonly endedAt: number
  readonly tokens: ReadonlyArray<string>
  /** The tokens without the updates of responses. */
  readonly outline: ReadonlyArray<string>
  readonly reason: string
  readonly requests: Scripted.Scripted["Service"]["requests"]
  readonly streams: Scripted.Scripted["Service"]["streams"]
  /** The responses as they were in the end. */
  readonly responses: ReadonlyArray<AssistantMessage>
  /** The results of all calls, as messages and as their texts. */
  readonly results: ReadonlyArray<ToolResultMessage>
  readonly resultTexts: ReadonlyArray<string>
}

/** The stream of a run, with its needs met and nothing done to it. */
export const stream = (provider: Provider["Service"], options: Options = {}): Stream.Stream<AgentEvent> =>
  Stream.provideService(
    Loop.run<ReadonlyArray<Tool.Any<never>>>(deepFrozen({ model, prompts: [user("go")], ...options })),
    Provider,
    provider
  )

/** No run of a test has more events. */
const MOST = 50_000

/** Plays a run whose end must come, and must obey the grammar. */
export const play = Effect.fnUntraced(function* (source: Source, options: Options = {}, how: How = {}) {
  const scripted =
    "stream" in source ? undefined : yield* Scripted.make({ turns: source }, { arrays: how.arrays ?? Infinity })
  const provider = "stream" in source ? source : scripted!
  // A clock that was never moved warns from an interruptible fiber of its own, which an abort would end.
  yield* TestClock.adjust(0)
  const recorder = TraceChecker.recorder()
  const times: Array<number> = []
  let endedAt: number | undefined
  const startedAt = yield* Clock.currentTimeMillis
  const consumer = yield* stream(provider, options).pipe(
    Stream.runForEachArray((events) =>
      Effect.withFiber((fiber) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          for (const event of events) {
            if (isAbortPoint(how, event, recorder.events.length)) fiber.interruptUnsafe()
            recorder.add(event)
            times.push(now - startedAt)
          }
          if (times.length > MOST) return Effect.die(new Error(`More than ${MOST} events: is there an end to it?`))
          return how.onEvents?.(events) ?? Effect.void
        })
      )
    ),
    Effect.andThen(Clock.currentTimeMillis),
    Effect.tap((now) =>
      Effect.sync(() => {
        endedAt = now - startedAt
      })
    ),
    Effect.uninterruptible,
    // A run that hangs must not keep the test from ending.
    Effect.forkDetach
  )
  how.abort?.bind(() => consumer.interruptUnsafe())
  if (how.abortAt !== undefined) {
    yield* Effect.forkChild(
      Effect.delay(
        Effect.sync(() => consumer.interruptUnsafe()),
        how.abortAt
      )
    )
  }
  yield* settle
  yield* TestClock.adjust(how.within ?? "10 minutes")
  yield* settle
  const exit = consumer.pollUnsafe()
  if (exit === undefined) return yield* Effect.die(new Error(`No end after: ${tokens(recorder.events).join(" ")}`))
  if (endedAt === undefined) return yield* Effect.die(new Error(`The run died: ${String(exit)}`))
  const violation = Option.getOrUndefined(recorder.check(options.messages))
  if (violation !== undefined) {
    return yield* Effect.die(new Error(`${violation.message}\n${tokens(recorder.events).join(" ")}`))
  }
  return traceOf(recorder.events, times, endedAt, scripted)
})

const isAbortPoint = ({ abortOn }: How, event: AgentEvent, index: number): boolean =>
  typeof abortOn === "function" ? abortOn(event) : abortOn === index

/** Lets everything happen that is due at this instant. */
export const settle = Effect.repeat(Effect.yieldNow, { times: 100 })

/** The greatest number of events that a run hands over without letting another fiber run. */
export const longestStretch = Effect.fnUntraced(function* (provider: Provider["Service"], options?: Options) {
  let ticks = 0
  let last = 0
  let stretch = 0
  let longest = 0
  const ticking = yield* Effect.forkChild(
    Effect.gen(function* () {
      for (; ; ticks++) yield* Effect.yieldNow
    })
  )
  yield* settle
  yield* stream(provider, options).pipe(
    Stream.runForEachArray((events) =>
      Effect.sync(() => {
        stretch = ticks === last ? stretch + events.length : events.length
        last = ticks
        longest = Math.max(longest, stretch)
      })
    )
  )
  yield* Fiber.interrupt(ticking)
  return longest
})

const traceOf = (
  events: ReadonlyArray<AgentEvent>,
  times: ReadonlyArray<number>,
  endedAt: number,
  scripted: Scripted.Scripted["Service"] | undefined
): Trace => {
  const end = events.at(-1)
  const ended = events.flatMap((event) => (event.type === "message_end" ? [event.message] : []))
  const results = ended.filter((message) => message.role === "toolResult")
  return {
    events,
    times,
    endedAt,
    tokens: tokens(events),
    outline: outline(events),
    reason: end?.type === "agent_end" ? end.reason : "none",
    requests: scripted?.requests ?? [],
    streams: scripted?.streams ?? { opened: 0, closed: 0 },
    responses: ended.filter((message) => message.role === "assistant"),
    results,
    resultTexts: results.map((result) => textOf(result.content))
  }
}

export const textOf = (content: ReadonlyArray<Content>): string =>
  content.map((block) => (block.type === "text" ? block.text : `[${block.mimeType}]`)).join("")

/** The events of one type. */
export const of = <Type extends AgentEvent["type"]>(
  { events }: Pick<Trace, "events">,
  type: Type
): ReadonlyArray<Extract<AgentEvent, { type: Type }>> =>
  events.filter((event): event is Extract<AgentEvent, { type: Type }> => event.type === type)

/** Freezes plain objects and lists on every level, except for tools, whose schemas know how to change. */
export const deepFrozen = <A>(value: A): A => {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value
  const prototype = Object.getPrototypeOf(value) as unknown
  if (!Array.isArray(value) && prototype !== Object.prototype) return value
  Object.freeze(value)
  if ("execute" in value) return value
  Object.values(value).forEach(deepFrozen)
  return value
}
