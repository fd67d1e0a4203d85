/**
 * The reader of the events of a simulated run: it is slow, it leaves, it aborts, as the world says, and it knows from which
 * moment on the run must have known that it was stopped.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import type { AgentEvent } from "../../AgentEvent.ts"
import type { Moment, Stop } from "../Recording.ts"
import type * as World from "../World.ts"
import type { Stage } from "./steps.ts"

interface Stopping extends Stop {
  heard?: Moment | undefined
}

export class Reader {
  stopping: Stopping | undefined
  end: Moment | undefined
  /** The reader did not follow the run to its end. */
  isGone = false
  private fiber: Fiber.Fiber<void> | undefined
  private isReading = false
  /** The machine's turn in which the reader last ran: in the same one it may still be on the stack. */
  private lastRan = -1
  /** From where the run knows of the stop, if the reader is not made to wait before it tells. */
  private candidate: { readonly moment: Moment; readonly preemptions: number } | undefined
  private entry: Extract<World.When, { entry: number }> | undefined

  private readonly stage: Stage
  private readonly consumer: World.Consumer
  private readonly acts: ReadonlyArray<World.Act>

  constructor(stage: Stage, consumer: World.Consumer = {}) {
    this.stage = stage
    this.consumer = consumer
    this.acts = consumer.acts ?? []
    stage.machine.onTurn = () => this.confirm()
    for (const act of this.acts) {
      if ("when" in act && "ms" in act.when) stage.machine.at(act.when.ms, () => this.stop())
      if ("when" in act && "entry" in act.when) this.entry = act.when
    }
    if (this.entry !== undefined) stage.journal.onEntry = (position) => position === this.entry?.entry && this.stop()
  }

  /** Reads a stream as the world says. To be run by the machine. */
  read<R>(events: Stream.Stream<AgentEvent, never, R>): Effect.Effect<void, never, R> {
    const take = this.acts.find((act) => act.type === "take")
    const watched = Stream.transformPull(events, (pull) => Effect.succeed(this.pull(pull)))
    const taken = take === undefined ? watched : Stream.take(watched, take.count)
    const all = Stream.runForEach(taken, (event) => this.handle(event))
    const region = this.leaves ? Effect.interruptible(all) : Effect.uninterruptible(all)
    return Effect.withFiber((fiber) => {
      this.fiber = fiber as Fiber.Fiber<void>
      fiber.addObserver(() => {
        this.end = this.stage.journal.write({ type: "end" })
      })
      return region
    })
  }

  /** Stops the run in the way in which this reader does it, at most once. */
  stop(isRescue = false): void {
    if (this.stopping !== undefined || this.end !== undefined || this.fiber === undefined) return
    this.begin(this.leaves ? "leave" : "abort", isRescue)
    // Deep in the reader's own stack, the run goes on until that has unwound; in its own code, it stops at the next pull.
    const { turn, waiting } = this.stage.machine
    const isBusy = (this.isReading && this.lastRan === turn) || waiting.has(this.fiber.id)
    if (!isBusy && (this.leaves || this.isReading)) this.propose(this.stopping!.asked)
    if (this.leaves) this.isGone = true
    this.fiber.interruptUnsafe()
  }

  private get leaves(): boolean {
    return this.acts.some(({ type }) => type === "leave")
  }

  private begin(how: Stop["how"], isRescue: boolean): void {
    this.stopping = { how, isRescue, asked: this.stage.journal.moment }
    this.stage.journal.write({ type: "stop", how })
  }

  private pull<A, E, R>(pull: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.uninterruptibleMask((restore) =>
      Effect.suspend(() => {
        this.ran(true)
        const moment = this.stage.journal.write({ type: "read" })
        if (this.stopping !== undefined && this.candidate === undefined) this.propose(moment)
        return Effect.onExit(restore(pull), () =>
          Effect.sync(() => {
            this.ran(false)
            if (this.isGone && this.candidate === undefined) this.propose(this.stage.journal.moment)
          })
        )
      })
    )
  }

  private handle(event: AgentEvent): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.ran(false)
      const index = this.stage.journal.receive(event)
      if (this.acts.some((act) => "when" in act && "event" in act.when && act.when.event === index)) this.stop()
      return Effect.andThen(this.pause(index), this.finish(index))
    })
  }

  private pause(index: number): Effect.Effect<void> {
    const { slowMs = 0, pauses = [] } = this.consumer
    const ms = pauses.reduce((sum, pause) => (pause.event === index ? sum + pause.ms : sum), slowMs)
    if (ms === 0) return Effect.void
    const pause = this.stage.journal.track({ kind: "consumer", name: "pause" }, () => Effect.sleep(ms))
    return Effect.provideService(pause, Clock.Clock, this.stage.clock)
  }

  private finish(index: number): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.ran(false)
      const last = this.acts.find(
        (act) => (act.type === "die" && act.event === index) || (act.type === "take" && act.count === index + 1)
      )
      if (last?.type !== "die" && last?.type !== "take") return Effect.void
      this.isGone = true
      if (this.stopping === undefined) this.begin(last.type, false)
      if (this.candidate === undefined) this.propose(this.stage.journal.moment)
      return last.type === "die" ? Effect.die(new Error("the reader dies")) : Effect.void
    })
  }

  private ran(isReading: boolean): void {
    this.isReading = isReading
    this.lastRan = this.stage.machine.turn
  }

  private get preemptions(): number {
    return this.stage.machine.preemptions.get(this.fiber!.id) ?? 0
  }

  private propose(moment: Moment): void {
    this.candidate = { moment, preemptions: this.preemptions }
  }

  /** When a turn of the machine is over: the run knows of the stop, unless the reader is made to wait before it tells. */
  private confirm(): void {
    const { stopping, candidate, fiber } = this
    if (stopping === undefined || stopping.heard !== undefined) return
    if (this.stage.machine.waiting.has(fiber!.id) || (candidate === undefined && !this.isReading)) return
    stopping.heard = candidate?.preemptions === this.preemptions ? candidate.moment : this.stage.journal.moment
  }
}
