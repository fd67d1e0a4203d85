/** The reader of the events of a simulated run: it is slow, it leaves, it aborts, as the world says. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { AgentEvent } from "../../AgentEvent.ts"
import type { Moment } from "../Recording.ts"
import type * as World from "../World.ts"
import { Hearing } from "./hearing.ts"
import { rest, type Stage } from "./steps.ts"

export class Reader {
  end: Moment | undefined
  /** The reader did not follow the run to its end. */
  isGone = false
  readonly hearing: Hearing
  private entry: Extract<World.When, { entry: number }> | undefined

  private readonly stage: Stage
  private readonly consumer: World.Consumer
  private readonly acts: ReadonlyArray<World.Act>

  constructor(stage: Stage, consumer: World.Consumer = {}) {
    this.stage = stage
    this.consumer = consumer
    this.acts = consumer.acts ?? []
    this.hearing = new Hearing(stage)
    stage.machine.onTurn = () => {
      if (this.acts.some((act) => "when" in act && "step" in act.when && act.when.step === stage.machine.turn))
        this.stop()
      this.hearing.confirm()
    }
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
      this.hearing.fiber = fiber
      fiber.addObserver(() => {
        this.end = this.stage.journal.write({ type: "end" })
      })
      return region
    })
  }

  /** Stops the run in the way in which this reader does it, at most once. */
  stop(isRescue = false): void {
    const { hearing } = this
    if (hearing.stopping !== undefined || this.end !== undefined || hearing.fiber === undefined) return
    // Before it has asked for anything, there is no run to stop.
    if (this.stage.journal.log.length === 0) return
    const { isBusy } = hearing
    hearing.begin(this.leaves ? "leave" : "abort", isRescue)
    // Deep in the reader's own stack, the run goes on until that has unwound; in its own code, it stops at the next pull.
    if (!isBusy && (this.leaves || hearing.isReading)) hearing.propose(hearing.stopping!.asked)
    if (this.leaves) this.isGone = true
    hearing.fiber.interruptUnsafe()
  }

  private get leaves(): boolean {
    return this.acts.some(({ type }) => type === "leave")
  }

  private pull<A, E, R>(pull: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.uninterruptibleMask((restore) =>
      Effect.suspend(() => {
        this.hearing.read(this.stage.journal.write({ type: "read" }))
        return Effect.onExit(restore(pull), () =>
          Effect.sync(() => {
            this.hearing.ran(false)
            if (this.isGone) this.hearing.propose(this.stage.journal.moment)
          })
        )
      })
    )
  }

  private handle(event: AgentEvent): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.hearing.ran(false)
      const index = this.stage.journal.receive(event)
      if (this.acts.some((act) => "when" in act && "event" in act.when && act.when.event === index)) this.stop()
      return Effect.andThen(rest(this.stage, this.consumer, index), this.finish(index))
    })
  }

  private finish(index: number): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.hearing.ran(false)
      const last = this.acts.find(
        (act) => (act.type === "die" && act.event === index) || (act.type === "take" && act.count === index + 1)
      )
      if (last?.type !== "die" && last?.type !== "take") return Effect.void
      this.isGone = true
      if (this.hearing.stopping === undefined) this.hearing.begin(last.type, false)
      this.hearing.propose(this.stage.journal.moment)
      return last.type === "die" ? Effect.die(new Error("the reader dies")) : Effect.void
    })
  }
}
