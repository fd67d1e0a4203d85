/**
 * One agent a conversation, made when it is first needed and let go when nobody has used it for a while; the next one
 * starts from what the store has. A run belongs to its conversation, not to who asked for it: it goes on when they leave.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import * as RcMap from "effect/RcMap"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Agent from "effect-agent/Agent"
import type { AgentEvent } from "effect-agent/AgentEvent"
import type { Provider } from "effect-agent/services/Provider"
import type { Toolset } from "effect-agent/services/Toolset"
import { Store } from "./Store.ts"

export interface Options {
  /** What each agent starts from. */
  readonly agent: Omit<Agent.Options, "messages" | "continueWhenQueued">
  /** How long a conversation stays in memory that does not run and is not watched. */
  readonly idleTimeToLive: Duration.Input
}

/** A conversation begins with its first prompt. */
export class ConversationNotFound extends Schema.TaggedError<ConversationNotFound>()("ConversationNotFound", {
  id: Schema.String
}) {
  override get message() {
    return `There is no conversation "${this.id}". It begins with its first prompt.`
  }
}

/** There is no run that could be steered. */
export class NotRunning extends Schema.TaggedError<NotRunning>()("NotRunning", {}) {
  override get message() {
    return "The conversation is not running. Prompt it instead."
  }
}

export class ShuttingDown extends Schema.TaggedError<ShuttingDown>()("ShuttingDown", {}) {
  override get message() {
    return "The server is shutting down. Try again in a while."
  }
}

export type Events = Stream.Stream<AgentEvent | Agent.EventsSkipped>

export class Conversations extends Context.Service<
  Conversations,
  {
    /** The agent of a conversation that was begun, which is held in memory until the scope is closed. */
    readonly get: (
      id: string
    ) => Effect.Effect<Agent.Agent["Service"], ConversationNotFound | ShuttingDown, Scope.Scope>
    /** Starts a run, and gives its events. Who stops reading them, or is slow, holds nobody up. */
    readonly prompt: (id: string, text: string) => Effect.Effect<Events, Agent.AgentBusy | ShuttingDown, Scope.Scope>
    /** Queues a message for the run that goes on. One that comes too late for it starts another. */
    readonly steer: (
      id: string,
      text: string
    ) => Effect.Effect<void, ConversationNotFound | NotRunning | ShuttingDown, Scope.Scope>
    /** Ends all runs at once, then all conversations. */
    readonly close: Effect.Effect<void>
  }
>()("backend/Conversations") {
  static readonly layer = (options: Options): Layer.Layer<Conversations, never, Provider | Toolset | Store> =>
    Layer.effect(Conversations, make(options))
}

const make = Effect.fnUntraced(function* (options: Options) {
  const store = yield* Store
  const scope = yield* Scope.fork(yield* Effect.scope)
  const agents = yield* makeAgents(options).pipe(Scope.provide(scope))
  // Made after the agents, and so closed before them: all runs are aborted together, not one agent after the other.
  const runs = yield* FiberSet.make().pipe(Scope.provide(scope))
  let isClosing = false

  const open = (id: string) =>
    Effect.suspend(() => (isClosing ? Effect.fail(new ShuttingDown()) : RcMap.get(agents, id)))

  const get = Effect.fnUntraced(function* (id: string) {
    if (!(yield* store.has(id))) return yield* new ConversationNotFound({ id })
    return yield* open(id)
  })

  const prompt = Effect.fnUntraced(function* (id: string, text: string) {
    const agent = yield* open(id)
    const { events } = yield* agent.watch
    const run = Effect.gen(function* () {
      yield* RcMap.get(agents, id)
      yield* agent.prompt(text)
      yield* agent.waitForIdle
    })
    const fiber = yield* FiberSet.run(runs, Effect.scoped(run))
    // An agent takes a prompt or refuses it at once.
    const exit = fiber.pollUnsafe()
    if (exit !== undefined) yield* exit
    return Stream.takeUntil(events, ({ type }) => type === "agent_end")
  })

  const steer = Effect.fnUntraced(function* (id: string, text: string) {
    const agent = yield* get(id)
    if (!(yield* agent.state).isStreaming) return yield* new NotRunning()
    const message = { role: "user", content: text, timestamp: yield* Clock.currentTimeMillis } as const
    yield* store.queue(id, message)
    yield* agent.steer(message)
  })

  const close = Effect.suspend(() => {
    isClosing = true
    return Scope.close(scope, Exit.void)
  })

  return { get, prompt, steer, close }
})

const makeAgents = Effect.fnUntraced(function* ({ agent, idleTimeToLive }: Options) {
  const store = yield* Store
  const context = yield* Effect.context<Provider | Toolset | Store>()

  const lookup = Effect.fnUntraced(function* (id: string) {
    const { messages, queued } = yield* store.load(id)
    const self = yield* Agent.make({ ...agent, messages, continueWhenQueued: true })
    yield* self.subscribe((event) => (event.type === "message_end" ? store.append(id, event.message) : undefined))
    yield* Effect.forEach(queued, (message) => self.steer(message), { discard: true })
    return self
  })

  return yield* RcMap.make({
    // Not in the context of the request that happens to be the first: the agent outlives it.
    lookup: (id: string) =>
      Effect.updateContext(lookup(id), (request: Context.Context<Scope.Scope>) =>
        Context.add(context, Scope.Scope, Context.get(request, Scope.Scope))
      ),
    idleTimeToLive
  })
})
