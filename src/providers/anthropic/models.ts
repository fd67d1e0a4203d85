/**
 * What the models of the Messages API can do, as far as requests depend on it.
 *
 * The table is from Anthropic's pages on models, thinking, effort and preserved thinking. It serves where nobody asked the
 * API itself, whose list of models has the same facts (see list.ts).
 */

/** Of which day the table is. */
export const TABLE_DATE = "30 November 2026"

export type Effort = "low" | "medium" | "high" | "xhigh" | "max"

export interface ModelInfo {
  /** The greatest number of tokens of a request and its response together. */
  readonly contextWindow: number
  /** The greatest number of tokens of a response, thinking included. */
  readonly maxTokens: number
  /** Whether the model reads images. */
  readonly images: boolean
  /** Whether the model decides itself how long it thinks (`adaptive`), has to be given a budget, or does not think. */
  readonly thinking: "adaptive" | "budget" | "none"
  /**
   * How thinking is switched off: by one of two values of `thinking.type`, by saying nothing of it, or not at all. The
   * API refuses a value that the model does not take.
   */
  readonly thinkingOff: "disabled" | "between_tools" | "omit" | "never"
  /** The levels of effort that the model takes. */
  readonly efforts: ReadonlyArray<Effort>
  /**
   * Whether the API checks that nothing before a thinking block has changed since the model made it ("preserved
   * thinking"), and refuses the request where something has.
   */
  readonly bindsThinking: boolean
}

/** The generations from 4.7 on. */
const large: ModelInfo = {
  contextWindow: 1_000_000,
  maxTokens: 128_000,
  images: true,
  thinking: "adaptive",
  thinkingOff: "disabled",
  efforts: ["low", "medium", "high", "xhigh", "max"],
  bindsThinking: false
}
const alwaysThinking: ModelInfo = { ...large, thinkingOff: "never" }

/** The generation 4.6 was the first to be given an effort in place of a budget. */
const effortful: ModelInfo = { ...large, efforts: ["low", "medium", "high", "max"] }

/** The generation 4.5 is given budgets. */
const budgeted: ModelInfo = {
  contextWindow: 200_000,
  maxTokens: 64_000,
  images: true,
  thinking: "budget",
  thinkingOff: "disabled",
  efforts: [],
  bindsThinking: false
}

const table: Readonly<Record<string, ModelInfo>> = {
  "claude-fable-5-2": { ...alwaysThinking, bindsThinking: true },
  "claude-mythos-5-2": { ...alwaysThinking, bindsThinking: true },
  "claude-fable-5-1": { ...alwaysThinking, bindsThinking: true },
  "claude-mythos-5-1": { ...alwaysThinking, bindsThinking: true },
  "claude-opus-5-5": { ...alwaysThinking, bindsThinking: true },
  "claude-sonnet-5-5": { ...large, thinkingOff: "between_tools", bindsThinking: true },
  "claude-haiku-5-5": { ...large, bindsThinking: true },
  "claude-fable-5": alwaysThinking,
  "claude-mythos-5": alwaysThinking,
  "claude-opus-5": large,
  "claude-sonnet-5": large,
  "claude-opus-4-8": large,
  "claude-opus-4-7": large,
  "claude-mythos-preview": { ...effortful, thinkingOff: "never" },
  "claude-opus-4-6": effortful,
  "claude-sonnet-4-6": effortful,
  "claude-opus-4-5": budgeted,
  "claude-sonnet-4-5": budgeted,
  "claude-haiku-4-5": budgeted
}

/** Of which models Anthropic has announced the last day, by its SDK 1.14. */
const retirements: Readonly<Record<string, string>> = {
  "claude-mythos-preview": "2026-06-30",
  "claude-sonnet-4-5": "2026-11-30",
  "claude-opus-4-5": "2027-01-22"
}

/** A model that can be asked, as a list has it. */
export interface ListedModel {
  readonly id: string
  /** Its name for people. */
  readonly name?: string | undefined
  /** Absent where neither the API nor the table knows the model. */
  readonly info?: ModelInfo | undefined
  /** The API's stage of it: `active`, `deprecated`, … */
  readonly lifecycle?: string | undefined
  /** Its last day, in the form of RFC 3339. */
  readonly retiresAt?: string | undefined
}

/** The models of the table. */
export const modelTable: ReadonlyArray<ListedModel> = Object.entries(table).map(([id, info]) => {
  const retiresAt = retirements[id]
  return { id, info, retiresAt, lifecycle: retiresAt === undefined ? undefined : "deprecated" }
})

/** Longer names first: `claude-opus-5-5` is not `claude-opus-5`. */
const names = Object.keys(table).toSorted((left, right) => right.length - left.length)

/** A Claude model that the table does not have is taken for a newer one, of which only this much can be relied on. */
const unknownClaude: ModelInfo = {
  contextWindow: 200_000,
  maxTokens: 32_000,
  images: true,
  thinking: "adaptive",
  thinkingOff: "omit",
  efforts: ["low", "medium", "high"],
  bindsThinking: false
}

/** Any other model behind the same API (Ollama, llama.cpp, vLLM). */
const unknown: ModelInfo = {
  contextWindow: 32_000,
  maxTokens: 8_192,
  images: true,
  thinking: "budget",
  thinkingOff: "omit",
  efforts: [],
  bindsThinking: false
}

/**
 * What the table has of a model, by its id. Dates, and the names that clouds and gateways put around it, are allowed for
 * (`claude-haiku-4-5-20251001`, `us.anthropic.claude-opus-4-6-v1:0`).
 */
export const inTable = (id: string): ModelInfo | undefined => table[nameIn(id)]

/** The last day of a model that is to go. */
export const retirementOf = (id: string): string | undefined => retirements[nameIn(id)]

const nameIn = (id: string): string => names.find((name) => id.includes(name)) ?? ""

/** What a model can do, or what can be relied on where that is not known. */
export const lookup = (id: string): ModelInfo => inTable(id) ?? (id.includes("claude-") ? unknownClaude : unknown)
