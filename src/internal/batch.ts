/**
 * The tool calls of one response: prepared in source order, executed one after the other or side by side, and answered by
 * exactly one result each, in source order.
 *
 * Each call keeps its outcome in a slot of its own, so that an abort loses nothing: what had finished is kept, the rest
 * gets an "aborted" result. Nothing that happens to a call ends the run.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Queue from "effect/Queue"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import type { AgentEvent, ToolResult } from "../AgentEvent.ts"
import type { ToolCall, ToolResultMessage } from "../Message.ts"
import type * as Tool from "../Tool.ts"
import { cleanup, type Run, wait, wasAborted } from "./driver.ts"
import { ABORTED } from "./response.ts"
import {
  askAfter,
  type BatchContext,
  executeTool,
  failedOutcome,
  findTool,
  type Outcome,
  outcomeOf,
  prepareCall,
  type Prepared,
  refusal,
  usableResult
} from "./toolCall.ts"

export interface BatchOptions<R> extends BatchContext<R> {
  readonly calls: ReadonlyArray<ToolCall>
  readonly toolExecution: "parallel" | "sequential" | undefined
  readonly concurrency: number | undefined
  readonly now: () => number
}

export interface BatchResult {
  readonly results: ReadonlyArray<ToolResultMessage>
  /** Every result asks for the end of the run. */
  readonly isTerminating: boolean
  readonly isAborted: boolean
}

/** Executes the calls and tells everything from the first `tool_execution_start` to the last result message. */
export function* executeBatch<R>(run: Run<AgentEvent>, options: BatchOptions<R>) {
  const batch = new Batch(run, options)
  if (options.message.stopReason === "length") batch.refuseAll(CUT_OFF)
  else if (batch.isSequential) yield* batch.executeInTurn()
  else yield* batch.executeSideBySide()
  return batch.result
}

/** How many updates may wait for the consumer before the tools that send them have to. */
const UPDATES_AHEAD = 16

const CUT_OFF =
  "The response reached the output limit, so the arguments of this call may be cut off and it was not executed. " +
  "Call the tool again, with shorter arguments if need be."
const STILL_RUNNING = `${ABORTED}. The tool did not stop in time and may still be running.`

/** A call on its way from its start to its result. */
interface Slot {
  readonly call: ToolCall
  isStarted: boolean
  isExecuting: boolean
  /** What came of the call; it may still change until it is told. */
  outcome: Outcome | undefined
  isTold: boolean
  result: ToolResultMessage | undefined
}

/** A call that may be executed once `turn` has come; `settled` gives the turn on its resource to the next. */
interface Ready<R> extends Prepared<R> {
  readonly slot: Slot
  readonly turn: Deferred.Deferred<void> | undefined
  readonly settled: Deferred.Deferred<void> | undefined
}

/** What an executing call tells the batch: an update, or (without one) that its outcome is there. */
interface Report {
  readonly slot: Slot
  readonly partial: ToolResult | undefined
}

class Batch<R> {
  private readonly run: Run<AgentEvent>
  private readonly options: BatchOptions<R>
  private readonly slots: ReadonlyArray<Slot>
  /** For each resource, the end of the last call that is to use it. */
  private readonly resources = new Map<string, Deferred.Deferred<void>>()
  private isAborted = false

  constructor(run: Run<AgentEvent>, options: BatchOptions<R>) {
    this.run = run
    this.options = options
    this.slots = options.calls.map((call) => ({
      call,
      isStarted: false,
      isExecuting: false,
      outcome: undefined,
      isTold: false,
      result: undefined
    }))
  }

  /** One sequential tool makes the whole batch sequential, even if its call is refused. */
  get isSequential(): boolean {
    const { calls, context, toolExecution } = this.options
    return toolExecution === "sequential" || calls.some((call) => findTool(context, call)?.sequential === true)
  }

  get result(): BatchResult {
    return {
      results: this.slots.map((slot) => slot.result!),
      isTerminating: this.slots.every((slot) => slot.outcome?.result.terminate === true),
      isAborted: this.isAborted
    }
  }

  refuseAll(reason: string): void {
    for (const slot of this.slots) {
      this.start(slot)
      this.tell(slot, refusal(reason))
      this.answer(slot)
    }
  }

  *executeInTurn() {
    for (const slot of this.slots) {
      if (!this.isAborted) {
        const ready = yield* this.prepare(slot)
        if (ready !== undefined) yield* this.execute([ready])
      }
      this.tellAborted(slot)
      this.answer(slot)
    }
  }

  *executeSideBySide() {
    const ready: Array<Ready<R>> = []
    for (const slot of this.slots) {
      const prepared = yield* this.prepare(slot)
      if (this.isAborted) break
      if (prepared !== undefined) ready.push(prepared)
    }
    if (!this.isAborted && ready.length > 0) yield* this.execute(ready)
    for (const slot of this.slots) this.tellAborted(slot)
    for (const slot of this.slots) this.answer(slot)
  }

  private *prepare(slot: Slot) {
    this.start(slot)
    const prepared = yield* prepareCall(this.options, slot.call)
    if (Exit.isSuccess(prepared)) return this.inLine(slot, prepared.value)
    if (wasAborted(this.run, prepared)) this.isAborted = true
    else this.tell(slot, failedOutcome(prepared))
    return undefined
  }

  /** Puts the call in the line for its resource. */
  private inLine(slot: Slot, prepared: Prepared<R>): Ready<R> {
    if (prepared.resource === undefined) return { ...prepared, slot, turn: undefined, settled: undefined }
    const turn = this.resources.get(prepared.resource)
    const settled = Deferred.makeUnsafe<void>()
    this.resources.set(prepared.resource, settled)
    return { ...prepared, slot, turn, settled }
  }

  private *execute(calls: ReadonlyArray<Ready<R>>) {
    const scope = Scope.forkUnsafe(this.run.scope, "parallel")
    const made = yield* cleanup(reportQueue(scope))
    if (Exit.isFailure(made)) {
      this.isAborted = true
      return
    }
    const reports = made.value
    const all = this.executeAll(calls, scope, reports)
    const started = yield* wait(Effect.forkIn(all, scope, { startImmediately: true }))
    this.isAborted = Exit.isFailure(started)
    let open = calls.length
    while (!this.isAborted && open > 0) {
      const reported = yield* wait(Queue.takeAll(reports))
      if (Exit.isFailure(reported)) this.isAborted = true
      else for (const report of reported.value) if (this.take(report)) open--
    }
    drain(reports, (report) => this.take(report))
    yield* cleanup(Scope.close(scope, Exit.void))
  }

  /** Each call has a fiber of its own, so that one which others interrupt takes no other call with it. */
  private executeAll(calls: ReadonlyArray<Ready<R>>, scope: Scope.Scope, reports: Queue.Queue<Report>) {
    return Effect.forEach(
      calls,
      (call) =>
        Effect.flatMap(Effect.forkIn(this.executeOne(call, reports), scope, { startImmediately: true }), Fiber.await),
      { concurrency: this.options.concurrency ?? "unbounded", discard: true }
    )
  }

  /** Executes a call and reports it. An interrupt ends the step that it meets; what is there by then stays. */
  private executeOne(call: Ready<R>, reports: Queue.Queue<Report>) {
    const { slot, turn, settled } = call
    const handle = { id: slot.call.id, update: this.updateOf(slot, reports) }
    const whole = Effect.uninterruptibleMask((restore) =>
      Effect.gen({ self: this }, function* () {
        if (turn !== undefined) yield* Effect.exit(restore(Deferred.await(turn)))
        if (this.run.isAborted) return
        slot.isExecuting = true
        const executed = yield* Effect.exit(restore(executeTool(call, handle)))
        slot.isExecuting = false
        if (this.run.isAborted) return
        const outcome = outcomeOf(executed)
        slot.outcome = outcome
        if (this.options.hooks.afterToolCall !== undefined) {
          const after = yield* Effect.exit(restore(askAfter(this.options, slot.call, call, outcome)))
          if (Exit.isSuccess(after)) slot.outcome = after.value
          else if (!wasAborted(this.run, after)) slot.outcome = failedOutcome(after)
        }
        yield* Queue.offer(reports, { slot, partial: undefined })
      })
    )
    return settled === undefined ? whole : Effect.ensuring(whole, Deferred.succeed(settled, undefined))
  }

  /** What a tool reports is told if it can be: anything else would be no event. */
  private updateOf(slot: Slot, reports: Queue.Queue<Report>): Tool.Call["update"] {
    return (value) =>
      Effect.suspend(() => {
        const partial = usableResult(value)
        return slot.isExecuting && !this.run.isAborted && Result.isSuccess(partial)
          ? Effect.asVoid(Queue.offer(reports, { slot, partial: partial.success }))
          : Effect.void
      })
  }

  private start(slot: Slot): void {
    slot.isStarted = true
    this.run.outbox.push({ type: "tool_execution_start", ...callOf(slot), args: slot.call.arguments })
  }

  /** Tells a report; true for the last one of a call. */
  private take({ slot, partial }: Report): boolean {
    if (partial === undefined) {
      this.tell(slot, slot.outcome!)
      return true
    }
    this.run.outbox.push({
      type: "tool_execution_update",
      ...callOf(slot),
      args: slot.call.arguments,
      partialResult: partial
    })
    return false
  }

  private tell(slot: Slot, outcome: Outcome): void {
    slot.isTold = true
    slot.outcome = outcome
    this.run.outbox.push({ type: "tool_execution_end", ...callOf(slot), ...outcome })
  }

  /** After an abort: what a call had come to, or that it was aborted. */
  private tellAborted(slot: Slot): void {
    if (slot.isTold) return
    if (!slot.isStarted) this.start(slot)
    this.tell(slot, slot.outcome ?? refusal(slot.isExecuting ? STILL_RUNNING : ABORTED))
  }

  private answer(slot: Slot): void {
    const { result, isError } = slot.outcome!
    const message: ToolResultMessage = {
      role: "toolResult",
      ...callOf(slot),
      content: result.content ?? [],
      ...(result.details !== undefined && { details: result.details }),
      ...(result.addedToolNames && result.addedToolNames.length > 0 && { addedToolNames: result.addedToolNames }),
      isError,
      timestamp: this.options.now()
    }
    slot.result = message
    this.run.outbox.push({ type: "message_start", message }, { type: "message_end", message })
  }
}

const callOf = ({ call }: Slot) => ({ toolCallId: call.id, toolName: call.name })

/** Where executing calls report; with the scope it ends for those that still wait to. */
const reportQueue = (scope: Scope.Scope): Effect.Effect<Queue.Queue<Report>> =>
  Effect.tap(Queue.bounded<Report>(UPDATES_AHEAD), (queue) => Scope.addFinalizer(scope, Queue.shutdown(queue)))

const drain = <A>(queue: Queue.Queue<A>, f: (value: A) => void): void => {
  for (let exit = Queue.takeUnsafe(queue); exit !== undefined && Exit.isSuccess(exit); exit = Queue.takeUnsafe(queue)) {
    f(exit.value)
  }
}
