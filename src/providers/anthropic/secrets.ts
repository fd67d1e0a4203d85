/**
 * What must not be shown of a request: its key, and what headers have in place of one. A server, or a gateway before it, may
 * repeat either in whatever it answers.
 */
import * as Redacted from "effect/Redacted"
import type { Settings } from "./settings.ts"

/** Puts a sign in place of each secret in a text. */
export type Hide = (text: string) => string

export const hiding = (apiKey: Redacted.Redacted | undefined, headers: Settings["headers"]): Hide => {
  const secrets = [
    ...(apiKey === undefined ? [] : [Redacted.value(apiKey)]),
    ...Object.entries(headers).flatMap(([name, value]) =>
      isCredential(name) ? [value.replace(SCHEME, "").trim()] : []
    )
  ].filter(({ length }) => length >= LEAST)
  return (text) => secrets.reduce((hidden, secret) => hidden.replaceAll(secret, "<redacted>"), text)
}

/** Whether a header says who asks. */
const isCredential = (name: string): boolean => /^(proxy-)?authorization$|key|token|secret|cookie/.test(name)

const SCHEME = /^(bearer|basic)\s+/i

/** Shorter ones are no secrets, but what servers without keys are given, such as `none`; texts are full of them. */
const LEAST = 8
