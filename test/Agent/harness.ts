// An agent under the test clock, whose first listener holds all that it tells against what is promised: every run obeys the
// grammar, and at every event the state is the fold of the events so far. What is wrong fails the test when it ends.
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { isDeepStrictEqual } from "node:util"
import * as Agent from "../../src/Agent.ts"
import type { AgentEvent } from "../../src/AgentEvent.ts"
import * as AgentState from "../../src/AgentState.ts"
import type { Message } from "../../src/Message.ts"
import * as Scripted from "../../src/providers/Scripted.ts"
import { Provider, type ProviderRequest } from "../../src/services/Provider.ts"
import { Toolset } from "../../src/services/Toolset.ts"
import * as TraceChecker from "../../src/testing/TraceChecker.ts"
import type * as Tool from "../../src/Tool.ts"
import { model } from "../support/make.ts"
import { type Source, textOf } from "../support/play.ts"
import { outline, tokens } from "../support/tokens.ts"

export type Options = Partial<Agent.Options> & {
  readonly tools?: ReadonlyArray<Tool.Any<never>>
  /** The greatest number of events in one array of the script. */
  readonly arrays?: number
  /** Tests that replace the transcript during a run say so: the state is then more than a fold. */
  readonly isFold?: boolean
  /** Tests in which a listener never comes back say so: then a run is cut off where that is. */
  readonly isCut?: boolean
}

export interface Harness {
  readonly agent: Agent.Agent["Service"]
  /** The agent's own scope. It is closed when the test ends, or before. */
  readonly scope: Scope.Closeable
  readonly requests: ReadonlyArray<ProviderRequest>
  readonly streams: Scripted.Scripted["Service"]["streams"]
  /** The events of all runs, and those of each. */
  readonly events: ReadonlyArray<AgentEvent>
  readonly runs: ReadonlyArray<ReadonlyArray<AgentEvent>>
}

interface Run {
  readonly recorder: TraceChecker.Recorder
  readonly history: ReadonlyArray<Message>
}

/** Makes an agent on a script or any provider. */
export const make = Effect.fnUntraced(function* (
  source: Source,
  { tools = [], arrays, isFold, isCut, ...options }: Options = {}
) {
  // A clock that was never moved warns from an interruptible fiber of its own, which an abort would end.
  yield* TestClock.adjust(0)
  const scripted = "stream" in source ? undefined : yield* Scripted.make({ turns: source }, { arrays })
  const scope = yield* Scope.make()
  const broken: Array<unknown> = []
  const recorded: Array<Run> = []
  const recording = yield* Scope.make()
  yield* Effect.addFinalizer(() =>
    Effect.all([Scope.close(scope, Exit.void), Scope.close(recording, Exit.void), judge(recorded, broken, isCut)])
  )
  const agent = yield* Agent.make({ model, ...options }).pipe(
    Effect.provideService(Provider, "stream" in source ? source : scripted!),
    Effect.provideService(Toolset, { tools }),
    Scope.provide(scope)
  )
  const events: Array<AgentEvent> = []
  const runs: Array<ReadonlyArray<AgentEvent>> = []
  let folded = AgentState.make()
  yield* agent
    .subscribe((event) =>
      Effect.map(agent.state, (state) => {
        if (event.type === "agent_start") {
          recorded.push({ recorder: TraceChecker.recorder(), history: state.messages })
          runs.push(recorded.at(-1)!.recorder.events)
          folded = { ...AgentState.make(state.messages), usage: state.usage }
        }
        events.push(event)
        recorded.at(-1)!.recorder.add(event)
        folded = AgentState.reduce(folded, event)
        if (isFold !== false && !isDeepStrictEqual(stateOf(state), stateOf(folded))) {
          broken.push(new Error(`At event ${events.length - 1} the state is not the fold of the events.`))
        }
      })
    )
    .pipe(Scope.provide(recording))
  return {
    agent,
    scope,
    requests: scripted?.requests ?? [],
    streams: scripted?.streams ?? { opened: 0, closed: 0 },
    events,
    runs
  } satisfies Harness as Harness
})

/** Dies of the first thing that was wrong. */
const judge = (runs: ReadonlyArray<Run>, broken: ReadonlyArray<unknown>, isCut = false) =>
  Effect.suspend(() => {
    const violations = runs.flatMap(({ recorder, history }) => Option.toArray(recorder.check(history)))
    const [first] = [...violations.filter(({ rule }) => !isCut || rule !== "run-unfinished"), ...broken]
    return first === undefined ? Effect.void : Effect.die(first)
  })

/** The part of a state that is a fold, as plain data. */
export const stateOf = ({
  messages,
  streamingMessage,
  pendingToolCalls,
  errorMessage,
  usage
}: AgentState.AgentState) => ({
  messages,
  streamingMessage,
  pendingToolCalls,
  errorMessage,
  usage
})

/** Lets everything happen that is due at this instant: no chain of fibers that wake each other is longer. */
export const settle = Effect.repeat(Effect.yieldNow, { times: 30 })

/** Starts an effect and lets everything happen that is due at this instant. */
export const start = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<Fiber.Fiber<A, E>, never, R> =>
  Effect.tap(Effect.forkDetach(effect), () => settle)

/** Lets time pass, and then everything happen that is due. */
export const pass = (ms: number) => Effect.andThen(TestClock.adjust(ms), settle)

export const isDone = (fiber: Fiber.Fiber<unknown, unknown>): boolean => fiber.pollUnsafe() !== undefined

/** What became of an effect that must be over: what hangs fails the test at once, and not by a timeout. */
export const resultOf = <A, E>(fiber: Fiber.Fiber<A, E>): Effect.Effect<A, E> =>
  Effect.suspend(() => fiber.pollUnsafe() ?? Effect.die(new Error("It is not over.")))

/** Plays an effect to its end, at most ten minutes away. */
export const toEnd = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.gen(function* () {
    const fiber = yield* start(effect)
    yield* pass(600_000)
    return yield* resultOf(fiber)
  })

/** A message in words: `user go`, `assistant hi`, `result a`. */
export const wordOf = (message: Message): string => {
  if (message.role === "toolResult") return `result ${message.toolCallId}`
  if (message.role === "user")
    return `user ${typeof message.content === "string" ? message.content : textOf(message.content)}`
  if (message.role !== "assistant") return message.role
  return `assistant ${message.content.map((block) => (block.type === "text" ? block.text : block.type)).join("+")}`
}

/** The transcript in words. */
export const transcriptOf = ({ agent }: Harness): Effect.Effect<ReadonlyArray<string>> =>
  Effect.map(agent.state, ({ messages }) => messages.map(wordOf))

export { outline, tokens }
