/**
 * The tool calls of one response as the trace checker sees them: how far each has come, and whether the batch is
 * sequential or parallel, which shows only when its second call starts.
 */
import * as Result from "effect/Result"
import type { AgentEvent } from "../../AgentEvent.ts"
import type { AssistantMessage, ToolCall, ToolResultMessage } from "../../Message.ts"
import { broken, type Checked, demand, demandEqual } from "./rules.ts"

type Of<Type extends AgentEvent["type"]> = Extract<AgentEvent, { type: Type }>
type End = Of<"tool_execution_end">

type Progress =
  | { readonly _tag: "Waiting" }
  | { readonly _tag: "Running"; readonly hasUpdates: boolean }
  | { readonly _tag: "Ended"; readonly hasUpdates: boolean; readonly end: End }
  | { readonly _tag: "Told"; readonly end: End; readonly message: ToolResultMessage }

export interface Batch {
  readonly calls: ReadonlyArray<ToolCall>
  /** The response was cut off at the output limit: no call runs. */
  readonly isCutOff: boolean
  readonly mode: "unknown" | "sequential" | "parallel"
  readonly progress: ReadonlyArray<Progress>
  /** The result message that has started and not ended. */
  readonly open: ToolResultMessage | undefined
}

const waiting: Progress = { _tag: "Waiting" }

export const make = (response: AssistantMessage): Batch => {
  const isFailure = response.stopReason === "error" || response.stopReason === "aborted"
  const calls = isFailure ? [] : response.content.filter((block) => block.type === "toolCall")
  return {
    calls,
    isCutOff: response.stopReason === "length",
    mode: "unknown",
    progress: calls.map(() => waiting),
    open: undefined
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// What a batch came to
// ---------------------------------------------------------------------------------------------------------------------

/** The results so far, in order. */
export const results = (batch: Batch): ReadonlyArray<ToolResultMessage> =>
  batch.progress.flatMap((progress) => (progress._tag === "Told" ? [progress.message] : []))

/** Whether every result of a finished batch asks for the end of the run. */
export const isTerminated = (batch: Batch): boolean =>
  batch.calls.length > 0 &&
  !batch.isCutOff &&
  batch.progress.every((progress) => progress._tag === "Told" && progress.end.result.terminate === true)

export const demandFinished = (batch: Batch, next: string): Checked<void> => {
  const missing = batch.progress.findIndex((progress) => progress._tag !== "Told")
  return demand(missing === -1, "result-missing", `${next} comes, and ${name(batch, missing)} has no result yet`)
}

const name = (batch: Batch, index: number): string => `call "${batch.calls[index]?.id}"`

const positionOf = (batch: Batch, id: string): number => batch.calls.findIndex((call) => call.id === id)

const advance = (batch: Batch, index: number, progress: Progress): Batch => ({
  ...batch,
  progress: batch.progress.with(index, progress)
})

// ---------------------------------------------------------------------------------------------------------------------
// Executions
// ---------------------------------------------------------------------------------------------------------------------

export const start = (batch: Batch, event: Of<"tool_execution_start">): Checked<Batch> =>
  Result.gen(function* () {
    const index = yield* position(batch, event)
    const due = batch.progress.findIndex((progress) => progress._tag === "Waiting")
    yield* demand(index >= due && due !== -1, "call-pair", `${name(batch, index)} starts again`)
    yield* demand(index === due, "call-order", `${name(batch, index)} starts where ${name(batch, due)} is due`)
    yield* demandArguments(batch, index, event.args)
    const mode = index === 0 ? batch.mode : yield* modeAt(batch, index)
    return { ...advance(batch, index, { _tag: "Running", hasUpdates: false }), mode }
  })

export const update = (batch: Batch, event: Of<"tool_execution_update">): Checked<Batch> =>
  Result.gen(function* () {
    const index = yield* position(batch, event)
    const isRunning = batch.progress[index]!._tag === "Running"
    yield* demand(isRunning, "call-update", `${name(batch, index)} has an update while it does not run`)
    yield* demandArguments(batch, index, event.args)
    yield* demand(mayRun(batch, index), "call-refused", `${name(batch, index)} has an update, and must not run`)
    return advance(batch, index, { _tag: "Running", hasUpdates: true })
  })

export const end = (batch: Batch, event: End): Checked<Batch> =>
  Result.gen(function* () {
    const index = yield* position(batch, event)
    const progress = batch.progress[index]!
    if (progress._tag !== "Running") {
      return yield* broken("call-pair", `${name(batch, index)} ends while it does not run`)
    }
    const isRight = event.isError || mayRun(batch, index)
    yield* demand(isRight, "call-refused", `${name(batch, index)} succeeds, and must not run`)
    return advance(batch, index, { _tag: "Ended", hasUpdates: progress.hasUpdates, end: event })
  })

const position = (batch: Batch, event: { readonly toolCallId: string; readonly toolName: string }): Checked<number> => {
  const index = positionOf(batch, event.toolCallId)
  const call = batch.calls[index]
  if (call === undefined) return broken("batch-place", `the response has no call "${event.toolCallId}"`)
  return call.name === event.toolName
    ? Result.succeed(index)
    : broken("call-data", `${name(batch, index)} is for ${call.name}, not for ${event.toolName}`)
}

const demandArguments = (batch: Batch, index: number, args: unknown): Checked<void> =>
  demandEqual(batch.calls[index]?.arguments, args, "call-data", `args of ${name(batch, index)}`)

const mayRun = (batch: Batch, index: number): boolean =>
  !batch.isCutOff && batch.calls[index]?.rawArguments === undefined

/** The mode that shows when a call after the first starts. */
const modeAt = (batch: Batch, index: number): Checked<Batch["mode"]> => {
  const mode = batch.progress[index - 1]?._tag === "Told" ? "sequential" : "parallel"
  if (batch.mode !== "unknown" && batch.mode !== mode) {
    return broken("batch-mode", `${name(batch, index)} starts as in a ${mode} batch, but the batch was ${batch.mode}`)
  }
  if (mode === "sequential") return Result.succeed(mode)
  if (batch.isCutOff) return broken("batch-mode", "a batch that was cut off is sequential")
  const early = batch.progress.findIndex(hasRun)
  return early === -1
    ? Result.succeed(mode)
    : broken("batch-preparation", `${name(batch, early)} ran before ${name(batch, index)} had started`)
}

const hasRun = (progress: Progress): boolean =>
  (progress._tag === "Running" && progress.hasUpdates) ||
  (progress._tag === "Ended" && (progress.hasUpdates || !progress.end.isError))

// ---------------------------------------------------------------------------------------------------------------------
// Results
// ---------------------------------------------------------------------------------------------------------------------

export const startResult = (batch: Batch, message: ToolResultMessage): Checked<Batch> =>
  Result.gen(function* () {
    const due = batch.progress.findIndex((progress) => progress._tag !== "Told")
    const progress = batch.progress[due]
    const isDue = batch.calls[due]?.id === message.toolCallId
    yield* demand(isDue, "result-order", `the result of call "${message.toolCallId}" is not due`)
    if (progress?._tag !== "Ended") {
      return yield* broken("result-order", `the result of ${name(batch, due)} comes before its end`)
    }
    const running = batch.progress.findIndex(({ _tag }) => _tag === "Running")
    yield* demand(running === -1, "batch-mode", `a result comes while ${name(batch, running)} still runs`)
    yield* demandEqual(resultOf(progress.end, message), message, "result-data", `the result of ${name(batch, due)}`)
    return { ...batch, open: message }
  })

/** The message that a result makes. */
const resultOf = (event: End, { timestamp }: ToolResultMessage): ToolResultMessage => {
  const { content, details, addedToolNames } = event.result
  return {
    role: "toolResult",
    toolCallId: event.toolCallId,
    toolName: event.toolName,
    content: content ?? [],
    ...(details !== undefined && { details }),
    ...(addedToolNames !== undefined && addedToolNames.length > 0 && { addedToolNames }),
    isError: event.isError,
    timestamp
  }
}

export const endResult = (batch: Batch, open: ToolResultMessage): Batch => {
  const index = positionOf(batch, open.toolCallId)
  const progress = batch.progress[index]
  if (progress?._tag !== "Ended") return batch
  return { ...advance(batch, index, { _tag: "Told", end: progress.end, message: open }), open: undefined }
}
