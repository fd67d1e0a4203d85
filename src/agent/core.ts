/**
 * The runs of an agent: one at a time, each fed with what is queued, folded into the state and told to listeners. Whatever
 * a run has taken from a queue and not told when it is over goes back.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import type { AgentEvent } from "../AgentEvent.ts"
import * as AgentState from "../AgentState.ts"
import type { Rendezvous } from "../internal/rendezvous.ts"
import * as Loop from "../Loop.ts"
import { emptyUsage, type Message } from "../Message.ts"
import * as RetryPolicy from "../RetryPolicy.ts"
import * as Hooks from "../services/Hooks.ts"
import type { Model, Provider, ThinkingLevel } from "../services/Provider.ts"
import type * as Tool from "../Tool.ts"
import { Listeners } from "./listeners.ts"
import { MessageQueue } from "./messageQueue.ts"
import { AgentBusy, CannotContinue, type Options, type PromptOptions, resultOf, type RunResult } from "./models.ts"
import { WatchedState } from "./watchedState.ts"

/** A run of the agent, from its start until the listeners of its end are done. */
export interface Running {
  fiber: Fiber.Fiber<unknown, unknown> | undefined
  isAborted: boolean
  turn: number
  result: RunResult
  readonly ended: Deferred.Deferred<RunResult>
  /** Who reads this run alone, and holds it by not reading. */
  readonly reader: Rendezvous<AgentEvent> | undefined
}

export interface StartOptions extends PromptOptions {
  /** The run begins with steering messages, and does not ask for more of them before its first response. */
  readonly isSteered?: boolean | undefined
  /** The run begins in a task of its own, so that runs which follow each other do not nest. */
  readonly isDeferred?: boolean | undefined
  readonly reader?: Rendezvous<AgentEvent> | undefined
}

/** What a run starts with, and the next one may start with something else. */
export interface Settings {
  readonly systemPrompt: string | undefined
  readonly model: Model
  readonly thinkingLevel: ThinkingLevel
  readonly tools: ReadonlyArray<Tool.Any<never>>
  readonly toolExecution: "parallel" | "sequential"
}

/** The parts of an agent that are not its interface: what it holds, and how a run of it goes. */
export class Core<R> {
  settings: Settings
  running: Running | undefined
  readonly steering: MessageQueue
  readonly followUp: MessageQueue
  readonly listeners = new Listeners<AgentEvent>()
  readonly clock: Clock.Clock
  readonly watched: WatchedState

  private readonly options: Options<R>
  private readonly context: Context.Context<Provider | R>
  private isClosed = false

  constructor(options: Options<R>, tools: ReadonlyArray<Tool.Any<never>>, context: Context.Context<Provider | R>) {
    this.settings = {
      systemPrompt: options.systemPrompt,
      model: options.model,
      thinkingLevel: options.thinkingLevel ?? "off",
      tools,
      toolExecution: options.toolExecution ?? "parallel"
    }
    this.watched = new WatchedState(options.messages)
    this.steering = new MessageQueue(options.steeringMode ?? "one-at-a-time")
    this.followUp = new MessageQueue(options.followUpMode ?? "one-at-a-time")
    this.clock = Context.get(context, Clock.Clock)
    this.options = options
    this.context = context
  }

  get isQueued(): boolean {
    return !this.steering.isEmpty || !this.followUp.isEmpty
  }

  /** Starts a run. It goes on in a fiber of its own, and is over when `ended` is done. */
  start(
    prompts: ReadonlyArray<Message>,
    { hooks = {}, maxTurns = this.options.maxTurns, isSteered = false, isDeferred = false, reader }: StartOptions = {}
  ): Effect.Effect<Running, AgentBusy> {
    return Effect.withFiber((caller) => {
      if (this.running !== undefined) return Effect.fail(new AgentBusy())
      const running: Running = {
        fiber: undefined,
        isAborted: false,
        turn: 0,
        result: { messages: [], reason: "aborted", text: "", usage: emptyUsage },
        ended: Deferred.makeUnsafe(),
        reader
      }
      this.running = running
      if (this.isClosed) {
        this.finish(running, Exit.void)
        return Effect.succeed(running)
      }
      const { retry = RetryPolicy.standard } = this.options
      let skipsPoll = isSteered
      const run = Loop.run({
        ...this.options,
        ...this.settings,
        messages: this.watched.state.messages,
        prompts,
        hooks: Hooks.combine(this.options.hooks ?? {}, hooks),
        maxTurns,
        retry: retry === false ? undefined : retry,
        steering: Effect.sync(() => {
          const skips = skipsPoll
          skipsPoll = false
          return skips ? [] : this.steering.take()
        }),
        followUp: Effect.sync(() => this.followUp.take())
      })
      // References are those of who starts the run; services are the agent's own.
      const fiber = Effect.runForkWith(Context.merge(caller.context, this.context))(
        isDeferred ? Effect.andThen(Effect.yieldNow, this.play(running, run)) : this.play(running, run)
      )
      fiber.addObserver((exit) => this.finish(running, exit))
      return Effect.succeed(running)
    })
  }

  /** Nothing but a wait of the run can be interrupted, so that an aborted run tells its end. */
  private play(
    running: Running,
    run: Stream.Stream<AgentEvent, never, Provider | R>
  ): Effect.Effect<void, never, Provider | R> {
    const take = (event: AgentEvent) => this.take(running, event)
    const deliver = (events: ReadonlyArray<AgentEvent>) =>
      Effect.andThen(this.listeners.deliver(events, take), () => tellReader(running, events))
    return Effect.uninterruptible(
      Effect.withFiber((fiber) => {
        running.fiber = fiber
        if (running.isAborted) fiber.interruptUnsafe()
        return Stream.runForEachArray(run, deliver)
      })
    )
  }

  /** Takes an event in, before the listeners are told of it. */
  private take(running: Running, event: AgentEvent): void {
    if (event.type === "turn_start") running.turn++
    else if (event.type === "agent_end") running.result = resultOf(event)
    this.watched.take(event)
    if (event.type === "message_end") this.settle(event.message, running.turn)
  }

  private settle(message: Message, turn: number): void {
    const delivery = { turn, timestamp: this.clock.currentTimeMillisUnsafe() }
    this.steering.settle(message, delivery)
    this.followUp.settle(message, delivery)
  }

  abort(running: Running): void {
    running.isAborted = true
    running.fiber?.interruptUnsafe()
    running.reader?.release()
  }

  private finish(running: Running, exit: Exit.Exit<void>): void {
    if (this.running !== running) return
    this.running = undefined
    this.steering.giveBack()
    this.followUp.giveBack()
    const { result, reader, ended } = running
    const isDefect = Exit.isFailure(exit) && Cause.hasDies(exit.cause)
    // Before anybody hears of the end: an agent that goes on by itself is not idle in between.
    if (!isDefect && this.goesOn(running)) Effect.runSync(Effect.ignore(this.startQueued(true)))
    reader?.close(Exit.void)
    if (this.isClosed) this.settleRest()
    Deferred.doneUnsafe(ended, isDefect ? Effect.failCause(exit.cause) : Effect.succeed(result))
  }

  private goesOn({ isAborted, result }: Running): boolean {
    const isWanted = this.options.continueWhenQueued === true && this.isQueued && !this.isClosed
    return isWanted && !isAborted && result.reason !== "error"
  }

  /** Starts a run on the transcript as it is, or after an assistant message on what is queued. */
  continue(): Effect.Effect<Running, AgentBusy | CannotContinue> {
    return Effect.suspend((): Effect.Effect<Running, AgentBusy | CannotContinue> => {
      if (this.running !== undefined) return Effect.fail(new AgentBusy())
      const last = this.watched.state.messages.at(-1)
      if (last === undefined) return Effect.fail(new CannotContinue({ reason: "empty" }))
      return last.role === "assistant" ? this.startQueued() : this.start([])
    })
  }

  /** Starts a run on queued messages: steering messages, else follow-ups. */
  private startQueued(isDeferred = false): Effect.Effect<Running, AgentBusy | CannotContinue> {
    const steered = this.steering.take()
    if (steered.length > 0) return this.start(steered, { isSteered: true, isDeferred })
    const queued = this.followUp.take()
    return queued.length > 0
      ? this.start(queued, { isDeferred })
      : Effect.fail(new CannotContinue({ reason: "endsWithAssistant" }))
  }

  /** Forgets the conversation; what a run starts with stays. */
  reset(): Effect.Effect<void, AgentBusy> {
    return Effect.suspend(() => {
      if (this.running !== undefined) return Effect.fail(new AgentBusy())
      this.watched.replace(AgentState.make())
      this.clearQueues()
      return Effect.void
    })
  }

  clearQueues(): void {
    const tellAll = [this.steering.clear(), this.followUp.clear()]
    for (const tell of tellAll) tell()
  }

  /**
   * Settles the run, the queues and the watchers. A run that has not ended after the grace period is left behind; one that
   * closes its own agent is not waited for, and settles the rest when it ends.
   */
  readonly close: Effect.Effect<void> = Effect.withFiber((fiber) => {
    this.isClosed = true
    const { running } = this
    if (running === undefined) return Effect.sync(() => this.settleRest())
    this.abort(running)
    if (running.fiber === fiber) return Effect.void
    const { gracePeriod = Loop.DEFAULT_GRACE_PERIOD } = this.options
    const leaving = Effect.sync(() => this.finish(running, Exit.void))
    const timer = Effect.runForkWith(this.context)(Effect.andThen(Effect.sleep(gracePeriod), leaving))
    return Effect.andThen(Effect.exit(Deferred.await(running.ended)), Fiber.interrupt(timer))
  })

  private settleRest(): void {
    this.steering.close()
    this.followUp.close()
    this.watched.close()
  }
}

/** Who reads a run alone holds it by not reading, but neither its abort nor its end. */
const tellReader = ({ reader, isAborted }: Running, events: ReadonlyArray<AgentEvent>): Effect.Effect<unknown> => {
  if (reader === undefined) return Effect.void
  const isHeld = !isAborted && events.at(-1)?.type !== "agent_end"
  return isHeld ? reader.deliver(events) : Effect.sync(() => reader.append(events))
}
