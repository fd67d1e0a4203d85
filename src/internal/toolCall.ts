/**
 * One tool call: prepared (tool found, arguments decoded, hook asked), then executed (tool, hook). Each step is given as
 * an exit or an outcome; what they mean for the batch is decided in batch.ts.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { ToolResult } from "../AgentEvent.ts"
import type { AssistantMessage, ToolCall } from "../Message.ts"
import * as Hooks from "../services/Hooks.ts"
import * as Tool from "../Tool.ts"
import { brokenArguments, copyPlain, decodeArguments } from "./arguments.ts"
import { wait } from "./program.ts"
import { guarded, immediately } from "./guard.ts"

/** What tools and hooks see of the batch. */
export interface BatchContext<R> {
  /** The response, as all hooks of the batch are shown it: it is theirs. */
  readonly message: AssistantMessage
  /** Ends with `message`. */
  readonly context: Hooks.RunContext
  readonly hooks: Hooks.Hooks<R>
}

export interface Outcome {
  readonly result: ToolResult
  readonly isError: boolean
}

/** A call that may be executed. */
export interface Prepared<R> {
  readonly tool: Tool.Any<R>
  readonly args: unknown
  /** The resource that only one call may use at a time. */
  readonly resource: string | undefined
}

export const findTool = (context: Hooks.RunContext, call: ToolCall): Tool.Any | undefined =>
  context.tools?.find((tool) => tool.name === call.name)

/** Gives the call ready to be executed, or fails with the reason for which it is refused. */
export function* prepareCall<R>(batch: BatchContext<R>, call: ToolCall) {
  const tool: Tool.Any<R> | undefined = findTool(batch.context, call)
  if (tool === undefined) return Exit.fail(unknownTool(batch.context, call))
  if (call.rawArguments !== undefined) return Exit.fail(brokenArguments(call.name, call.rawArguments))
  let args: unknown = copyPlain(call.arguments)
  const { prepareArguments, exclusive } = tool
  if (prepareArguments !== undefined) {
    const given = args as typeof call.arguments
    const mended = yield* wait(guarded(describe(tool), () => Effect.sync(() => prepareArguments(given))))
    if (Exit.isFailure(mended)) return mended
    args = mended.value
  }
  const decoded = yield* immediately(() => decodeArguments(tool, args))
  if (Exit.isFailure(decoded)) return decoded
  const allowed = yield* askBefore(batch, call, decoded.value)
  if (Exit.isFailure(allowed)) return allowed
  if (exclusive === undefined) return ready(tool, allowed.value, undefined)
  const resource = yield* wait(guarded(describe(tool), () => exclusive(allowed.value)))
  return Exit.isFailure(resource) ? resource : ready(tool, allowed.value, resource.value)
}

const ready = <R>(tool: Tool.Any<R>, args: unknown, resource: string | undefined): Exit.Exit<Prepared<R>, string> =>
  Exit.succeed({ tool, args, resource })

/** Gives the arguments to execute with, or fails with the reason of the block. */
function* askBefore<R>(batch: BatchContext<R>, toolCall: ToolCall, args: unknown) {
  const hook = batch.hooks.beforeToolCall
  if (hook === undefined) return Exit.succeed(args)
  const decision = yield* wait(
    guarded(
      "The hook beforeToolCall",
      () => hook({ ...seenBy(batch, toolCall), args: copyPlain(args) }),
      Predicate.hasProperty("_tag")
    )
  )
  if (Exit.isFailure(decision)) return decision
  if (decision.value._tag === "Allow") return Exit.succeed("args" in decision.value ? decision.value.args : args)
  return Exit.fail(decision.value.reason || `The call of "${toolCall.name}" was blocked.`)
}

const unknownTool = ({ tools = [] }: Hooks.RunContext, call: ToolCall): string =>
  `There is no tool "${call.name}". ` +
  (tools.length === 0 ? "No tools are available." : `Available tools: ${tools.map(({ name }) => name).join(", ")}.`)

/** Runs the tool. The exit of an interrupted one is seen only in an uninterruptible region. */
export const executeTool = <R>(
  { tool, args }: Prepared<R>,
  call: Tool.Call
): Effect.Effect<string | ToolResult, Tool.ToolFailure, R> =>
  Effect.withSpan(
    guarded(describe(tool), () => tool.execute(args, call)),
    "Tool.execute",
    { attributes: { tool: tool.name, toolCallId: call.id }, captureStackTrace: false }
  )

const describe = (tool: Tool.Any): string => `The tool "${tool.name}"`

/** What the tool did, as the result that the model and the consumer get. */
export const outcomeOf = (exit: Exit.Exit<string | ToolResult, Tool.ToolFailure>): Outcome => {
  const { _tag, result } = Tool.encodeExit(exit)
  const isOwn = _tag !== "Done" || (Exit.isSuccess(exit) && typeof exit.value === "string")
  if (isOwn) return { result, isError: _tag !== "Done" }
  const usable = usableResult(result)
  return Result.isSuccess(usable) ? { result: usable.success, isError: false } : refusal(usable.failure)
}

/** A copy of what a tool gave that nobody else can change, or in words why it is no result. */
export const usableResult = (value: string | ToolResult): Result.Result<ToolResult, string> =>
  Result.match(
    Result.try(() => copyPlain(Tool.resultOf(value))),
    {
      onFailure: (defect) => Result.fail(`The tool gave a result that cannot be read: ${Tool.describeDefect(defect)}`),
      onSuccess: (result) =>
        Result.mapError(decodeResult(result), (error) => `The tool gave a result of the wrong shape: ${error.message}`)
    }
  )

const decodeResult = Schema.decodeUnknownResult(Tool.ToolResult)

/** Asks the hook after an execution for what it wants to replace. */
export const askAfter = <R>(
  batch: BatchContext<R>,
  toolCall: ToolCall,
  { args }: Prepared<R>,
  outcome: Outcome
): Effect.Effect<Outcome, unknown, R> => {
  const hook = batch.hooks.afterToolCall
  if (hook === undefined) return Effect.succeed(outcome)
  const given = { ...seenBy(batch, toolCall), args: copyPlain(args), ...copyPlain(outcome) }
  return Effect.flatMap(
    guarded("The hook afterToolCall", () => hook(given)),
    (override) => {
      if (!override) return Effect.succeed(outcome)
      const { result, isError } = Hooks.applyOverride(outcome, override)
      return Effect.map(Effect.fromResult(usableResult(result)), (usable) => ({ result: usable, isError }))
    }
  )
}

/** What a tool hook is shown: copies, so that it can change nothing in the run. */
const seenBy = <R>({ message, context }: BatchContext<R>, toolCall: ToolCall) => {
  let messages: RunMessages | undefined
  return {
    message,
    toolCall: copyPlain(toolCall),
    context: {
      systemPrompt: context.systemPrompt,
      get messages() {
        return (messages ??= [...context.messages])
      },
      tools: context.tools
    }
  }
}

type RunMessages = Hooks.RunContext["messages"]

/** The error result of a call that was refused or whose hook died. */
export const failedOutcome = (exit: Exit.Failure<unknown, unknown>): Outcome =>
  refusal(Tool.describeDefect(Cause.squash(exit.cause)))

export const refusal = (reason: string): Outcome => ({ result: Tool.errorResult(reason), isError: true })
