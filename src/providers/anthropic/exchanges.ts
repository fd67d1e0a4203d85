/**
 * A transcript in exchanges: each response with what came after it, up to the next one. Results belong to the calls of their
 * own exchange, so that an id that comes again later in the transcript means the call that it was said of.
 */
import type { AssistantMessage, LlmMessage, Other, ToolResultMessage, UserMessage } from "../../Message.ts"
import { wireOf } from "./wire.ts"

export interface Exchange {
  /** Absent in the first exchange: what came before any response. */
  readonly assistant: AssistantMessage | undefined
  /** By the ids of their calls; of two results of one call the first counts. */
  readonly results: Map<string, ToolResultMessage>
  readonly users: Array<UserMessage>
}

export const exchangesOf = (messages: ReadonlyArray<LlmMessage>): ReadonlyArray<Exchange> => {
  let exchange: Exchange = { assistant: undefined, results: new Map(), users: [] }
  const exchanges = [exchange]
  for (const message of messages) {
    switch (message.role) {
      case "assistant":
        exchanges.push((exchange = { assistant: message, results: new Map(), users: [] }))
        break
      case "user":
        exchange.users.push(message)
        break
      case "toolResult":
        if (!exchange.results.has(message.toolCallId)) exchange.results.set(message.toolCallId, message)
    }
  }
  return exchanges
}

export const isFailed = ({ stopReason }: AssistantMessage): boolean =>
  stopReason === "error" || stopReason === "aborted"

/**
 * The blocks of unknown kinds that can go back. Among them are the calls of tools that the API executes itself, and the
 * results of these: each needs its other half before the user has the turn again, unless the API is still to give it.
 */
export const wholeOthers = (exchanges: ReadonlyArray<Exchange>, provider: string): ReadonlySet<Other> => {
  const whole = new Set<Other>()
  let turn: Array<Other> = []
  for (const [index, { assistant, users }] of exchanges.entries()) {
    const others = (assistant?.content ?? []).filter((block) => block.type === "other")
    turn.push(...others.filter((block) => block.provider === provider))
    const isLast = index === exchanges.length - 1
    if (!isLast && users.length === 0) continue
    const isGoingOn = users.length === 0 && assistant !== undefined && !isFailed(assistant)
    const calls = new Set(turn.map((block) => halfOf(block).call))
    const results = new Set(turn.map((block) => halfOf(block).result))
    for (const block of turn) {
      const { call, result } = halfOf(block)
      const isOpen = isGoingOn && others.includes(block)
      if (call !== undefined ? results.has(call) || isOpen : result === undefined || calls.has(result)) whole.add(block)
    }
    turn = []
  }
  return whole
}

const halfOf = ({ data }: Other): { readonly call?: string; readonly result?: string } => {
  const { type, id, tool_use_id: result } = wireOf(data)
  if (typeof result === "string") return { result }
  return typeof type === "string" && type.endsWith("tool_use") && typeof id === "string" ? { call: id } : {}
}
