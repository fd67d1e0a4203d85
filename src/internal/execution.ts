/**
 * Executes calls in fibers of their own, as many at a time as may be, those that use one resource in turn. What happens is
 * reported; what came of a call is in the call, whether its report was taken in or not.
 */
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import type { AgentEvent, ToolResult } from "../AgentEvent.ts"
import type { ToolCall } from "../Message.ts"
import type * as Tool from "../Tool.ts"
import { type Run, wasAborted } from "./program.ts"
import type { Reports } from "./reports.ts"
import {
  askAfter,
  type BatchContext,
  executeTool,
  failedOutcome,
  type Outcome,
  outcomeOf,
  type Prepared,
  usableResult
} from "./toolCall.ts"

/** A call that is executed, or may be. */
export interface Executing {
  readonly call: ToolCall
  isExecuting: boolean
  hasUpdates: boolean
  /** What came of it so far. After an abort it stays as it was then. */
  outcome: Outcome | undefined
}

/** A call that may be executed once `turn` has come; `settled` gives the turn on its resource to the next. */
export interface Ready<S extends Executing, R> extends Prepared<R> {
  readonly slot: S
  readonly turn: Deferred.Deferred<void> | undefined
  readonly settled: Deferred.Deferred<void> | undefined
}

/** What an executing call tells the batch: an update, or that it has settled. */
export interface Report<S extends Executing> {
  readonly slot: S
  readonly update: ToolResult | undefined
}

export interface ExecutionOptions<R> extends BatchContext<R> {
  readonly concurrency: number | undefined
}

/** How many reports may wait for the consumer before the tools that send updates have to. */
const UPDATES_AHEAD = 16

export class Execution<S extends Executing, R> {
  private readonly run: Run<AgentEvent>
  private readonly options: ExecutionOptions<R>
  private readonly reports: Reports<Report<S>>
  private readonly fibers: Array<Fiber.Fiber<unknown, unknown>> = []

  constructor(run: Run<AgentEvent>, options: ExecutionOptions<R>, reports: Reports<Report<S>>) {
    this.run = run
    this.options = options
    this.reports = reports
  }

  /** Starts the calls, in their order. One whose fiber others interrupt takes no other call with it. */
  start(calls: ReadonlyArray<Ready<S, R>>) {
    const { concurrency = calls.length } = this.options
    if (concurrency >= calls.length) return Effect.forEach(calls, (call) => this.forkCall(call), { discard: true })
    const all = Effect.forEach(calls, (call) => Effect.flatMap(this.forkCall(call), Fiber.await), {
      concurrency: Math.max(1, concurrency),
      discard: true
    })
    return this.fork(all)
  }

  /** Interrupts what has been started and waits for its end. */
  get stop(): Effect.Effect<void> {
    return Fiber.interruptAll(this.fibers)
  }

  private forkCall(call: Ready<S, R>) {
    return this.fork(this.execute(call))
  }

  /** Known before its first step, which may abort the run. The run's end is that of a fiber that does not stop in time. */
  private fork<A, E, R2>(effect: Effect.Effect<A, E, R2>) {
    const registered = Effect.withFiber((fiber) => {
      this.fibers.push(Fiber.runIn(fiber, this.run.scope))
      return effect
    })
    return Effect.forkDetach(registered, { startImmediately: true })
  }

  /** Executes a call and reports it. An interrupt ends the step that it meets; what is there by then stays. */
  private execute(ready: Ready<S, R>) {
    const { slot, turn, settled } = ready
    const handle = { id: slot.call.id, update: this.updateOf(slot) }
    const whole = Effect.uninterruptibleMask((restore) =>
      Effect.gen({ self: this }, function* () {
        if (turn !== undefined) yield* Effect.exit(restore(Deferred.await(turn)))
        if (this.run.isAborted) return
        slot.isExecuting = true
        const executed = yield* Effect.exit(restore(executeTool(ready, handle)))
        slot.isExecuting = false
        if (this.run.isAborted) return
        const outcome = outcomeOf(executed)
        slot.outcome = outcome
        if (this.options.hooks.afterToolCall !== undefined) {
          const asked = this.askAfter(ready, outcome)
          // A fiber that others interrupted, or that interrupted itself, asks nobody any more.
          const isInterrupted = Exit.isFailure(executed) && Cause.hasInterrupts(executed.cause)
          const after = yield* isInterrupted
            ? Effect.flatMap(this.fork(asked), Fiber.await)
            : Effect.exit(restore(asked))
          if (Exit.isSuccess(after)) slot.outcome = after.value
          else if (!wasAborted(this.run, after)) slot.outcome = failedOutcome(after)
        }
        this.reports.add({ slot, update: undefined })
      })
    )
    return settled === undefined ? whole : Effect.ensuring(whole, Deferred.succeed(settled, undefined))
  }

  /** What a tool reports is told if it can be: anything else would be no event. */
  private updateOf(slot: S): Tool.Call["update"] {
    return (value) =>
      Effect.suspend(() => {
        const update = usableResult(value)
        if (!slot.isExecuting || this.run.isAborted || Result.isFailure(update)) return Effect.void
        slot.hasUpdates = true
        this.reports.add({ slot, update: update.success })
        return this.reports.size < UPDATES_AHEAD ? Effect.void : this.reports.delivered
      })
  }

  /** The hook of a call is asked after its updates have been delivered. */
  private askAfter(ready: Ready<S, R>, outcome: Outcome) {
    const asked = askAfter(this.options, ready.slot.call, ready, outcome)
    return ready.slot.hasUpdates ? Effect.andThen(this.reports.delivered, asked) : asked
  }
}
