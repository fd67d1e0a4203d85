// Events of runs, by hand, for the tests of the trace checker.
import type * as Schema from "effect/Schema"
import type { AgentEvent, AssistantMessageEvent, EndReason, ToolResult } from "../../src/AgentEvent.ts"
import {
  addUsage,
  type AssistantContent,
  type AssistantMessage,
  emptyUsage,
  type Message,
  type ResponseError,
  type ToolCall,
  type ToolResultMessage,
  type Usage
} from "../../src/Message.ts"

export type Events = ReadonlyArray<AgentEvent>

export const tokens = (input: number, output: number): Usage => ({
  ...emptyUsage,
  input,
  output,
  totalTokens: input + output
})

export const user = (content: string): Message => ({ role: "user", content, timestamp: 1 })

/** A message of an application's own kind. */
export const notice = { role: "notice", note: "n", timestamp: 2 } as unknown as Message

export const call = (id: string, args: Schema.Json = {}): ToolCall => ({
  type: "toolCall",
  id,
  name: "read",
  arguments: args
})

export const answer = (
  content: ReadonlyArray<AssistantContent>,
  over: Partial<AssistantMessage> = {}
): AssistantMessage => ({
  role: "assistant",
  content,
  provider: "acme",
  model: "m1",
  usage: tokens(3, 4),
  stopReason: content.some((block) => block.type === "toolCall") ? "toolUse" : "stop",
  timestamp: 3,
  ...over
})

export const failed = (stopReason: "error" | "aborted", content: ReadonlyArray<AssistantContent> = []) =>
  answer(content, { stopReason, errorMessage: "it broke" })

export const partial = (content: ReadonlyArray<AssistantContent>): AssistantMessage =>
  answer(content, { stopReason: "stop", usage: emptyUsage })

/** A message that comes whole. */
export const whole = (message: Message): Events => [
  { type: "message_start", message },
  { type: "message_end", message }
]

export const update = (
  content: ReadonlyArray<AssistantContent>,
  assistantMessageEvent: AssistantMessageEvent
): AgentEvent => ({ type: "message_update", message: partial(content), assistantMessageEvent })

/** A response of one text block, streamed in one delta. */
export const streamed = (text: string): Events => [
  { type: "message_start", message: partial([]) },
  update([{ type: "text", text: "" }], { type: "text_start", contentIndex: 0 }),
  update([{ type: "text", text }], { type: "text_delta", contentIndex: 0, delta: text }),
  update([{ type: "text", text }], { type: "text_end", contentIndex: 0, content: text }),
  { type: "message_end", message: answer([{ type: "text", text }]) }
]

const named = ({ id, name }: ToolCall) => ({ toolCallId: id, toolName: name })

export const start = (of: ToolCall): AgentEvent => ({
  type: "tool_execution_start",
  ...named(of),
  args: of.arguments
})

export const progress = (of: ToolCall): AgentEvent => ({
  type: "tool_execution_update",
  ...named(of),
  args: of.arguments,
  partialResult: { content: [{ type: "text", text: "…" }] }
})

export const done: ToolResult = { content: [{ type: "text", text: "ok" }] }

export const end = (of: ToolCall, result: ToolResult = done, isError = false): AgentEvent => ({
  type: "tool_execution_end",
  ...named(of),
  result,
  isError
})

export const resultOf = (of: ToolCall, result: ToolResult = done, isError = false): ToolResultMessage => ({
  role: "toolResult",
  ...named(of),
  content: result.content ?? [],
  ...(result.details !== undefined && { details: result.details }),
  ...(result.addedToolNames?.length && { addedToolNames: result.addedToolNames }),
  isError,
  timestamp: 4
})

export const executed = (of: ToolCall, result: ToolResult = done, isError = false): Events => [
  start(of),
  end(of, result, isError),
  ...whole(resultOf(of, result, isError))
]

const overloaded: ResponseError = { reason: "overloaded", retryable: true }

export const retry = (attempt: number, error = overloaded): AgentEvent => ({
  type: "retry",
  attempt,
  delayMs: 5,
  error,
  errorMessage: "overloaded",
  usage: tokens(1, 0)
})

/** A turn of these events, with the `turn_end` that belongs to them. */
export const turn = (...events: Events): Events => {
  const messages = events.flatMap((event) => (event.type === "message_end" ? [event.message] : []))
  return [
    { type: "turn_start" },
    ...events,
    {
      type: "turn_end",
      message: messages.findLast((message) => message.role === "assistant")!,
      toolResults: messages.filter((message) => message.role === "toolResult")
    }
  ]
}

/** A run of these events, with the `agent_end` that belongs to them. */
export const run = (reason: EndReason, ...turns: ReadonlyArray<Events>): Events => {
  const events = turns.flat()
  const messages = events.flatMap((event) => (event.type === "message_end" ? [event.message] : []))
  const usages = events.flatMap((event) => {
    if (event.type === "retry") return event.usage ?? []
    return event.type === "message_end" && event.message.role === "assistant" ? event.message.usage : []
  })
  return [
    { type: "agent_start" },
    ...events,
    { type: "agent_end", messages, reason, usage: usages.reduce(addUsage, emptyUsage) }
  ]
}
