/**
 * A transcript as turns that the API takes, whatever was cut out of it, put into it or aborted.
 *
 * Turns alternate and the user has the first and the last; each call has its result in the turn after it, in the order of
 * the calls and before anything else; no result is without its call, no turn empty. The turns of the beginning of a
 * transcript are the beginning of its turns, so that what the API has kept of them is found again.
 */
import type { AssistantMessage, LlmMessage, Other, ToolCall, ToolResultMessage } from "../../Message.ts"
import type { Model } from "../../services/Provider.ts"
import * as Content from "./content.ts"
import { exchangesOf, isFailed, wholeOthers } from "./exchanges.ts"

export interface Turn {
  readonly role: "user" | "assistant"
  readonly content: Array<Content.Block>
}

export interface Target {
  readonly model: Model
  readonly images: boolean
  /** Whether thinking goes back to the model that made it. */
  readonly thinking: boolean
}

export const toTurns = (messages: ReadonlyArray<LlmMessage>, target: Target): ReadonlyArray<Turn> => {
  const turns: Array<Turn> = []
  const add = (role: Turn["role"], content: ReadonlyArray<Content.Block>) => {
    const last = turns.at(-1)
    if (content.length === 0) return
    if (last?.role === role) last.content.push(...content)
    else turns.push({ role, content: [...content] })
  }
  const ids = new Set<string>()
  const exchanges = exchangesOf(messages)
  const others = wholeOthers(exchanges, target.model.provider)
  for (const { assistant, results, users } of exchanges) {
    if (assistant !== undefined) {
      const calls: Calls = new Map()
      for (const [index, block] of assistant.content.entries()) {
        const isKept = block.type === "toolCall" && (!isFailed(assistant) || results.has(block.id))
        if (isKept) calls.set(index, { id: uniqueId(block.id, ids), call: block })
      }
      const content = said(assistant, { ...target, calls, others })
      if (turns.length === 0 && content.length > 0) add("user", beginning)
      add("assistant", content)
      add("user", answered(calls, results, target.images))
    }
    for (const { content } of users) {
      add("user", typeof content === "string" ? Content.toText(content) : Content.toContent(content, target.images))
    }
  }
  if (turns.at(-1)?.role === "assistant" && !(isPaused(messages.at(-1)) && isOpen(turns.at(-1)!))) add("user", goOn)
  return turns
}

const beginning: ReadonlyArray<Content.Block> = [
  { type: "text", text: "(The beginning of this conversation is not shown.)" }
]
const goOn: ReadonlyArray<Content.Block> = [{ type: "text", text: "Continue." }]

/** The API has paused a turn, and goes on when it gets it back as it is: with the tools that it executes itself at its end. */
const isPaused = (message: LlmMessage | undefined): boolean =>
  message?.role === "assistant" && message.stopDetail?.type === "pause_turn"
const isOpen = ({ content }: Turn): boolean => content.at(-1)!.type !== "text"

// ---------------------------------------------------------------------------------------------------------------------
// Turns
// ---------------------------------------------------------------------------------------------------------------------

/** The calls of a response that are kept, by their places, with the ids that they have for the API. */
type Calls = Map<number, { readonly id: string; readonly call: ToolCall }>

interface Saying extends Target {
  readonly calls: Calls
  /** The blocks of unknown kinds that are kept. */
  readonly others: ReadonlySet<Other>
}

const said = (message: AssistantMessage, { model, thinking, calls, others }: Saying): Array<Content.Block> => {
  const isOwn = message.provider === model.provider && message.model === model.id
  const content = message.content.flatMap((block, index): ReadonlyArray<Content.Block> => {
    switch (block.type) {
      case "text":
        return Content.toText(block.text)
      case "thinking":
        return thinking && isOwn ? Content.toThinking(block) : []
      case "toolCall": {
        const kept = calls.get(index)
        return kept === undefined ? [] : [Content.toCall(kept.call, kept.id)]
      }
      case "other":
        return others.has(block) ? Content.toOther(block) : []
    }
  })
  // The API refuses a turn that ends with thinking.
  return content.slice(0, content.findLastIndex(({ type }) => !thoughts.includes(type)) + 1)
}

export const thoughts: ReadonlyArray<string> = ["thinking", "redacted_thinking"]

const answered = (
  calls: Calls,
  results: ReadonlyMap<string, ToolResultMessage>,
  readsImages: boolean
): ReadonlyArray<Content.Block> => {
  const answers = [...calls.values()].map(({ id, call }) => {
    const message = results.get(call.id)
    return message === undefined
      ? { result: Content.toMissingResult(id), images: [] }
      : Content.toResult(message, id, readsImages)
  })
  return [...answers.map(({ result }) => result), ...answers.flatMap(({ images }) => images)]
}

/** An id with the characters that the API takes, which no other call of the transcript has. */
const uniqueId = (id: string, taken: Set<string>): string => {
  const clean = id.replaceAll(/[^a-zA-Z0-9_-]/g, "_").slice(0, 56) || "call"
  let unique = clean
  for (let n = 2; taken.has(unique); n++) unique = `${clean}_${n}`
  taken.add(unique)
  return unique
}
