/**
 * What a transcript asks: the messages of the user that have no answer yet, and what the tools have said since.
 *
 * A message that was put in while the agent worked (steering) does not take back the one before it: both are answered.
 * But a response that was aborted or failed, and calls that were aborted before the user wrote again, close what they
 * belonged to: nobody waits for that any more.
 */
import type * as Message from "../../Message.ts"

/** What a tool said to a call; `undefined` where the transcript has no result for it. */
export interface Made {
  readonly name: string
  readonly arguments: Message.ToolCall["arguments"]
  readonly result: Message.ToolResultMessage | undefined
}

export interface Conversation {
  /** The texts to be answered, oldest first. */
  readonly pending: ReadonlyArray<string>
  /** What the user wrote before them, newest first. */
  readonly earlier: ReadonlyArray<string>
  /** The calls since the first pending text, in order. */
  readonly made: ReadonlyArray<Made>
  /** Whether the same provider has given an answer before. */
  readonly isAnswered: boolean
}

/** How far back an "it" may point, in messages of the user. */
const MAX_EARLIER = 10

export const textOf = (content: string | ReadonlyArray<Message.Content>): string =>
  typeof content === "string"
    ? content
    : content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n")

const isAborted = (result: Message.ToolResultMessage): boolean =>
  result.isError &&
  /^\W*(?:(?:the )?(?:operation|tool|call|run) (?:was |is )?)?(?:aborted|interrupted)\b/i.test(textOf(result.content))

const isAnswer = (message: Message.AssistantMessage): boolean =>
  !message.content.some((block) => block.type === "toolCall")

const isBroken = (message: Message.AssistantMessage): boolean =>
  message.stopReason === "aborted" || message.stopReason === "error"

export const converse = (messages: ReadonlyArray<Message.LlmMessage>, provider: string): Conversation => {
  const start = startOfPending(messages)
  const open = messages.slice(start)
  return {
    pending: open.flatMap((message) => (message.role === "user" ? [textOf(message.content)] : [])),
    earlier: messages
      .slice(0, start)
      .flatMap((message) => (message.role === "user" ? [textOf(message.content)] : []))
      .slice(-MAX_EARLIER)
      .toReversed(),
    made: callsOf(open),
    isAnswered: messages.some(
      (message) =>
        message.role === "assistant" && message.provider === provider && isAnswer(message) && !isBroken(message)
    )
  }
}

/** Where the messages begin that are still to be answered. */
const startOfPending = (messages: ReadonlyArray<Message.LlmMessage>): number => {
  let hasLater = false
  for (let index = messages.length - 1; index >= 0; index--) {
    const message = messages[index]!
    if (message.role === "user") hasLater = true
    if (message.role === "assistant" && (isAnswer(message) || isBroken(message))) return index + 1
    if (message.role === "toolResult" && hasLater && isAborted(message)) return index + 1
  }
  return 0
}

const callsOf = (messages: ReadonlyArray<Message.LlmMessage>): ReadonlyArray<Made> => {
  const results = new Map(
    messages.flatMap((message) => (message.role === "toolResult" ? [[message.toolCallId, message] as const] : []))
  )
  return messages.flatMap((message) =>
    message.role === "assistant"
      ? message.content.flatMap((block) =>
          block.type === "toolCall"
            ? [{ name: block.name, arguments: block.arguments, result: results.get(block.id) }]
            : []
        )
      : []
  )
}

/** How many calls a transcript has. */
export const countCalls = (messages: ReadonlyArray<Message.LlmMessage>): number =>
  messages.reduce(
    (sum, message) =>
      message.role === "assistant" ? sum + message.content.filter((block) => block.type === "toolCall").length : sum,
    0
  )
