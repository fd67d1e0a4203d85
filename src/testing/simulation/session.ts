/**
 * An agent in a world, and the application that holds it: it prompts, queues, withdraws, aborts and closes as the world
 * says. When nothing happens any more, further runs deliver what is still queued; then the agent is closed.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type * as Agent from "../../Agent.ts"
import type { AgentEvent } from "../../AgentEvent.ts"
import type { Message } from "../../Message.ts"
import type * as Recording from "../Recording.ts"
import type * as World from "../World.ts"
import type { Hearing } from "./hearing.ts"
import { messageOf, userMessage } from "./hooks.ts"
import { type Application, Drive, Listener } from "./listener.ts"
import type { Stage } from "./steps.ts"

type Service = Agent.Agent["Service"]
type Does = World.Command["does"]

/** Runs an effect in the machine. */
export type Fork = (effect: Effect.Effect<unknown>) => Fiber.Fiber<unknown, unknown>

interface Queued extends Recording.Queued {
  readonly receipt: Agent.Receipt
  readonly receipts: Array<Recording.Queued["receipts"][number]>
  readonly withdrawals: Array<Recording.Queued["withdrawals"][number]>
}

export class Session implements Application {
  readonly listener: Listener
  /** When the last prompt or continuation was over. */
  settled: Recording.Moment | undefined
  readonly queued: Array<Queued> = []
  readonly results: Array<Recording.Session["results"][number]> = []
  readonly watched: Array<Recording.Watched> = []
  closing: { readonly asked: Recording.Moment; ended?: Recording.Moment | undefined } | undefined
  driven = 0

  private agent: Service | undefined
  /** Watchers that read when the agent is closed. */
  private readonly lateReaders: Array<Effect.Effect<void>> = []
  /** Who waits for the last prompt or continuation, and which one that is. */
  private driver: Fiber.Fiber<unknown, unknown> | undefined
  private drives = 0
  /** How the prompt was left before its run had begun: it may begin all the same, and is aborted. */
  private leftEarly: Pick<Recording.Stop, "how" | "asked"> | undefined
  private closer: Fiber.Fiber<unknown, unknown> | undefined
  private continuations = 0
  private fork: Fork = Effect.runFork
  private readonly scope = Scope.makeUnsafe()
  private readonly observation = Scope.makeUnsafe()
  private readonly stage: Stage
  private readonly acts: ReadonlyArray<World.Act>
  private readonly commands: ReadonlyArray<World.Command>

  constructor(stage: Stage, world: World.World) {
    this.stage = stage
    this.acts = world.consumer?.acts ?? []
    this.commands = world.agent?.commands ?? []
    this.listener = new Listener(stage, world.consumer ?? {}, this)
    const { machine, journal } = stage
    machine.onTurn = () => {
      this.actAt((when) => "step" in when && when.step === machine.turn)
      const hearing = this.listener.runs.at(-1)?.hearing ?? this.listener.next
      hearing.confirm()
    }
    journal.onEntry = (position) => this.actAt((when) => "entry" in when && when.entry === position)
    const instants = [...this.acts, ...this.commands].flatMap((act) =>
      "when" in act && "ms" in act.when ? [act.when.ms] : []
    )
    for (const ms of new Set(instants)) machine.at(ms, () => this.actAt((when) => "ms" in when && when.ms === ms))
    for (const queue of ["steering", "followUp"] as const) {
      for (const message of world.queues?.[queue] ?? []) {
        machine.at(message.at, () => this.enqueue(queue, messageOf(message)))
      }
    }
  }

  /** Begins with the prompts of the world. To be run by the machine. */
  begin<R>(make: Effect.Effect<Service, never, R | Scope.Scope>, prompts: ReadonlyArray<Message>, fork: Fork) {
    this.fork = fork
    return Effect.gen({ self: this }, function* () {
      const agent = yield* Scope.provide(make, this.scope)
      yield* Scope.provide(this.listener.to(agent), this.observation)
      this.agent = agent
      const take = this.acts.find((act) => act.type === "take")
      this.drive(take === undefined ? agent.prompt(prompts) : this.readSome(agent.stream(prompts), take.count))
    })
  }

  private get isRunning(): boolean {
    return this.agent !== undefined && Effect.runSync(this.agent.state).isStreaming
  }

  // -------------------------------------------------------------------------------------------------------------------
  // Driving
  // -------------------------------------------------------------------------------------------------------------------

  private drive(prompt: Effect.Effect<Agent.RunResult | void, Agent.AgentBusy | Agent.CannotContinue>): void {
    const settle = (exit: Exit.Exit<Agent.RunResult | void, Agent.AgentBusy | Agent.CannotContinue>) =>
      Effect.sync(() => {
        this.settled = this.stage.journal.moment
        const result = outcomeOf(exit)
        if (result !== undefined) this.results.push(result)
      })
    this.driven = this.stage.journal.moment.position
    this.drives += 1
    this.leftEarly = undefined
    const driver = this.fork(
      Effect.withFiber((fiber) => {
        this.driver = fiber
        return Effect.exit(Effect.provideService(Effect.onExit(prompt, settle), Drive, this.drives))
      })
    )
    // Left before its first step, a prompt is over without a word.
    driver.addObserver(() => {
      this.settled ??= this.stage.journal.moment
    })
  }

  private readSome(events: Stream.Stream<AgentEvent, Agent.AgentBusy>, count: number) {
    let read = 0
    return Stream.runForEach(events, () =>
      Effect.sync(() => {
        if (++read === count) this.stop("take")
      })
    )
  }

  /**
   * What the application does when nothing happens by itself any more: it aborts what does not end, then continues for as
   * long as something is queued, then closes. False where there is nothing more to do.
   */
  goOn(): boolean {
    const { agent, listener } = this
    if (agent === undefined) return false
    if (this.isRunning) {
      if (listener.hearing.stopping !== undefined) return false
      this.stop("abort", true)
      return true
    }
    const last = listener.runs.at(-1)
    if (last !== undefined && listener.current === undefined) last.aliveLater ??= this.stage.journal.alive()
    if (this.closing !== undefined) return false
    if (Effect.runSync(agent.state).isQueued && this.continuations < 2 * this.queued.length + 2) {
      this.continuations += 1
      this.stage.journal.write({ type: "command", does: "continue" })
      this.drive(Effect.catchTag(agent.continue, "CannotContinue", () => agent.prompt("and now?")))
    } else this.close()
    return true
  }

  /** All is done that was due at this instant. */
  pause(): void {
    const last = this.listener.runs.at(-1)
    if (last?.end !== undefined && !this.isRunning) last.aliveAtEnd ??= this.stage.journal.alive()
  }

  // -------------------------------------------------------------------------------------------------------------------
  // Commands
  // -------------------------------------------------------------------------------------------------------------------

  actAt(isDue: (when: World.When) => boolean): void {
    for (const { when, does } of this.commands) if (isDue(when)) this.perform(does)
    for (const act of this.acts) if ("when" in act && isDue(act.when)) this.stop(act.type)
  }

  private perform(does: Does): void {
    const { agent } = this
    if (agent === undefined) return
    switch (does) {
      case "steer":
        return this.enqueue("steering", userMessage(`queued ${this.queued.length}`, this.stage.machine.now))
      case "followUp":
        return this.enqueue("followUp", userMessage(`queued ${this.queued.length}`, this.stage.machine.now))
      case "abort":
        return this.stop("abort")
      case "close":
        return this.close()
    }
    this.stage.journal.write({ type: "command", does })
    switch (does) {
      case "watch":
      case "watchLate":
        return this.watch(agent, does === "watchLate")
      case "withdraw":
        return this.withdraw()
      case "clearQueues":
        return Effect.runSync(agent.clearQueues)
      case "deliverAll":
        return Effect.runSync(Effect.andThen(agent.setSteeringMode("all"), agent.setFollowUpMode("all")))
      case "prompt":
        this.driven = this.stage.journal.moment.position
        this.fork(Effect.exit(agent.prompt("another")))
    }
  }

  private enqueue(queue: Queued["queue"], message: Message): void {
    const { agent, queued } = this
    if (agent === undefined) return
    const { journal } = this.stage
    const index = queued.length
    journal.write({ type: "command", does: `${queue} ${index}` })
    const receipt = Effect.runSync(queue === "steering" ? agent.steer(message) : agent.followUp(message))
    const one: Queued = { ...journal.moment, queue, message, receipt, receipts: [], withdrawals: [] }
    queued.push(one)
    const hear = (says: Queued["receipts"][number]["says"]) => {
      one.receipts.push({ ...journal.moment, says })
      journal.write({ type: "receipt", queued: index, says: typeof says === "string" ? says : `turn ${says.turn}` })
    }
    // Outside of the machine: who waits for a receipt is no part of the world, and hears of it at once.
    Effect.runFork(Effect.match(receipt.delivered, { onSuccess: hear, onFailure: ({ reason }) => hear(reason) }))
  }

  private withdraw(): void {
    const last = this.queued.findLast(({ withdrawals }) => withdrawals.length === 0)
    if (last === undefined) return
    const isTaken = Effect.runSync(last.receipt.withdraw)
    last.withdrawals.push({ ...this.stage.journal.moment, isTaken })
  }

  private watch(agent: Service, isLate: boolean): void {
    const { state, events } = Effect.runSync(Scope.provide(agent.watch, this.observation))
    const read: Array<AgentEvent | Agent.EventsSkipped> = []
    this.watched.push({ ...this.stage.journal.moment, told: this.stage.journal.events.length, state, read })
    const reading = Stream.runForEachArray(events, (array) => Effect.sync(() => read.push(...array)))
    if (isLate) this.lateReaders.push(reading)
    // Outside of the machine, as who waits for a receipt.
    else Effect.runFork(reading)
  }

  private close(): void {
    if (this.closing !== undefined || this.agent === undefined) return
    const { journal } = this.stage
    const closing: NonNullable<Session["closing"]> = { asked: journal.moment }
    this.closing = closing
    journal.write({ type: "command", does: "close" })
    const { isRunning } = this
    const { hearing } = this.listener
    if (isRunning) this.mark("close", false)
    const end = Effect.sync(() => {
      closing.ended = journal.moment
      for (const reading of this.lateReaders) Effect.runFork(reading)
    })
    const closer = this.fork(Effect.andThen(Scope.close(this.scope, Exit.void), end))
    this.closer = closer
    // Closed while it is idle, a fiber that is made to wait before it does that may stop the run that has begun meanwhile.
    if (!isRunning && closing.ended === undefined) hearing.begin("close", false)
    if (hearing.stopping?.how === "close") hearing.tellThrough(closer)
  }

  /** Stops the run in a way in which its reader does it. An agent that is in no run hears nothing of it. */
  stop(asked: Exclude<Recording.Stop["how"], "close">, isRescue = false): void {
    const { agent, driver } = this
    const { hearing, runs, current } = this.listener
    if (agent === undefined || asked === "die") return
    // A prompt that is over cannot be left any more.
    const how = driver === undefined || driver.pollUnsafe() !== undefined ? "abort" : asked
    // The run of the prompt that is left, once that has told something.
    const left = runs.find(({ drive }) => drive === this.drives)
    const isReached = how === "abort" || (left !== undefined && left === current)
    const { isBusy } = hearing
    const { moment } = this.stage.journal
    const isFirst = this.isRunning && isReached && this.mark(how, isRescue)
    if (!isFirst) this.stage.journal.write({ type: "command", does: how })
    if (how !== "abort" && left === undefined) this.leftEarly ??= { how, asked: moment }
    if (how === "abort") {
      if (isFirst && !isBusy && hearing.isReading) hearing.propose(hearing.stopping!.asked)
      return Effect.runSync(agent.abort)
    }
    if (isFirst) hearing.tellThrough(driver!)
    driver!.interruptUnsafe()
  }

  /** Writes down that the run is stopped; false where it was before. */
  private mark(how: Recording.Stop["how"], isRescue: boolean): boolean {
    const { hearing, current } = this.listener
    // All is told, and still that run is stopped, or the one that follows it.
    if (current?.told !== undefined && current.hearing.stopping === undefined) current.hearing.begin(how, isRescue)
    if (hearing.stopping !== undefined || (current?.told !== undefined && how !== "abort" && how !== "close"))
      return false
    hearing.begin(how, isRescue)
    return true
  }

  stopEarly(next: Hearing, drive: number | undefined): void {
    // Who closes the agent was made to wait, and stops this run instead of the last.
    if (this.closing?.ended === undefined && this.closer !== undefined && next.stopping === undefined) {
      next.begin("close", false, this.closing?.asked)
      next.tellThrough(this.closer)
    }
    const { leftEarly } = this
    if (leftEarly === undefined || drive !== this.drives) return
    if (next.stopping === undefined || next.stopping.asked.position > leftEarly.asked.position) {
      next.begin(leftEarly.how, false, leftEarly.asked)
      next.tellThrough(this.driver!)
    }
  }
}

const outcomeOf = (
  exit: Exit.Exit<Agent.RunResult | void, Agent.AgentBusy | Agent.CannotContinue>
): Recording.Session["results"][number] | undefined => {
  if (Exit.isSuccess(exit)) return exit.value ?? undefined
  if (Cause.hasInterrupts(exit.cause)) return "interrupted"
  const failure = exit.cause.reasons.find(Cause.isFailReason)
  return failure?.error ?? "died"
}
