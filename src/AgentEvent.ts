/**
 * What a run tells, event by event.
 *
 * ```
 * run        = agent_start turn+ agent_end
 * turn       = turn_start message* response batch? turn_end
 * message    = message_start message_end                                      prompts, steering, follow-ups
 * response   = ([message_start message_update*] retry)* message_start message_update* message_end
 * batch      = sequential | parallel
 * sequential = (start update* end result)*                                    call by call
 * parallel   = (start | update | end)* result*                                results in source order
 * result     = message_start message_end                                      role toolResult
 * ```
 *
 * This holds for every run, whatever fails and whenever it is aborted. A snapshot in an event never changes afterwards.
 */
import * as Schema from "effect/Schema"
import * as Message from "./Message.ts"

// ---------------------------------------------------------------------------------------------------------------------
// The events of a response
// ---------------------------------------------------------------------------------------------------------------------

const contentIndex = Schema.Int

export const TextStart = Schema.Struct({ type: Schema.tag("text_start"), contentIndex })
export const TextDelta = Schema.Struct({ type: Schema.tag("text_delta"), contentIndex, delta: Schema.String })
/** With `redacted`, `signature` is the opaque data of a thinking block whose text the provider keeps to itself. */
export const ThinkingStart = Schema.Struct({
  type: Schema.tag("thinking_start"),
  contentIndex,
  redacted: Schema.optionalKey(Schema.Boolean),
  signature: Schema.optionalKey(Schema.String)
})
export const ThinkingDelta = Schema.Struct({ type: Schema.tag("thinking_delta"), contentIndex, delta: Schema.String })
export const ToolCallStart = Schema.Struct({
  type: Schema.tag("toolcall_start"),
  contentIndex,
  id: Schema.String,
  name: Schema.String
})
export const ToolCallDelta = Schema.Struct({ type: Schema.tag("toolcall_delta"), contentIndex, delta: Schema.String })
/** A whole block of a kind that we do not know; `data` goes back to its provider unchanged. */
export const OtherBlock = Schema.Struct({ type: Schema.tag("other"), contentIndex, data: Schema.Json })

/** What a response did to the message in progress. The ends of blocks carry the finished block's content. */
export const AssistantMessageEvent = Schema.Union([
  TextStart,
  TextDelta,
  Schema.Struct({ type: Schema.tag("text_end"), contentIndex, content: Schema.String }),
  ThinkingStart,
  ThinkingDelta,
  Schema.Struct({
    type: Schema.tag("thinking_end"),
    contentIndex,
    content: Schema.String,
    signature: Schema.optionalKey(Schema.String)
  }),
  ToolCallStart,
  ToolCallDelta,
  Schema.Struct({ type: Schema.tag("toolcall_end"), contentIndex, toolCall: Message.ToolCall }),
  OtherBlock
])
export type AssistantMessageEvent = typeof AssistantMessageEvent.Type

// ---------------------------------------------------------------------------------------------------------------------
// Tool results
// ---------------------------------------------------------------------------------------------------------------------

/**
 * What a tool gives, whole or so far. `content` is for the model (missing or null: nothing), `details` for people and
 * programs. A batch of calls ends the run if every result of it says `terminate: true`. `addedToolNames` names tools that
 * the model may use from now on; the loop carries it to the result message and does nothing else with it.
 */
export const ToolResult = Schema.Struct({
  content: Schema.optionalKey(Schema.NullOr(Schema.Array(Message.Content))),
  details: Schema.optionalKey(Schema.Json),
  terminate: Schema.optionalKey(Schema.NullOr(Schema.Boolean)),
  addedToolNames: Schema.optionalKey(Schema.Array(Schema.String))
})
export interface ToolResult extends Schema.Schema.Type<typeof ToolResult> {}

// ---------------------------------------------------------------------------------------------------------------------
// The events of a run
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Why a run ended: nothing was left to do (`completed`), a batch asked for it (`terminated`), the hook
 * `shouldStopAfterTurn` did (`stopped`), a limit was reached, a response failed, or the run was aborted.
 */
export const EndReason = Schema.Literals(["completed", "terminated", "stopped", "limit", "error", "aborted"])
export type EndReason = typeof EndReason.Type

const call = { toolCallId: Schema.String, toolName: Schema.String }

const eventsWith = (message: Schema.Codec<Message.Message>) =>
  Schema.Union([
    Schema.Struct({ type: Schema.tag("agent_start") }),
    Schema.Struct({ type: Schema.tag("turn_start") }),
    Schema.Struct({ type: Schema.tag("message_start"), message }),
    Schema.Struct({
      type: Schema.tag("message_update"),
      message: Message.AssistantMessage,
      assistantMessageEvent: AssistantMessageEvent
    }),
    Schema.Struct({ type: Schema.tag("message_end"), message }),
    Schema.Struct({ type: Schema.tag("tool_execution_start"), ...call, args: Schema.Json }),
    Schema.Struct({
      type: Schema.tag("tool_execution_update"),
      ...call,
      args: Schema.Json,
      partialResult: ToolResult
    }),
    Schema.Struct({ type: Schema.tag("tool_execution_end"), ...call, result: ToolResult, isError: Schema.Boolean }),
    Schema.Struct({
      type: Schema.tag("retry"),
      attempt: Schema.Int,
      delayMs: Schema.Finite,
      error: Message.ResponseError,
      errorMessage: Schema.String,
      usage: Schema.optionalKey(Message.Usage)
    }),
    Schema.Struct({
      type: Schema.tag("turn_end"),
      message: Message.AssistantMessage,
      toolResults: Schema.Array(Message.ToolResultMessage)
    }),
    Schema.Struct({
      type: Schema.tag("agent_end"),
      messages: Schema.Array(message),
      reason: EndReason,
      usage: Message.Usage
    })
  ])

/**
 * An event of a run.
 *
 * - `message_update` comes only between the `message_start` and `message_end` of a response. Its `message` is the response
 *   so far, with stop reason `stop` and zero usage.
 * - `retry` says that the response begins anew after `delayMs` milliseconds, that what was streamed of it is discarded,
 *   and what that had cost; `attempt` counts from 1.
 * - `agent_end` has the messages of all `message_end` of the run, in order, and the sum of what its responses cost,
 *   discarded ones included.
 */
export const AgentEvent = eventsWith(Message.Message)
export type AgentEvent = typeof AgentEvent.Type

/** Events whose messages may also be the given kinds of an application, each checked by its own Schema. */
export const schema = (...kinds: ReadonlyArray<Schema.Codec<Message.CustomMessage>>): Schema.Codec<AgentEvent> =>
  eventsWith(Message.schema(...kinds))
