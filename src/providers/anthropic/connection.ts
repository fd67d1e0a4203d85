/**
 * One request over the network. The SDK authenticates it, sends it and turns a status that is no success into an error;
 * nothing of it is asked for again here. Closing the scope closes the connection.
 */
import { Anthropic } from "@anthropic-ai/sdk"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { env } from "node:process"
import type { ProviderError } from "../../services/Provider.ts"
import { type Circumstances, fromSdk } from "./errors.ts"
import type { Prepared } from "./request.ts"
import type { Settings } from "./settings.ts"

export interface Connection {
  readonly signal: AbortSignal
  readonly abort: () => void
  /** The response was read to its last event: what is left is the end of the body, after which the connection can be used again. */
  readonly release: (reader: ReadableStreamDefaultReader<Uint8Array>) => void
}

export const open: Effect.Effect<Connection, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => {
    const controller = new AbortController()
    let isReleased = false
    return {
      signal: controller.signal,
      abort: () => controller.abort(),
      release: (reader: ReadableStreamDefaultReader<Uint8Array>) => {
        isReleased = true
        const close = () => controller.abort()
        reader.read().then(close, close)
        AbortSignal.timeout(LINGER_MS).addEventListener("abort", close)
      },
      close: () => {
        if (!isReleased) controller.abort()
      }
    }
  }),
  ({ close }) => Effect.sync(close)
)

/** How long a server may take to end a body whose last event it has sent. */
const LINGER_MS = 1_000

export const send = (
  { params, betas }: Prepared,
  settings: Settings,
  apiKey: Redacted.Redacted | undefined,
  signal: AbortSignal,
  circumstances: () => Circumstances
): Effect.Effect<Response, ProviderError> =>
  Effect.tryPromise({
    try: () =>
      clientOf(settings, apiKey)
        .post("/v1/messages", {
          body: params,
          stream: true,
          signal,
          headers: betas.length > 0 ? { [BETA]: [settings.headers[BETA] ?? [], betas].flat().join(",") } : {}
        })
        .asResponse(),
    catch: (error) => fromSdk(error, circumstances())
  })

/** Somebody may have put features into a header of their own. */
const BETA = "anthropic-beta"

/**
 * A client for one request, since each may have a key of its own. It is made with a key in any case: without one the SDK
 * would look for credentials in the user's files. `post` is the request without the deprecation notices that
 * `messages.create` prints.
 */
export const clientOf = ({ baseUrl, headers, fetch }: Settings, apiKey: Redacted.Redacted | undefined): Anthropic =>
  new Anthropic({
    apiKey: apiKey === undefined ? "none" : Redacted.value(apiKey),
    baseURL: baseUrl,
    defaultHeaders: {
      ...noneOfTheEnvironment(),
      ...(apiKey === undefined && !("authorization" in headers) && { authorization: null }),
      ...headers
    },
    maxRetries: 0,
    timeout: MAX_TIMEOUT,
    logLevel: "off",
    openTelemetry: false,
    ...(fetch && { fetch })
  })

/**
 * The SDK adds the headers of the environment to those that it is given, whoever the server is. A name without a value takes
 * its header out again.
 */
const noneOfTheEnvironment = (): Record<string, undefined> =>
  Object.fromEntries(
    (env["ANTHROPIC_CUSTOM_HEADERS"] ?? "").split("\n").map((line) => [line.split(":", 1)[0]!.trim(), undefined])
  )

/** How long a server may be silent is watched elsewhere. */
const MAX_TIMEOUT = 2 ** 31 - 1
