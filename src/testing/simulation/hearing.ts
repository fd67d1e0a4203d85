/**
 * Knows from which moment on a run must have known that it was stopped. That may be later than it was asked for: deep in a
 * stack, the run goes on until that has unwound; with a seed, a fiber may be made to wait before it tells.
 */
import type * as Fiber from "effect/Fiber"
import type { Moment, Stop } from "../Recording.ts"
import type { Stage } from "./steps.ts"

interface Stopping extends Stop {
  heard?: Moment | undefined
}

export class Hearing {
  stopping: Stopping | undefined
  /** The fiber that reads, or that the listener is called in. */
  fiber: Fiber.Fiber<unknown, unknown> | undefined
  /** The run goes on, or waits: nobody holds it. */
  isReading = false
  /** The machine's turn in which the reader last ran: in the same one it may still be on the stack. */
  private lastRan = -1
  /** From where the run knows of the stop, if the reader is not made to wait before it tells. */
  private candidate: { readonly moment: Moment; readonly preemptions: number } | undefined
  /** Another fiber than the run's, that is to tell it, and whether it has. */
  private messenger: { readonly fiber: Fiber.Fiber<unknown, unknown>; hasTold: boolean } | undefined

  private readonly stage: Stage

  constructor(stage: Stage) {
    this.stage = stage
  }

  /** Whether the fiber may be on the stack, or waits for its turn. */
  get isBusy(): boolean {
    const { turn, waiting, resumed } = this.stage.machine
    const id = this.fiber?.id ?? -1
    return waiting.has(id) || (this.isReading && (this.lastRan === turn || resumed.get(id) === turn))
  }

  begin(how: Stop["how"], isRescue: boolean, asked: Moment = this.stage.journal.moment): void {
    this.stopping = { how, isRescue, asked }
    this.stage.journal.write({ type: "stop", how })
  }

  /** The run is told by a fiber of its own, when that comes to it. */
  tellThrough(fiber: Fiber.Fiber<unknown, unknown>): void {
    this.messenger = { fiber, hasTold: false }
  }

  /** The run goes on, at a moment. */
  read(moment: Moment): void {
    this.ran(true)
    if (this.stopping !== undefined) this.propose(moment)
  }

  /** It was not the run that went on, but a delivery of several events: it hears nothing before the last of them. */
  deliver(): void {
    this.ran(false)
    if (this.stopping?.heard !== undefined || this.candidate === undefined) return
    const since = this.stage.journal.log.slice(this.candidate.moment.position + 1)
    if (since.every(({ type }) => type === "receipt")) this.candidate = undefined
  }

  ran(isReading: boolean): void {
    this.isReading = isReading
    this.lastRan = this.stage.machine.turn
  }

  /** The run knows of the stop from there on, unless it did before. */
  propose(moment: Moment): void {
    if (this.candidate !== undefined || this.messenger?.hasTold === false) return
    this.candidate = { moment, preemptions: this.preemptions }
  }

  /** When a turn of the machine is over: the run knows of the stop, unless somebody is made to wait before that. */
  confirm(): void {
    const { stopping, candidate, fiber, messenger } = this
    const { waiting } = this.stage.machine
    if (stopping === undefined || stopping.heard !== undefined || fiber === undefined) return
    if (waiting.has(fiber.id) || (messenger !== undefined && waiting.has(messenger.fiber.id))) return
    if (messenger !== undefined) messenger.hasTold = true
    if (candidate === undefined && !this.isReading) return
    stopping.heard = candidate?.preemptions === this.preemptions ? candidate.moment : this.stage.journal.moment
  }

  private get preemptions(): number {
    return this.fiber === undefined ? 0 : (this.stage.machine.preemptions.get(this.fiber.id) ?? 0)
  }
}
