/**
 * The agent for callers without Effect: promises, an async iterable of events, plain functions. It is a face and nothing
 * else; what it does is done by the `Agent`, which lives in a `ManagedRuntime` until it is disposed of.
 *
 * A promise rejects with the typed error itself (`AgentBusy`, `NotDelivered`, …). An abort is no error: a run that was
 * aborted has a result that says so. No promise is made that nobody asked for, so that none rejects unheard.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Predicate from "effect/Predicate"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Agent from "./Agent.ts"
import type { AgentEvent } from "./AgentEvent.ts"
import { emptyUsage, type Message } from "./Message.ts"
import type { Provider } from "./services/Provider.ts"
import { Toolset } from "./services/Toolset.ts"

// ---------------------------------------------------------------------------------------------------------------------
// Models
// ---------------------------------------------------------------------------------------------------------------------

/** What an agent starts from, and the layers of its provider and its tools; no tools unless given. */
export interface Options<E = never, E2 = never> extends Agent.Options {
  readonly provider: Layer.Layer<Provider, E>
  readonly tools?: Layer.Layer<Toolset, E2> | undefined
}

/** What one prompt may set for its run. An abort of `signal` aborts that run, and no other. */
export interface PromptOptions extends Agent.PromptOptions {
  readonly signal?: AbortSignal | undefined
}

/** What who queued a message has of it. */
export interface Receipt {
  /** Resolves when the message is in the transcript; rejects with `NotDelivered` when it is certain not to be. */
  readonly delivered: () => Promise<Agent.Delivery>
  /** Takes the message back; false where it was too late for that. */
  readonly withdraw: () => boolean
}

export interface PromiseAgent {
  /**
   * Runs the agent on a prompt and resolves with what came of it, also when the run was aborted. With a signal that is
   * aborted already nothing is started, and the result is an empty one. Rejects with `AgentBusy`.
   */
  readonly prompt: (input: Agent.Input, options?: PromptOptions) => Promise<Agent.RunResult>
  /**
   * The events of a run on a prompt, which starts when they are first asked for. Leaving the loop aborts the run and waits
   * for its end; an abort by the signal ends the loop after the last event. Reading slowly slows the run down. The first
   * `next` rejects with `AgentBusy`.
   */
  readonly stream: (input: Agent.Input, options?: PromptOptions) => AsyncIterable<AgentEvent>
  /** Queues a message that the model is to see before its next response. */
  readonly steer: (message: Message) => Receipt
  /** Queues a message that waits until a run would otherwise end. */
  readonly followUp: (message: Message) => Receipt
  /** Asks for the end of the run, and returns. Anyone may call it; on an idle agent it does nothing. */
  readonly abort: () => void
  /** Resolves when no run goes on and the listeners of its end are done. A listener must not wait for that. */
  readonly waitForIdle: () => Promise<void>
  readonly state: () => Agent.Snapshot
  /**
   * Adds a listener, and gives what removes it. It is told every event, in order; where it gives a promise the run waits
   * for that. One that throws or rejects is reported to the log.
   */
  readonly subscribe: (listener: (event: AgentEvent) => PromiseLike<void> | void) => () => void
  /** Aborts what runs, settles what is queued, ends what is streamed, and closes the layers. A listener must not wait for it. */
  readonly dispose: () => Promise<void>
  /** The agent itself, for what is not here. */
  readonly service: Agent.Agent["Service"]
}

// ---------------------------------------------------------------------------------------------------------------------
// Constructors
// ---------------------------------------------------------------------------------------------------------------------

/** Makes an agent from options. Rejects with what the layers fail with. */
export const make = <E = never, E2 = never>({ provider, tools, ...options }: Options<E, E2>): Promise<PromiseAgent> =>
  fromLayer(Agent.layer(options).pipe(Layer.provide([provider, tools ?? Toolset.empty])))

/** Makes an agent from its layer. Rejects with what the layer fails with. */
export const fromLayer = <E>(layer: Layer.Layer<Agent.Agent, E>): Promise<PromiseAgent> => {
  const runtime = ManagedRuntime.make(layer)
  return runtime.context().then((context) => faceOf(runtime, context))
}

const faceOf = <E>(
  runtime: ManagedRuntime.ManagedRuntime<Agent.Agent, E>,
  context: Context.Context<Agent.Agent>
): PromiseAgent => {
  const agent = Context.get(context, Agent.Agent)
  const runPromise = Effect.runPromiseWith(context)
  const runSync = Effect.runSyncWith(context)
  const receiptOf = ({ delivered, withdraw }: Agent.Receipt): Receipt => ({
    delivered: () => runPromise(delivered),
    withdraw: () => runSync(withdraw)
  })
  const open = new Set<AsyncIterator<AgentEvent>>()
  return {
    prompt: (input, options) => runPromise(promptOf(agent, input, options)),
    stream: (input, options) => ({
      [Symbol.asyncIterator]: () => iterate(streamOf(agent, input, options), context, open)
    }),
    steer: (message) => receiptOf(runSync(agent.steer(message))),
    followUp: (message) => receiptOf(runSync(agent.followUp(message))),
    abort: () => runSync(agent.abort),
    waitForIdle: () => runPromise(agent.waitForIdle),
    state: () => runSync(agent.state),
    subscribe: (listener) => {
      const scope = Scope.makeUnsafe()
      runSync(Scope.provide(agent.subscribe(listenerOf(listener)), scope))
      return () => runSync(Scope.close(scope, Exit.void))
    },
    // A stream that nobody reads to its end would hold its run.
    dispose: () => Promise.all([...open].map((iterator) => iterator.return!())).then(() => runtime.dispose()),
    service: agent
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Runs
// ---------------------------------------------------------------------------------------------------------------------

const promptOf = (
  agent: Agent.Agent["Service"],
  input: Agent.Input,
  { signal, ...options }: PromptOptions = {}
): Effect.Effect<Agent.RunResult, Agent.AgentBusy> => {
  if (signal === undefined) return agent.prompt(input, options)
  if (signal.aborted) return Effect.succeed({ messages: [], reason: "aborted", text: "", usage: emptyUsage })
  return Effect.scoped(Effect.andThen(abortOn(agent, signal), agent.prompt(input, options)))
}

const streamOf = (
  agent: Agent.Agent["Service"],
  input: Agent.Input,
  { signal, ...options }: PromptOptions = {}
): Stream.Stream<AgentEvent, Agent.AgentBusy> => {
  if (signal === undefined) return agent.stream(input, options)
  if (signal.aborted) return Stream.empty
  return Stream.unwrap(Effect.as(abortOn(agent, signal), agent.stream(input, options)))
}

/** Lets a signal abort the run that is about to start, until that one has told its end: a later run is not its own. */
const abortOn = Effect.fnUntraced(function* (agent: Agent.Agent["Service"], signal: AbortSignal) {
  const runSync = Effect.runSyncWith(yield* Effect.context<never>())
  let run: "ahead" | "going" | "over" = "ahead"
  const abort = () => (run === "going" ? runSync(agent.abort) : undefined)
  yield* Effect.acquireRelease(
    Effect.sync(() => signal.addEventListener("abort", abort)),
    () => Effect.sync(() => signal.removeEventListener("abort", abort))
  )
  yield* agent.subscribe(({ type }) => {
    if (type === "agent_end") run = "over"
    if (type !== "agent_start" || run !== "ahead") return
    run = "going"
    if (signal.aborted) abort()
  })
})

/** Reads a stream from the first `next` on; the iterator is among those that are open until the stream is left or over. */
const iterate = <E>(
  events: Stream.Stream<AgentEvent, E>,
  context: Context.Context<never>,
  open: Set<AsyncIterator<AgentEvent>>
): AsyncIterator<AgentEvent> => {
  const isOpen = Effect.acquireRelease(
    Effect.sync(() => open.add(iterator)),
    () => Effect.sync(() => open.delete(iterator))
  )
  const whileOpen = Stream.unwrap(Effect.as(isOpen, events))
  const iterator: AsyncIterator<AgentEvent> = Stream.toAsyncIterableWith(whileOpen, context)[Symbol.asyncIterator]()
  return iterator
}

const listenerOf =
  (listener: (event: AgentEvent) => PromiseLike<void> | void): Agent.Listener =>
  (event) => {
    const waited = listener(event)
    return Predicate.isPromiseLike(waited) ? Effect.promise(() => waited) : undefined
  }
