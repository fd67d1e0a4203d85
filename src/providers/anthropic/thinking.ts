/**
 * How hard a model is to think, in the API's terms: an effort or a budget, by what the model takes.
 *
 * Thinking blocks go back only in a request that thinks. That is what makes an edited transcript a valid request: such a
 * request can ask the API to drop the blocks that no longer fit what is before them, any other is refused for them.
 */
import type { Anthropic } from "@anthropic-ai/sdk"
import type { ThinkingLevel } from "../../services/Provider.ts"
import type { Effort, ModelInfo } from "./models.ts"

export interface Thinking {
  readonly thinking: Anthropic.Beta.BetaThinkingConfigParam | undefined
  readonly effort: Effort | undefined
  /** Whether the request thinks, and thinking of earlier responses goes back with it. */
  readonly isOn: boolean
  readonly betas: ReadonlyArray<string>
}

export interface ThinkingOptions {
  readonly level: Exclude<ThinkingLevel, "off"> | undefined
  readonly maxTokens: number
  /** Whether the API knows `block_binding`. */
  readonly canBind: boolean
}

export const thinkingOf = (info: ModelInfo, options: ThinkingOptions): Thinking => {
  const { level } = options
  if (level === undefined) return withoutThinking(info, options)
  if (info.thinking === "adaptive") return adaptive(info, effortOf(level, info.efforts), options)
  const budget = Math.min(budgets[level], Math.floor(options.maxTokens / 2))
  return info.thinking === "budget" && budget >= MIN_BUDGET
    ? { thinking: { type: "enabled", budget_tokens: budget }, effort: undefined, isOn: true, betas: [] }
    : withoutThinking(info, options)
}

/** The least thinking that the model can be held to. */
export const withoutThinking = (info: ModelInfo, options: ThinkingOptions): Thinking => {
  switch (info.thinkingOff) {
    case "never":
      return adaptive(info, info.efforts[0], options)
    case "omit":
      return { thinking: undefined, effort: undefined, isOn: false, betas: [] }
    default:
      return { thinking: { type: info.thinkingOff }, effort: undefined, isOn: false, betas: [] }
  }
}

/** What a model thinks is summarised: where it was left out, a long thought would be silence that no one can tell from a stall. */
const adaptive = (info: ModelInfo, effort: Effort | undefined, { canBind }: ThinkingOptions): Thinking => {
  const binds = info.bindsThinking && canBind
  return {
    thinking: {
      type: "adaptive",
      display: "summarized",
      ...(binds && { block_binding: { prefix_mismatch_behavior: "drop_block" as const } })
    },
    effort,
    isOn: true,
    betas: binds ? [BINDING_BETA] : []
  }
}

const BINDING_BETA = "thinking-binding-controls-2026-08-01"

/** The API's own least budget. */
const MIN_BUDGET = 1_024

const budgets = { minimal: MIN_BUDGET, low: 2_048, medium: 8_192, high: 16_384, xhigh: 32_768 }

const wanted: Readonly<Record<Exclude<ThinkingLevel, "off">, ReadonlyArray<Effort>>> = {
  minimal: ["low"],
  low: ["low"],
  medium: ["medium"],
  high: ["high"],
  xhigh: ["xhigh", "max", "high"]
}

const effortOf = (level: Exclude<ThinkingLevel, "off">, efforts: ReadonlyArray<Effort>): Effort | undefined =>
  wanted[level].find((effort) => efforts.includes(effort))
