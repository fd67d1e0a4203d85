/**
 * Blocks of a transcript as blocks of the API. What the API would refuse is left out where nothing is lost by it, and said
 * in words where something is: the model has to know that there was an image, or that a tool gave nothing.
 */
import type { Anthropic } from "@anthropic-ai/sdk"
import * as Predicate from "effect/Predicate"
import type { Content, Other, Thinking, ToolCall, ToolResultMessage } from "../../Message.ts"
import { isBlank, wellFormed } from "./text.ts"

export type Block = Anthropic.Beta.BetaContentBlockParam
type Readable = Anthropic.TextBlockParam | Anthropic.ImageBlockParam

export const toText = (text: string): ReadonlyArray<Anthropic.TextBlockParam> =>
  isBlank(text) ? [] : [{ type: "text", text: text.toWellFormed() }]

/** What a user or a tool said. `readsImages` is whether the model does. */
export const toContent = (content: ReadonlyArray<Content>, readsImages: boolean): ReadonlyArray<Readable> =>
  content.flatMap((block): ReadonlyArray<Readable> =>
    block.type === "text" ? toText(block.text) : [toImage(block, readsImages)]
  )

const mediaTypes = ["image/jpeg", "image/png", "image/gif", "image/webp"] as const

const toImage = ({ data, mimeType }: Extract<Content, { type: "image" }>, readsImages: boolean): Readable => {
  const mediaType = mediaTypes.find((known) => known === mimeType)
  return !readsImages || mediaType === undefined || data === ""
    ? {
        type: "text",
        text: `(An image of the type ${mimeType.toWellFormed()} is not shown: the model cannot read it.)`
      }
    : { type: "image", source: { type: "base64", media_type: mediaType, data } }
}

/**
 * Thinking with the proof that the model gave for it. It goes back as it came, also without a text, or not at all.
 */
export const toThinking = ({ thinking, thinkingSignature, redacted }: Thinking): ReadonlyArray<Block> => {
  if (thinkingSignature === undefined || thinkingSignature === "") return []
  if (redacted === true) return [{ type: "redacted_thinking", data: thinkingSignature }]
  return thinking.isWellFormed() ? [{ type: "thinking", thinking, signature: thinkingSignature }] : []
}

/** The API takes only objects for the arguments of a call, and only some characters in names. */
export const toCall = (call: ToolCall, id: string): Anthropic.ToolUseBlockParam => ({
  type: "tool_use",
  id,
  name: toName(call.name),
  input: wellFormed(
    Predicate.isObject(call.arguments) && !Array.isArray(call.arguments)
      ? call.arguments
      : { arguments: call.arguments }
  )
})

const toName = (name: string): string => name.replaceAll(/[^a-zA-Z0-9_-]/g, "_").slice(0, 128) || "unnamed"

/** A result, and the images that the API does not take in the result of an error. */
export const toResult = (message: ToolResultMessage, id: string, readsImages: boolean) => {
  const content = toContent(message.content, readsImages)
  const images = message.isError ? content.filter((block) => block.type === "image") : []
  const shown = content.filter((block) => !images.includes(block as Anthropic.ImageBlockParam))
  const result: Anthropic.ToolResultBlockParam = {
    type: "tool_result",
    tool_use_id: id,
    content: shown.length > 0 ? shown : [{ type: "text", text: images.length > 0 ? SHOWN_BELOW : NO_OUTPUT }],
    ...(message.isError && { is_error: true })
  }
  return { result, images }
}

export const toMissingResult = (id: string): Anthropic.ToolResultBlockParam => ({
  type: "tool_result",
  tool_use_id: id,
  content: [{ type: "text", text: "No result of this call was kept." }],
  is_error: true
})

const NO_OUTPUT = "(no output)"
const SHOWN_BELOW = "(the images are below)"

/** A block of the API that only the API understands. */
export const toOther = ({ data }: Other): ReadonlyArray<Block> =>
  Predicate.hasProperty(data, "type") && typeof data.type === "string" ? [data as unknown as Block] : []
