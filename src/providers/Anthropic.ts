/**
 * Models behind the Messages API: those of Anthropic, and of every server that speaks it by its base URL.
 *
 * Nothing of it is loaded before the first request, and nothing is asked for twice: what fails says whether that can help.
 */
import * as Config from "effect/Config"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Record from "effect/Record"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as Stream from "effect/Stream"
import { Provider, type ProviderError } from "../services/Provider.ts"
import { inTable, type ListedModel, type ModelInfo } from "./anthropic/models.ts"
import { BASE_URL, type Settings } from "./anthropic/settings.ts"
import { FETCH_LIMIT, patientFetch } from "./anthropic/transport.ts"

export { type ListedModel, type ModelInfo, modelTable, TABLE_DATE } from "./anthropic/models.ts"

// ---------------------------------------------------------------------------------------------------------------------
// Options
// ---------------------------------------------------------------------------------------------------------------------

export interface Options {
  /** The key of requests that bring none of their own. It is sent as a bearer token. */
  readonly apiKey?: Redacted.Redacted | undefined
  /** Where the API is, without `/v1`. Anthropic's own by default. */
  readonly baseUrl?: string | undefined
  /** Headers of each request. An `authorization` or `x-api-key` among them takes the place of a key. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Features that the API has on trial (`anthropic-beta`). */
  readonly betas?: ReadonlyArray<string> | undefined
  /** How long the API keeps what requests begin with: five minutes by default, an hour for twice the price, or `off`. */
  readonly cache?: "5m" | "1h" | "off" | undefined
  /** The greatest number of tokens of a response, thinking included. By default what the model can do. */
  readonly maxTokens?: number | undefined
  /** How long a response may be silent before it fails as `idle`: 5 minutes by default, 0 for ever. */
  readonly idleLimit?: Duration.Input | undefined
  /**
   * Knows models better than the table that is built in. The first request for a model that neither of them knows asks the
   * API for its list, and goes by what can be relied on where that does not help.
   */
  readonly modelInfo?: ((id: string) => ModelInfo | undefined) | undefined
}

export const DEFAULT_IDLE_LIMIT = Duration.minutes(5)

// ---------------------------------------------------------------------------------------------------------------------
// Provider
// ---------------------------------------------------------------------------------------------------------------------

export const make = Effect.fnUntraced(function* (
  options: Options = {}
): Effect.fn.Return<Provider["Service"], never, Scope.Scope> {
  const settings = yield* settingsOf(options)
  const load = Effect.promise(() => import("./anthropic/stream.ts"))
  return {
    stream: (request) => Stream.unwrap(Effect.map(load, ({ stream }) => stream(request, settings)))
  }
})

const settingsOf = Effect.fnUntraced(function* (options: Options): Effect.fn.Return<Settings, never, Scope.Scope> {
  const idleLimit = Duration.toMillis(options.idleLimit ?? DEFAULT_IDLE_LIMIT)
  return {
    apiKey: options.apiKey,
    baseUrl: (options.baseUrl ?? BASE_URL).trim(),
    headers: Record.mapKeys(options.headers ?? {}, (name) => name.toLowerCase()),
    betas: options.betas ?? [],
    cache: options.cache ?? "5m",
    maxTokens: options.maxTokens,
    idleLimit: Number.isFinite(idleLimit) ? idleLimit : 0,
    modelInfo: (id) => options.modelInfo?.(id) ?? inTable(id),
    listing: { models: undefined, turn: yield* Semaphore.make(1) },
    noticed: new Set(),
    fetch: idleLimit > 0 && idleLimit <= FETCH_LIMIT ? undefined : yield* patientFetch
  }
})

export const layerWith = (options?: Options): Layer.Layer<Provider> => Layer.effect(Provider, make(options))

// ---------------------------------------------------------------------------------------------------------------------
// Models
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Asks the API which models it has, and what they can do. Where it cannot be asked, `modelTable` has what was known at
 * `TABLE_DATE`.
 */
export const models = (options: Options = {}): Effect.Effect<ReadonlyArray<ListedModel>, ProviderError> =>
  Effect.scoped(
    Effect.gen(function* () {
      const settings = yield* settingsOf(options)
      const { list } = yield* Effect.promise(() => import("./anthropic/list.ts"))
      return yield* list(settings)
    })
  )

// ---------------------------------------------------------------------------------------------------------------------
// Config
// ---------------------------------------------------------------------------------------------------------------------

const ifSet = (name: string) =>
  Config.map(
    Config.option(Config.String(name)),
    Option.filter((text) => text.trim() !== "")
  )

const secret = (name: string) =>
  Config.map(
    Config.option(Config.Redacted(name)),
    Option.filter((key) => Redacted.value(key).trim() !== "")
  )

/**
 * The variables of the SDK: `ANTHROPIC_API_KEY` (or `ANTHROPIC_AUTH_TOKEN`), `ANTHROPIC_BASE_URL`,
 * `ANTHROPIC_CUSTOM_HEADERS` (lines of `name: value`) and, by commas, `ANTHROPIC_BETAS`.
 */
export const config: Config.Config<Options> = Config.map(
  Config.all({
    apiKey: secret("ANTHROPIC_API_KEY"),
    authToken: secret("ANTHROPIC_AUTH_TOKEN"),
    baseUrl: ifSet("ANTHROPIC_BASE_URL"),
    headers: ifSet("ANTHROPIC_CUSTOM_HEADERS"),
    betas: ifSet("ANTHROPIC_BETAS")
  }),
  ({ apiKey, authToken, baseUrl, headers, betas }) => ({
    apiKey: Option.getOrUndefined(Option.orElse(apiKey, () => authToken)),
    baseUrl: Option.getOrUndefined(baseUrl),
    headers: Option.getOrUndefined(Option.map(headers, parseHeaders)),
    betas: Option.getOrUndefined(
      Option.map(betas, (names) =>
        names
          .split(",")
          .map((name) => name.trim())
          .filter(Boolean)
      )
    )
  })
)

const parseHeaders = (lines: string): Record<string, string> =>
  Object.fromEntries(
    lines.split("\n").flatMap((line) => {
      const [, name, value] = /^([^:]+):(.*)$/.exec(line) ?? []
      return name === undefined ? [] : [[name.trim(), value!.trim()]]
    })
  )

export const layer: Layer.Layer<Provider, Config.ConfigError> = Layer.unwrap(Effect.map(config, layerWith))
