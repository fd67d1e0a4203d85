/**
 * What a provider was made with, every choice made: what `Anthropic.Options` leaves open has its default here. It holds the
 * key as `Redacted`, and is never shown to anybody.
 */
import type * as Redacted from "effect/Redacted"
import type * as Semaphore from "effect/Semaphore"
import type { ListedModel, ModelInfo } from "./models.ts"

export interface Settings {
  readonly apiKey: Redacted.Redacted | undefined
  readonly baseUrl: string
  /** By their names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly betas: ReadonlyArray<string>
  readonly cache: "5m" | "1h" | "off"
  /** The greatest number of tokens of a response, where it is to be less than the model's own. */
  readonly maxTokens: number | undefined
  /** How long a response may be silent, in milliseconds; 0 for ever. */
  readonly idleLimit: number
  /** What is known of a model without asking for it. */
  readonly modelInfo: (id: string) => ModelInfo | undefined
  /** The API's list of models, once somebody has asked for it, be it in vain; and whose turn it is to ask. */
  readonly listing: { models: ReadonlyArray<ListedModel> | undefined; readonly turn: Semaphore.Semaphore }
  /** The models whose deprecation was told of. */
  readonly noticed: Set<string>
  /** Sends requests where Node's own `fetch` does not do. */
  readonly fetch: typeof fetch | undefined
}

export const BASE_URL = "https://api.anthropic.com"

/** Whether the API is Anthropic's own. Others speak the Messages API without what was added to it last. */
export const isAnthropic = (baseUrl: string): boolean =>
  URL.canParse(baseUrl) && /(^|\.)anthropic\.com$/.test(new URL(baseUrl).hostname)
