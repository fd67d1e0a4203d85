/**
 * The key of a request, and whether the request can be sent at all. What no header can carry is told without showing it:
 * the errors of `fetch` would quote a key that ends with a line feed.
 */
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import { ProviderError, type ProviderErrorReason, type ProviderRequest } from "../../services/Provider.ts"
import { isAnthropic, type Settings } from "./settings.ts"

/** The key of the run, else that of the provider, else none: other servers than Anthropic's may not need one. */
export const keyFor = (
  request: Pick<ProviderRequest, "apiKey">,
  { apiKey, baseUrl, headers }: Settings
): Result.Result<Redacted.Redacted | undefined, ProviderError> => {
  if (!URL.canParse(baseUrl) || !/^https?:$/.test(new URL(baseUrl).protocol)) {
    return refuse("invalidRequest", "The base URL is not a URL that begins with http:// or https://.")
  }
  if (/[?#]/.test(baseUrl)) return refuse("invalidRequest", "The base URL must not have a query (?) or a fragment (#).")
  if (new URL(baseUrl).username !== "" || new URL(baseUrl).password !== "") {
    return refuse(
      "invalidRequest",
      "The base URL must not have a user name and a password in it: give them in a header."
    )
  }
  const unsendable = Object.keys(headers).find((name) => !isToken(name) || !isSendable(headers[name]!))
  if (unsendable !== undefined) {
    return refuse("invalidRequest", `The header ${JSON.stringify(unsendable)} has characters that cannot be sent.`)
  }
  const key = Redacted.value(request.apiKey ?? apiKey ?? none).trim()
  if (key !== "") {
    return isSendable(key)
      ? Result.succeed(Redacted.make(key))
      : refuse("authentication", "The API key has characters that cannot be sent. It must be one line of plain text.")
  }
  const isAuthenticated = "authorization" in headers || "x-api-key" in headers
  return isAnthropic(baseUrl) && !isAuthenticated
    ? refuse("authentication", "There is no API key for Anthropic. Set ANTHROPIC_API_KEY, or give the run a key.")
    : Result.succeed(undefined)
}

const none = Redacted.make("")

const refuse = (reason: ProviderErrorReason, message: string): Result.Result<never, ProviderError> =>
  Result.fail(new ProviderError({ reason, message, retryable: false }))

const isSendable = (value: string): boolean => /^[\t\u0020-\u007e\u0080-\u00ff]*$/.test(value)

const isToken = (name: string): boolean => /^[!#$%&'*+.^_`|~0-9a-zA-Z-]+$/.test(name)
