/**
 * Listens to an agent in a world: which runs it has, when each has begun, was told and has ended, what the state was at each
 * event and whenever it was idle. It is slow, or dies, as the world says.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import type * as Agent from "../../Agent.ts"
import type { AgentEvent } from "../../AgentEvent.ts"
import type { AgentState } from "../../AgentState.ts"
import type { Message } from "../../Message.ts"
import type * as Recording from "../Recording.ts"
import type * as World from "../World.ts"
import { Hearing } from "./hearing.ts"
import { rest, type Stage } from "./steps.ts"

/** Which prompt or continuation is running: a run has the references of who starts it. */
export const Drive = Context.Reference<number | undefined>("effect-agent/testing/simulation/listener/Drive", {
  defaultValue: () => undefined
})

/** A run of the agent, from its first event on. */
export interface RunOfAgent {
  /** The entry of the log from which on it may have begun. */
  readonly from: number
  readonly start: Recording.Moment
  readonly hearing: Hearing
  /** The prompt or continuation that it is of; none where the agent has started it, or one that is prompted beside them. */
  readonly drive: number | undefined
  readonly firstEvent: number
  readonly history: ReadonlyArray<Message>
  /** When its last listener was through with its last event. */
  told: Recording.Moment | undefined
  end: Recording.Moment | undefined
  aliveAtEnd: Recording.Alive | undefined
  aliveLater: Recording.Alive | undefined
}

/** Who holds the agent, as far as its listener must know. */
export interface Application {
  readonly queued: ReadonlyArray<Recording.Queued>
  /** Where in the log something was last begun that may begin a run. */
  readonly driven: number
  /** Does what is to be done at a place. */
  readonly actAt: (isDue: (when: World.When) => boolean) => void
  /** Stops a run that begins, if that was asked for before. */
  readonly stopEarly: (hearing: Hearing, drive: number | undefined) => void
}

export class Listener {
  readonly runs: Array<RunOfAgent> = []
  /** Knows of stops of a run that has not told anything yet. */
  next: Hearing
  readonly states: Array<AgentState> = []
  readonly idles: Array<Recording.Idle> = []

  private agent: Agent.Agent["Service"] | undefined
  private isWatched = false
  private readonly stage: Stage
  private readonly consumer: World.Consumer
  private readonly application: Application

  constructor(stage: Stage, consumer: World.Consumer, application: Application) {
    this.stage = stage
    this.consumer = consumer
    this.application = application
    this.next = new Hearing(stage)
  }

  /** The run whose end has not been heard. */
  get current(): RunOfAgent | undefined {
    const last = this.runs.at(-1)
    return last?.end === undefined ? last : undefined
  }

  /** Of the run that can still be stopped: that one, or the next. */
  get hearing(): Hearing {
    const { current } = this
    return current === undefined || current.told !== undefined ? this.next : current.hearing
  }

  /** Listens until the scope is closed. */
  to(agent: Agent.Agent["Service"]): Effect.Effect<void, never, Scope.Scope> {
    this.agent = agent
    return agent.subscribe(this.listen)
  }

  private readonly listen = (event: AgentEvent): Effect.Effect<void> =>
    Effect.withFiber((fiber) => {
      if (event.type === "agent_start") this.open(fiber)
      this.hearing.deliver()
      const index = this.stage.journal.receive(event)
      this.states.push(Effect.runSync(this.agent!.state))
      this.application.actAt((when) => "event" in when && when.event === index)
      return Effect.andThen(rest(this.stage, this.consumer, index), this.finish(event, index))
    })

  private open(fiber: Fiber.Fiber<unknown, unknown>): void {
    const { next, stage } = this
    const last = this.current
    if (last !== undefined) last.end = last.told
    next.fiber = fiber
    const drive = Context.get(fiber.context, Drive)
    this.application.stopEarly(next, drive)
    const start = stage.journal.moment
    const { driven } = this.application
    this.runs.push({
      from: this.runs.length === 0 ? 0 : driven > (this.runs.at(-1)!.end?.position ?? 0) ? driven : start.position,
      start,
      hearing: next,
      drive,
      firstEvent: this.states.length,
      history: Effect.runSync(this.agent!.state).messages,
      told: undefined,
      end: undefined,
      aliveAtEnd: undefined,
      aliveLater: undefined
    })
    this.next = new Hearing(stage)
    if (this.isWatched) return
    this.isWatched = true
    Effect.runFork(
      Effect.andThen(
        this.agent!.waitForIdle,
        Effect.sync(() => this.idle())
      )
    )
  }

  private idle(): void {
    this.isWatched = false
    const { current } = this
    const { queued } = this.application
    const { isStreaming, isQueued, ...state } = Effect.runSync(this.agent!.state)
    const pending = queued.flatMap(({ receipts }, index) => (receipts.length === 0 ? [index] : []))
    this.idles.push({ ...this.stage.journal.moment, state, isStreaming, isQueued, queued: queued.length, pending })
    // The last run was over when it was aborted.
    if (this.next.stopping !== undefined && this.next.stopping.how !== "close") this.next = new Hearing(this.stage)
    if (current === undefined) return
    current.end = this.stage.journal.moment
    this.stage.journal.write({ type: "end" })
  }

  private finish(event: AgentEvent, index: number): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { hearing, current } = this
      const moment = this.stage.journal.write({ type: "read" })
      hearing.read(moment)
      if (event.type === "agent_end" && current !== undefined) current.told = moment
      const dies = this.consumer.acts?.some((act) => act.type === "die" && act.event === index)
      return dies === true ? Effect.die(new Error("the listener dies")) : Effect.void
    })
  }
}
