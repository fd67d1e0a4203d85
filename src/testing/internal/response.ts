/**
 * One response as the trace checker sees it: the events of its updates, folded from scratch, and the snapshots held
 * against that.
 *
 * The cost stays linear in the size of the response: a short one is compared whole at each event; a long one only by
 * the length of the block that grew, and whole again when it has grown by half.
 */
import * as Result from "effect/Result"
import type { AgentEvent, AssistantMessageEvent } from "../../AgentEvent.ts"
import { finishCall, readTolerant } from "../../internal/preview.ts"
import {
  type AssistantContent,
  type AssistantMessage,
  emptyUsage,
  type Thinking,
  type ToolCall
} from "../../Message.ts"
import { broken, type Checked, demand, demandEqual } from "./rules.ts"

/** Up to so many streamed characters, each snapshot is compared whole. */
const WHOLE_UP_TO = 4096

type Update = Extract<AgentEvent, { type: "message_update" }>

type Block =
  | { readonly type: "text"; readonly isOpen: boolean; readonly text: string }
  | { readonly type: "thinking"; readonly isOpen: boolean; readonly block: Thinking }
  | {
      readonly type: "toolCall"
      readonly isOpen: boolean
      readonly id: string
      readonly name: string
      /** The text of the arguments; unknown for a call that began before the message was opened. */
      readonly text: string | undefined
    }
  | { readonly type: "other"; readonly isOpen: false; readonly data: AssistantContent }

export interface Response {
  /** The message of `message_start`. */
  readonly start: AssistantMessage
  readonly blocks: ReadonlyArray<Block>
  /** How many characters were streamed, and from how many on the next snapshot is compared whole. */
  readonly streamed: number
  readonly wholeFrom: number
}

export const open = (start: AssistantMessage): Response => ({
  start,
  blocks: start.content.map(blockOf),
  streamed: 0,
  wholeFrom: 0
})

/** What was folded before the message was opened; whether a block is finished cannot be seen. */
const blockOf = (block: AssistantContent): Block => {
  switch (block.type) {
    case "text":
      return { type: "text", isOpen: true, text: block.text }
    case "thinking":
      return { type: "thinking", isOpen: true, block }
    case "toolCall":
      return { type: "toolCall", isOpen: true, id: block.id, name: block.name, text: undefined }
    case "other":
      return { type: "other", isOpen: false, data: block }
  }
}

/** Whether the next update is one to look at whole. */
export const isWhole = (response: Response, event: AssistantMessageEvent): boolean =>
  !("delta" in event) || response.streamed + event.delta.length >= response.wholeFrom

// ---------------------------------------------------------------------------------------------------------------------
// Updates
// ---------------------------------------------------------------------------------------------------------------------

export const update = (response: Response, { message, assistantMessageEvent: event }: Update): Checked<Response> =>
  Result.gen(function* () {
    yield* demandPartial(response.start)
    yield* demandPartial(message)
    yield* demandSameModel(response, message)
    const blocks = yield* fold(response.blocks, event, message)
    const streamed = response.streamed + ("delta" in event ? event.delta.length : 0)
    if (!isWhole(response, event)) {
      yield* demandGrown(blocks, event, message)
      return { ...response, blocks, streamed }
    }
    yield* demandEqual(partialContent(blocks, message), message.content, "update-fold", "the content")
    const wholeFrom = streamed < WHOLE_UP_TO ? 0 : Math.ceil(streamed * 1.5)
    return { ...response, blocks, streamed, wholeFrom }
  })

const demandPartial = (message: AssistantMessage): Checked<void> => {
  const { stopReason, usage, stopDetail, errorMessage, error } = message
  return Result.gen(function* () {
    yield* demand(stopReason === "stop", "update-partial", `a message in progress has the stop reason ${stopReason}`)
    yield* demandEqual(emptyUsage, usage, "update-partial", "the usage of a message in progress")
    const isFree = stopDetail === undefined && errorMessage === undefined && error === undefined
    yield* demand(isFree, "update-partial", "a message in progress tells of its end")
  })
}

const demandSameModel = ({ start }: Response, message: AssistantMessage): Checked<void> =>
  demand(
    message.provider === start.provider && message.model === start.model,
    "response-model",
    `${start.provider}/${start.model} became ${message.provider}/${message.model}`
  )

const fold = (
  blocks: ReadonlyArray<Block>,
  event: AssistantMessageEvent,
  message: AssistantMessage
): Checked<ReadonlyArray<Block>> => {
  const index = event.contentIndex
  const started = startBlock(event, message)
  if (started !== undefined) {
    return index === blocks.length
      ? Result.succeed([...blocks, started])
      : broken("update-block", `${event.type} names block ${index}, but ${blocks.length} was due`)
  }
  const block = blocks[index]
  if (block?.isOpen !== true) return broken("update-block", `${event.type} names block ${index}, which is not open`)
  return Result.map(foldInto(block, event), (next) => blocks.with(index, next))
}

const startBlock = (event: AssistantMessageEvent, message: AssistantMessage): Block | undefined => {
  switch (event.type) {
    case "text_start":
      return { type: "text", isOpen: true, text: "" }
    case "thinking_start":
      return {
        type: "thinking",
        isOpen: true,
        block: {
          type: "thinking",
          thinking: event.redacted === true ? "[Reasoning redacted]" : "",
          ...(event.signature !== undefined && { thinkingSignature: event.signature }),
          ...(event.redacted === true && { redacted: true })
        }
      }
    case "toolcall_start":
      return { type: "toolCall", isOpen: true, id: event.id, name: event.name, text: "" }
    case "other":
      return { type: "other", isOpen: false, data: { type: "other", provider: message.provider, data: event.data } }
    default:
      return undefined
  }
}

const foldInto = (block: Block, event: AssistantMessageEvent): Checked<Block> => {
  const told = (given: unknown, wanted: unknown, next: Block) =>
    Result.map(demandEqual(wanted, given, "update-block", `what ${event.type} tells of its block`), () => next)
  switch (event.type) {
    case "text_delta":
      if (block.type !== "text") break
      return Result.succeed({ ...block, text: block.text + event.delta })
    case "text_end":
      if (block.type !== "text") break
      return told(event.content, block.text, { ...block, isOpen: false })
    case "thinking_delta": {
      if (block.type !== "thinking") break
      const thinking = block.block.thinking + event.delta
      return Result.succeed({ ...block, block: { ...block.block, thinking } })
    }
    case "thinking_end": {
      if (block.type !== "thinking") break
      const { signature } = event
      const signed = signature === undefined ? block.block : { ...block.block, thinkingSignature: signature }
      return told(event.content, block.block.thinking, { ...block, isOpen: false, block: signed })
    }
    case "toolcall_delta":
      if (block.type !== "toolCall") break
      return Result.succeed({ ...block, text: block.text === undefined ? undefined : block.text + event.delta })
    case "toolcall_end":
      if (block.type !== "toolCall") break
      return told(event.toolCall, finished(block, event.toolCall), { ...block, isOpen: false })
  }
  return broken("update-block", `${event.type} names a block of the kind ${block.type}`)
}

/** In a long message between two whole comparisons: the block that a delta went to has the right length. */
const demandGrown = (
  blocks: ReadonlyArray<Block>,
  event: AssistantMessageEvent,
  message: AssistantMessage
): Checked<void> => {
  const wanted = blocks[event.contentIndex]
  const given = message.content[event.contentIndex]
  const isGrown =
    message.content.length === blocks.length &&
    (wanted?.type === "text"
      ? given?.type === "text" && given.text.length === wanted.text.length
      : wanted?.type === "thinking"
        ? given?.type === "thinking" && given.thinking.length === wanted.block.thinking.length
        : given?.type === wanted?.type)
  return demand(isGrown, "update-fold", `block ${event.contentIndex} is not as long as what was streamed of it`)
}

// ---------------------------------------------------------------------------------------------------------------------
// What the blocks make
// ---------------------------------------------------------------------------------------------------------------------

type CallBlock = Extract<Block, { type: "toolCall" }>

/** A finished call. Where its text is not known, its arguments are taken as they are. */
const finished = ({ id, name, text }: CallBlock, given: AssistantContent | undefined): ToolCall => {
  if (text !== undefined) return finishCall(id, name, text)
  return given?.type === "toolCall" ? { ...given, id, name } : { type: "toolCall", id, name, arguments: {} }
}

const partial = (call: CallBlock, given: AssistantContent | undefined): ToolCall =>
  call.isOpen && call.text !== undefined
    ? { type: "toolCall", id: call.id, name: call.name, arguments: readTolerant(call.text) }
    : finished(call, given)

const contentWith =
  (call: (block: CallBlock, given: AssistantContent | undefined) => ToolCall) =>
  (blocks: ReadonlyArray<Block>, message: AssistantMessage): ReadonlyArray<AssistantContent> =>
    blocks.map((block, index) => {
      switch (block.type) {
        case "text":
          return { type: "text", text: block.text }
        case "thinking":
          return block.block
        case "toolCall":
          return call(block, message.content[index])
        case "other":
          return block.data
      }
    })

const partialContent = contentWith(partial)
const finalContent = contentWith(finished)

// ---------------------------------------------------------------------------------------------------------------------
// End
// ---------------------------------------------------------------------------------------------------------------------

/** Whether the message was opened with its finished form, as in a response that never began to stream. */
export const isFinished = ({ start }: Response): boolean => Result.isFailure(demandPartial(start))

/** Holds the finished message against what was streamed of it. */
export const end = (response: Response, message: AssistantMessage): Checked<void> =>
  Result.gen(function* () {
    yield* demandSameModel(response, message)
    if (isFinished(response)) {
      return yield* demandEqual(response.start, message, "message-pair", "the message")
    }
    yield* demandEqual(finalContent(response.blocks, message), message.content, "response-end", "the content")
  })
