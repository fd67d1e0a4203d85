/**
 * The tool calls of one response: prepared in source order, executed one after the other or side by side, and answered by
 * exactly one result each, in source order.
 *
 * Each call keeps its outcome in a slot of its own, so that an abort loses nothing: what had finished is kept, the rest
 * gets an "aborted" result. Nothing that happens to a call ends the run.
 */
import * as Deferred from "effect/Deferred"
import * as Exit from "effect/Exit"
import type { AgentEvent } from "../AgentEvent.ts"
import type { ToolCall, ToolResultMessage } from "../Message.ts"
import { copyPlain } from "./arguments.ts"
import { cleanup, repeat, type Run, wait, wasAborted } from "./program.ts"
import { type Executing, Execution, type ExecutionOptions, type Ready, type Report } from "./execution.ts"
import { Reports } from "./reports.ts"
import { ABORTED } from "./response.ts"
import { failedOutcome, findTool, type Outcome, prepareCall, type Prepared, refusal } from "./toolCall.ts"

export interface BatchOptions<R> extends ExecutionOptions<R> {
  readonly calls: ReadonlyArray<ToolCall>
  readonly toolExecution: "parallel" | "sequential" | undefined
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
  const { beforeToolCall, afterToolCall } = options.hooks
  const isShown = beforeToolCall !== undefined || afterToolCall !== undefined
  const batch = new Batch(run, isShown ? { ...options, message: copyPlain(options.message) } : options)
  if (options.message.stopReason === "length") batch.refuseAll(CUT_OFF)
  else if (batch.isSequential) yield* batch.executeInTurn()
  else yield* batch.executeSideBySide()
  return batch.result
}

const CUT_OFF =
  "The response reached the output limit, so the arguments of this call may be cut off and it was not executed. " +
  "Call the tool again, with shorter arguments if need be."
const STILL_RUNNING = `${ABORTED}. The tool did not stop in time and may still be running.`

/** A call on its way from its start to its result. */
interface Slot extends Executing {
  isStarted: boolean
  isTold: boolean
  result: ToolResultMessage | undefined
}

class Batch<R> {
  private readonly run: Run<AgentEvent>
  private readonly options: BatchOptions<R>
  private readonly slots: ReadonlyArray<Slot>
  /** For each resource, the end of the last call that is to use it. */
  private readonly resources = new Map<string, Deferred.Deferred<void>>()
  private readonly reports = new Reports<Report<Slot>>()
  /** How many of the executing calls have not settled. */
  private open = 0
  private isAborted = false

  constructor(run: Run<AgentEvent>, options: BatchOptions<R>) {
    this.run = run
    this.options = options
    this.slots = options.calls.map((call) => ({
      call,
      isStarted: false,
      isExecuting: false,
      hasUpdates: false,
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
    const ready: Array<Ready<Slot, R>> = []
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
  private inLine(slot: Slot, prepared: Prepared<R>): Ready<Slot, R> {
    if (prepared.resource === undefined) return { ...prepared, slot, turn: undefined, settled: undefined }
    const turn = this.resources.get(prepared.resource)
    const settled = Deferred.makeUnsafe<void>()
    this.resources.set(prepared.resource, settled)
    return { ...prepared, slot, turn, settled }
  }

  private *execute(calls: ReadonlyArray<Ready<Slot, R>>) {
    this.open = calls.length
    const execution = new Execution(this.run, this.options, this.reports)
    const started = yield* wait(execution.start(calls))
    const isOpen = this.takeReports()
    const ended =
      Exit.isSuccess(started) && isOpen ? yield* repeat(this.reports.some, () => this.takeReports()) : started
    if (Exit.isSuccess(ended)) return
    this.isAborted = true
    this.takeReports()
    yield* cleanup(execution.stop)
  }

  /** Whether more is to come. */
  private takeReports(): boolean {
    for (const report of this.reports.takeAll()) this.take(report)
    return this.open > 0
  }

  private start(slot: Slot): void {
    slot.isStarted = true
    this.run.outbox.push({ type: "tool_execution_start", ...callOf(slot), args: slot.call.arguments })
  }

  private take({ slot, update }: Report<Slot>): void {
    if (update === undefined) {
      this.open--
      this.tell(slot, slot.outcome!)
    } else {
      const args = slot.call.arguments
      this.run.outbox.push({ type: "tool_execution_update", ...callOf(slot), args, partialResult: update })
    }
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
