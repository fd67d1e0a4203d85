/**
 * The parameters of the Messages API that we use. The types of their parts are those of the SDK, with what the API has on
 * trial. A system prompt and a content are always lists of blocks, so that the last one can be marked to be kept.
 */
import type { Anthropic } from "@anthropic-ai/sdk"
import type { Block } from "./content.ts"

export interface Params {
  readonly model: string
  readonly max_tokens: number
  readonly stream: true
  readonly system?: Array<Anthropic.TextBlockParam>
  readonly tools?: Array<Anthropic.Tool>
  readonly tool_choice?: Anthropic.ToolChoiceNone
  readonly thinking?: Anthropic.Beta.BetaThinkingConfigParam
  readonly output_config?: Anthropic.OutputConfig
  readonly messages: Array<{ readonly role: "user" | "assistant"; readonly content: Array<Block> }>
}
