/**
 * Everything that can go wrong with a request as a `ProviderError`: a reason, whether asking again can help, and a sentence
 * that a person can act on.
 * No error shows the key, also where the server repeats it.
 */
import { APIConnectionError, APIConnectionTimeoutError, APIError, APIUserAbortError } from "@anthropic-ai/sdk"
import * as Predicate from "effect/Predicate"
import type { Usage } from "../../Message.ts"
import { ProviderError, type ProviderErrorReason } from "../../services/Provider.ts"
import { describeDefect } from "../../Tool.ts"
import type { Fault } from "./events.ts"
import { retryAfter } from "./retryAfter.ts"
import type { Hide } from "./secrets.ts"
import { excerpt } from "./text.ts"
import { type Answer, verdictOf } from "./verdict.ts"

/** What is known of the request when it fails. */
export interface Circumstances {
  readonly baseUrl: string
  /** Milliseconds since 1970. */
  readonly now: number
  readonly hide: Hide
  readonly headers?: Headers | undefined
  readonly usage?: Usage | undefined
}

// ---------------------------------------------------------------------------------------------------------------------
// Before the response
// ---------------------------------------------------------------------------------------------------------------------

/** What the SDK threw instead of a response. */
export const fromSdk = (error: unknown, circumstances: Circumstances): ProviderError => {
  const { baseUrl, hide } = circumstances
  if (error instanceof APIUserAbortError) {
    return make({ reason: "aborted", message: "The request was aborted.", retryable: false, cause: error }, hide)
  }
  if (error instanceof APIConnectionTimeoutError) {
    const message = `There was no answer from ${baseUrl} in time. Check the network, or try again later.`
    return make({ reason: "network", message, retryable: true, cause: error }, hide)
  }
  if (error instanceof APIConnectionError) return unreachable(error, circumstances)
  if (!(error instanceof APIError)) {
    const message = `The request could not be made: ${describeDefect(error)}`
    return make({ reason: "invalidRequest", message, retryable: false, cause: error }, hide)
  }
  const { status, type, errorCode, apiMessage, message } = error
  const answer = {
    status,
    type: type ?? undefined,
    code: errorCode ?? undefined,
    message: apiMessage ?? withoutTags(message)
  }
  return answered(answer, { ...circumstances, headers: error.headers }, requestIdIn(error.error), error)
}

export const unreachable = (error: unknown, { baseUrl, hide }: Circumstances): ProviderError => {
  const code = codeOf(error)
  const hint =
    code !== undefined && isCertificate(code)
      ? "Its certificate is not trusted."
      : "Check the network and the base URL."
  const message = `Cannot reach ${baseUrl}${code === undefined ? "" : ` (${code})`}. ${hint}`
  return make({ reason: "network", message, retryable: code === undefined || !isCertificate(code), cause: error }, hide)
}

/** The code of the error that is at the bottom of it. */
const codeOf = (error: unknown): string | undefined => {
  let code: string | undefined
  for (let inner = error, depth = 0; Predicate.isObject(inner) && depth < 10; depth++) {
    if (Predicate.hasProperty(inner, "code") && typeof inner.code === "string") code = inner.code
    inner = Predicate.hasProperty(inner, "cause") ? inner.cause : undefined
  }
  return code
}

const isCertificate = (code: string): boolean => /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ERR_TLS/.test(code)

/** Servers between us and the API answer with pages. */
const withoutTags = (text: string): string =>
  text
    .slice(0, 10_000)
    .replace(/^\d{3} /, "")
    .replaceAll(/<(style|script|head)\b[\s\S]*?<\/\1>/gi, " ")
    .replaceAll(/<[^>]*>/g, " ")

// ---------------------------------------------------------------------------------------------------------------------
// During the response
// ---------------------------------------------------------------------------------------------------------------------

export const fromFault = (fault: Fault, circumstances: Circumstances): ProviderError => {
  switch (fault._tag) {
    case "Told":
      return fromBody(fault.body, circumstances)
    case "Broken": {
      const { what, data } = fault
      const told = data === undefined ? what : `${what}: ${excerpt(circumstances.hide(data))}`
      return broken(`The response makes no sense: ${told}`, circumstances)
    }
    case "Refused": {
      const message = ["The model refused to go on", fault.why].filter(Boolean).join(": ")
      const { hide, usage } = circumstances
      return make({ reason: "contentRefused", message, retryable: false, usage }, hide)
    }
  }
}

/** An error that came as an event, or with a status that says success. */
export const fromBody = (body: unknown, circumstances: Circumstances): ProviderError => {
  const error = memberOf(body, "error") ?? body
  const type = memberOf(error, "type")
  const code = memberOf(memberOf(error, "details"), "error_code")
  const message = memberOf(error, "message")
  return answered(
    {
      type: typeof type === "string" && type !== "error" ? type : undefined,
      code: typeof code === "string" ? code : undefined,
      message: typeof message === "string" ? message : typeof error === "string" ? error : JSON.stringify(error)
    },
    circumstances,
    requestIdIn(body)
  )
}

/** The body broke off, or reading it failed in another way. */
export const fromBodyFailure = (error: unknown, circumstances: Circumstances): ProviderError => {
  const code = codeOf(error)
  return code === "UND_ERR_BODY_TIMEOUT"
    ? idle(undefined, circumstances)
    : broken(`The connection to ${circumstances.baseUrl} broke during the response`, circumstances, error)
}

export const broken = (what: string, { headers, hide, usage }: Circumstances, cause?: unknown): ProviderError => {
  const message = `${what}${requestNote(headers?.get("request-id"))}.`
  return make({ reason: "brokenStream", message, retryable: true, usage, cause }, hide)
}

/** What answered is not the API: asking it again gives the same page. */
export const noStream = (what: string, { baseUrl, hide }: Circumstances): ProviderError => {
  const message = `${baseUrl} answered with ${what}, not with a response of a model. Check the base URL.`
  return make({ reason: "brokenStream", message, retryable: false }, hide)
}

/** As `noStream`, with the beginning of what it was. */
export const noEvents = (beginning: string, circumstances: Circumstances): ProviderError =>
  noStream(`"${excerpt(circumstances.hide(beginning))}"`, circumstances)

export const idle = (seconds: number | undefined, { baseUrl, hide, usage }: Circumstances): ProviderError => {
  const message = `There was nothing from ${baseUrl}${seconds === undefined ? "" : ` for ${seconds} seconds`}.`
  return make({ reason: "idle", message, retryable: true, usage }, hide)
}

// ---------------------------------------------------------------------------------------------------------------------
// What the API says
// ---------------------------------------------------------------------------------------------------------------------

const hints: Partial<Record<ProviderErrorReason, string>> = {
  authentication: "Check the API key.",
  quota: "Check the plan and the limits of the account.",
  permission: "Check what the API key may use.",
  notFound: "Check the name of the model, and the base URL."
}

const answered = (
  answer: Answer,
  { now, hide, headers, usage }: Circumstances,
  requestId: string | undefined,
  cause?: unknown
): ProviderError => {
  const [reason, retryable] = verdictOf(answer)
  const should = headers?.get("x-should-retry")
  const kind = [answer.status, answer.type].filter(Boolean).join(" ")
  const note = requestNote(headers?.get("request-id") ?? requestId)
  const told = excerpt(hide(answer.message)).replace(/[\s.]+$/, "")
  const message = [`The API answered: ${told}${kind && ` (${kind})`}${note}.`, hints[reason]].filter(Boolean).join(" ")
  return make(
    {
      reason,
      message,
      retryable: should === "true" || (should !== "false" && retryable),
      retryAfterMs: retryAfter(headers, now),
      usage,
      cause
    },
    hide
  )
}

const requestNote = (id: string | null | undefined): string => (id ? ` [request ${id}]` : "")

const requestIdIn = (body: unknown): string | undefined => {
  const id = memberOf(body, "request_id")
  return typeof id === "string" ? id : undefined
}

const memberOf = (value: unknown, name: string): unknown =>
  Predicate.hasProperty(value, name) ? value[name] : undefined

interface Fields {
  readonly reason: ProviderErrorReason
  readonly message: string
  readonly retryable: boolean
  readonly retryAfterMs?: number | undefined
  readonly usage?: Usage | undefined
  readonly cause?: unknown
}

const make = ({ reason, message, retryable, retryAfterMs, usage, cause }: Fields, hide: Hide): ProviderError => {
  const texts = textsOf(cause)
  return new ProviderError({
    reason,
    message: hide(message),
    retryable,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(usage !== undefined && { usage }),
    ...(cause !== undefined && hide(texts) === texts && { cause })
  })
}

/** All that a cause has to say, with what the SDK keeps in its errors. */
const textsOf = (cause: unknown, depth = 0): string => {
  if (!Predicate.isObject(cause) || depth > 10) return ""
  const answer = cause instanceof APIError ? JSON.stringify([cause.error, [...(cause.headers ?? [])]]) : ""
  return [String(cause), answer, textsOf(memberOf(cause, "cause"), depth + 1)].join("\n")
}
