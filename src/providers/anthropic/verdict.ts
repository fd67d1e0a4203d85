/**
 * What an answer of the API means: why the request failed, and whether asking again can help.
 *
 * Codes decide, in this order: the error's own code, its type, the HTTP status. Words are looked at only where the API has
 * one code for different things.
 */
import type { ProviderErrorReason } from "../../services/Provider.ts"

export interface Answer {
  readonly status?: number | undefined
  readonly type?: string | undefined
  readonly code?: string | undefined
  readonly message: string
}

export type Verdict = readonly [reason: ProviderErrorReason, retryable: boolean]

const byCode: Readonly<Record<string, Verdict>> = {
  contract_spend_limit_reached: ["quota", false],
  enforced_spend_limit_reached: ["quota", false],
  linked_organization_spend_limit_reached: ["quota", false],
  linked_organization_billing_unavailable: ["quota", false],
  organization_on_hold: ["permission", false],
  claude_code_key_creator_not_member: ["permission", false]
}

const byType: Readonly<Record<string, Verdict>> = {
  authentication_error: ["authentication", false],
  billing_error: ["quota", false],
  permission_error: ["permission", false],
  not_found_error: ["notFound", false],
  rate_limit_error: ["rateLimit", true],
  overloaded_error: ["overloaded", true],
  timeout_error: ["internal", true],
  conflict_error: ["internal", true],
  request_too_large: ["contextWindow", false],
  /** Of llama.cpp. */
  exceed_context_size_error: ["contextWindow", false]
}

const byStatus: Readonly<Record<number, Verdict>> = {
  401: ["authentication", false],
  402: ["quota", false],
  403: ["permission", false],
  404: ["notFound", false],
  405: ["notFound", false],
  408: ["internal", true],
  409: ["internal", true],
  413: ["contextWindow", false],
  425: ["internal", true],
  429: ["rateLimit", true],
  503: ["overloaded", true],
  529: ["overloaded", true]
}

/** Types that the API has for everything that has no other. */
const byGeneralType: Readonly<Record<string, Verdict>> = {
  invalid_request_error: ["invalidRequest", false],
  api_error: ["internal", true]
}

const byWords: ReadonlyArray<readonly [RegExp, Verdict]> = [
  [/prompt is too long|exceed context limit|maximum context length|context window/i, ["contextWindow", false]],
  [/credit balance is too low|specified API usage limits/i, ["quota", false]],
  [/blocked by content filtering/i, ["contentRefused", false]]
]

export const verdictOf = ({ status, type = "", code = "", message }: Answer): Verdict => {
  const known = byCode[code] ?? byType[type]
  if (known !== undefined) return known
  const isGeneral = status === undefined || status === 400 || status === 422
  const told = isGeneral ? byWords.find(([words]) => words.test(message))?.[1] : undefined
  if (told !== undefined) return told
  if (status === undefined) return byGeneralType[type] ?? ["internal", true]
  return byStatus[status] ?? (status >= 500 ? ["internal", true] : ["invalidRequest", false])
}
