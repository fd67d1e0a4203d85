/**
 * Executes calls in fibers of their own, as many at a time as may be, those that use one resource in turn. What happens is
 * reported through a bounded queue; what came of a call is in the call, whether it could be reported or not.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Queue from "effect/Queue"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import type { AgentEvent, ToolResult } from "../AgentEvent.ts"
import type { ToolCall } from "../Message.ts"
import type * as Tool from "../Tool.ts"
import { type Run, wasAborted } from "./driver.ts"
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

/** What an executing call tells the batch. */
export type Report<S extends Executing> = { readonly slot: S } & (
  | { readonly _tag: "Update"; readonly partial: ToolResult }
  /** The hook is to be asked: `told` is to be done when all updates before have been delivered. */
  | { readonly _tag: "Executed"; readonly told: Deferred.Deferred<void> }
  | { readonly _tag: "Settled" }
)

export interface ExecutionOptions<R> extends BatchContext<R> {
  readonly concurrency: number | undefined
}

/** How many updates may wait for the consumer before the tools that send them have to. */
const UPDATES_AHEAD = 16

/** Where executing calls report; with the scope it ends for those that still wait to. */
export const reportQueue = <S extends Executing>(scope: Scope.Scope): Effect.Effect<Queue.Queue<Report<S>>> =>
  Effect.tap(Queue.bounded<Report<S>>(UPDATES_AHEAD), (queue) => Scope.addFinalizer(scope, Queue.shutdown(queue)))

export class Execution<S extends Executing, R> {
  private readonly run: Run<AgentEvent>
  private readonly options: ExecutionOptions<R>
  private readonly scope: Scope.Scope
  private readonly reports: Queue.Queue<Report<S>>

  constructor(run: Run<AgentEvent>, options: ExecutionOptions<R>, scope: Scope.Scope, reports: Queue.Queue<Report<S>>) {
    this.run = run
    this.options = options
    this.scope = scope
    this.reports = reports
  }

  /** Starts the calls, in their order. One whose fiber others interrupt takes no other call with it. */
  start(calls: ReadonlyArray<Ready<S, R>>) {
    const all = Effect.forEach(calls, (call) => Effect.flatMap(this.fork(this.execute(call)), Fiber.await), {
      concurrency: this.concurrency,
      discard: true
    })
    return this.fork(all)
  }

  private get concurrency(): number | "unbounded" {
    const { concurrency } = this.options
    return concurrency === undefined ? "unbounded" : Math.max(1, concurrency)
  }

  /** Belongs to the scope before its first step, in which it may close the scope itself. */
  private fork<E, R2>(effect: Effect.Effect<void, E, R2>) {
    const registered = Effect.withFiber((fiber) =>
      Effect.andThen(Scope.addFinalizer(this.scope, interruptFromOutside(fiber)), effect)
    )
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
          const asked = Effect.andThen(this.updatesTold(slot), askAfter(this.options, slot.call, ready, outcome))
          const after = yield* Effect.exit(restore(asked))
          if (Exit.isSuccess(after)) slot.outcome = after.value
          else if (!wasAborted(this.run, after)) slot.outcome = failedOutcome(after)
        }
        yield* Queue.offer(this.reports, { _tag: "Settled", slot })
      })
    )
    return settled === undefined ? whole : Effect.ensuring(whole, Deferred.succeed(settled, undefined))
  }

  /** What a tool reports is told if it can be: anything else would be no event. */
  private updateOf(slot: S): Tool.Call["update"] {
    return (value) =>
      Effect.suspend(() => {
        const partial = usableResult(value)
        if (!slot.isExecuting || this.run.isAborted || Result.isFailure(partial)) return Effect.void
        slot.hasUpdates = true
        return Effect.asVoid(Queue.offer(this.reports, { _tag: "Update", slot, partial: partial.success }))
      })
  }

  /** Waits until the updates of a call have been delivered: its hook is called after them. */
  private updatesTold(slot: S): Effect.Effect<void> {
    if (!slot.hasUpdates) return Effect.void
    const told = Deferred.makeUnsafe<void>()
    return Effect.andThen(Queue.offer(this.reports, { _tag: "Executed", slot, told }), Deferred.await(told))
  }
}

const interruptFromOutside = (fiber: Fiber.Fiber<unknown, unknown>): Effect.Effect<void> =>
  Effect.withFiber((current) => (current === fiber ? Effect.void : Fiber.interrupt(fiber)))
