/**
 * What an application holds of an agent: its transcript, its queues and its controls. Runs are those of `Loop`; the agent
 * starts one at a time, keeps what it tells, and hands it to listeners.
 *
 * When a run is over, a queued message is in its queue or in the transcript, never in neither or both. Closing the scope
 * in which an agent was made settles its run and its queues within the grace period.
 */
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { Core, type Running, type Settings, type StartOptions } from "./agent/core.ts"
import type { QueueMode, Receipt } from "./agent/messageQueue.ts"
import {
  type AgentBusy,
  type CannotContinue,
  type Input,
  messagesOf,
  type Options,
  type PromptOptions,
  type RunResult
} from "./agent/models.ts"
import type { EventsSkipped } from "./agent/watchers.ts"
import type { AgentEvent } from "./AgentEvent.ts"
import * as AgentState from "./AgentState.ts"
import { Rendezvous } from "./internal/rendezvous.ts"
import type { Message } from "./Message.ts"
import * as Hooks from "./services/Hooks.ts"
import { capturedContext } from "./services/internal/captured.ts"
import type { Model, Provider, ThinkingLevel } from "./services/Provider.ts"
import { Toolset } from "./services/Toolset.ts"
import type * as Tool from "./Tool.ts"

export { type Delivery, NotDelivered, type QueueMode, type Receipt } from "./agent/messageQueue.ts"
export {
  AgentBusy,
  CannotContinue,
  type Input,
  type Options,
  type PromptOptions,
  type RunResult,
  type TextWithImages
} from "./agent/models.ts"
export { type EventsSkipped, WATCH_BUFFER } from "./agent/watchers.ts"

// ---------------------------------------------------------------------------------------------------------------------
// Models
// ---------------------------------------------------------------------------------------------------------------------

/** The state of the fold, and what is not in events. `isStreaming` is true until the listeners of `agent_end` are done. */
export interface Snapshot extends AgentState.AgentState, Settings {
  readonly isStreaming: boolean
  /** Whether a queue holds a message. */
  readonly isQueued: boolean
  readonly steeringMode: QueueMode
  readonly followUpMode: QueueMode
}

/**
 * Told every event, in order, and awaited before the run goes on. It cannot fail; one that dies is reported to the log. It
 * may abort, queue messages and look at the state, but must not wait for the run to end: as long as it does not come back,
 * the run does not either, aborted or not.
 */
export type Listener = (event: AgentEvent) => Effect.Effect<void> | void

// ---------------------------------------------------------------------------------------------------------------------
// Service
// ---------------------------------------------------------------------------------------------------------------------

export class Agent extends Context.Service<
  Agent,
  {
    /** Runs the agent on a prompt, and waits for the end. Interrupting it aborts the run and waits for its end. */
    readonly prompt: <R = never>(input: Input, options?: PromptOptions<R>) => Effect.Effect<RunResult, AgentBusy, R>
    /** The events of a run on a prompt. Leaving the stream aborts the run; reading it slowly slows the run down. */
    readonly stream: <R = never>(input: Input, options?: PromptOptions<R>) => Stream.Stream<AgentEvent, AgentBusy, R>
    /**
     * Runs the agent on its transcript. After an assistant message it takes queued messages as the prompt: steering
     * messages (then the run's first poll for them is skipped), else follow-ups.
     */
    readonly continue: Effect.Effect<RunResult, AgentBusy | CannotContinue>
    /** Queues a message that the model is to see before its next response. */
    readonly steer: (message: Message) => Effect.Effect<Receipt>
    /** Queues a message that waits until a run would otherwise end. */
    readonly followUp: (message: Message) => Effect.Effect<Receipt>
    readonly clearSteering: Effect.Effect<void>
    readonly clearFollowUp: Effect.Effect<void>
    readonly clearQueues: Effect.Effect<void>
    /** Asks for the end of the run, and returns. Anyone may call it; on an idle agent it does nothing. */
    readonly abort: Effect.Effect<void>
    /** Waits until no run goes on and the listeners of its end are done. A listener must not wait for that. */
    readonly waitForIdle: Effect.Effect<void>
    /** Clears transcript, queues, error and usage. System prompt, model, thinking level and tools stay. */
    readonly reset: Effect.Effect<void, AgentBusy>
    readonly state: Effect.Effect<Snapshot>
    /** Adds a listener until the scope is closed. */
    readonly subscribe: (listener: Listener) => Effect.Effect<void, never, Scope.Scope>
    /**
     * The state now and the events after it, without a gap, until the scope is closed. It does not hold the run: a watcher
     * that is more than `WATCH_BUFFER` events behind misses the oldest, and is told how many.
     */
    readonly watch: Effect.Effect<
      { readonly state: Snapshot; readonly events: Stream.Stream<AgentEvent | EventsSkipped> },
      never,
      Scope.Scope
    >
    readonly setModel: (model: Model) => Effect.Effect<void>
    readonly setThinkingLevel: (level: ThinkingLevel) => Effect.Effect<void>
    readonly setSystemPrompt: (systemPrompt: string | undefined) => Effect.Effect<void>
    readonly setTools: (tools: ReadonlyArray<Tool.Any<never>>) => Effect.Effect<void>
    readonly setMessages: (messages: ReadonlyArray<Message>) => Effect.Effect<void>
    readonly setToolExecution: (mode: "parallel" | "sequential") => Effect.Effect<void>
    readonly setSteeringMode: (mode: QueueMode) => Effect.Effect<void>
    readonly setFollowUpMode: (mode: QueueMode) => Effect.Effect<void>
  }
>()("effect-agent/Agent") {}

// ---------------------------------------------------------------------------------------------------------------------
// Constructors
// ---------------------------------------------------------------------------------------------------------------------

/** Makes an agent that lives until the scope is closed. */
export const make = Effect.fnUntraced(function* <R = never>(
  options: Options<R>
): Effect.fn.Return<Agent["Service"], never, Provider | Toolset | R | Scope.Scope> {
  const { tools } = yield* Toolset
  const core = new Core(options, tools, yield* capturedContext<Provider | R>())
  yield* Effect.addFinalizer(() => core.close)
  return Agent.of({ ...runs(core), ...queues(core), ...observation(core), ...settings(core) })
})

/** An agent as a layer. What its hooks need shows in the layer's type. */
export const layer = <R = never>(options: Options<R>): Layer.Layer<Agent, never, Provider | Toolset | R> =>
  Layer.effect(Agent, make(options))

const runs = <R>(core: Core<R>) => {
  const waitForIdle: Effect.Effect<void> = Effect.suspend(() =>
    core.running === undefined
      ? Effect.void
      : Effect.andThen(Effect.exit(Deferred.await(core.running.ended)), waitForIdle)
  )
  return {
    prompt: <R2 = never>(input: Input, options?: PromptOptions<R2>) => resultOf(core, startOn(core, input, options)),
    stream: <R2 = never>(input: Input, options?: PromptOptions<R2>) => Stream.unwrap(streamOf(core, input, options)),
    continue: resultOf(core, core.continue()),
    abort: Effect.sync(() => {
      if (core.running !== undefined) core.abort(core.running)
    }),
    waitForIdle,
    reset: core.reset()
  }
}

const startOn = <R, R2>(core: Core<R>, input: Input, options: PromptOptions<R2> = {}, more: StartOptions = {}) =>
  Effect.gen(function* () {
    const prompts = yield* messagesOf(input)
    const context = yield* Effect.context<R2>()
    const hooks = options.hooks && Hooks.provide(options.hooks, context)
    return yield* core.start(prompts, { ...options, ...more, hooks })
  })

/** Starts a run and waits for its end; an interrupt aborts it and waits all the same. */
const resultOf = <R, E, R2>(core: Core<R>, start: Effect.Effect<Running, E, R2>): Effect.Effect<RunResult, E, R2> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(start, (running) =>
      Effect.onInterrupt(restore(Deferred.await(running.ended)), () => {
        core.abort(running)
        return Effect.exit(Deferred.await(running.ended))
      })
    )
  )

const streamOf = <R, R2>(core: Core<R>, input: Input, options: PromptOptions<R2> | undefined) =>
  Effect.gen(function* () {
    const reader = new Rendezvous<AgentEvent>()
    yield* Effect.acquireRelease(startOn(core, input, options, { reader }), (running) => {
      reader.leave()
      core.abort(running)
      return Effect.exit(Deferred.await(running.ended))
    })
    return Stream.fromPull(Effect.succeed(reader.pull))
  })

const queues = <R>(core: Core<R>) => {
  const { steering, followUp } = core
  return {
    steer: (message: Message) => Effect.sync(() => steering.add(message)),
    followUp: (message: Message) => Effect.sync(() => followUp.add(message)),
    clearSteering: Effect.sync(() => steering.clear()()),
    clearFollowUp: Effect.sync(() => followUp.clear()()),
    clearQueues: Effect.sync(() => core.clearQueues()),
    setSteeringMode: (mode: QueueMode) => Effect.sync(() => (steering.mode = mode)),
    setFollowUpMode: (mode: QueueMode) => Effect.sync(() => (followUp.mode = mode))
  }
}

const observation = <R>(core: Core<R>) => ({
  state: Effect.sync(() => snapshotOf(core)),
  subscribe: (listener: Listener) =>
    Effect.asVoid(
      Effect.acquireRelease(
        Effect.sync(() => core.listeners.add(listener)),
        (remove) => Effect.sync(remove)
      )
    ),
  watch: Effect.acquireRelease(
    Effect.sync(() => ({ state: snapshotOf(core), watcher: core.watched.watch() })),
    ({ watcher }) => Effect.sync(() => core.watched.unwatch(watcher))
  ).pipe(Effect.map(({ state, watcher }) => ({ state, events: watcher.stream })))
})

const snapshotOf = <R>(core: Core<R>): Snapshot => {
  const { settings, steering, followUp } = core
  const { state } = core.watched
  return {
    get messages() {
      return state.messages
    },
    streamingMessage: state.streamingMessage,
    pendingToolCalls: state.pendingToolCalls,
    errorMessage: state.errorMessage,
    usage: state.usage,
    isStreaming: core.running !== undefined,
    isQueued: core.isQueued,
    ...settings,
    steeringMode: steering.mode,
    followUpMode: followUp.mode
  }
}

const settings = <R>(core: Core<R>) => {
  const set =
    <Key extends keyof Settings>(key: Key) =>
    (value: Settings[Key]) =>
      Effect.sync(() => {
        core.settings = { ...core.settings, [key]: value }
      })
  return {
    setModel: set("model"),
    setThinkingLevel: set("thinkingLevel"),
    setSystemPrompt: set("systemPrompt"),
    setTools: set("tools"),
    setToolExecution: set("toolExecution"),
    setMessages: (messages: ReadonlyArray<Message>) =>
      Effect.sync(() => {
        const { watched } = core
        watched.replace(AgentState.withMessages(watched.state, messages))
      })
  }
}
