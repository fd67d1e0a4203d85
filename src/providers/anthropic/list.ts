/**
 * The models that the API itself lists, with what they can do. What it does not say of a model is as in the table; what
 * neither of them says is not known.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import { ProviderError, type ProviderRequest } from "../../services/Provider.ts"
import { keyFor } from "./access.ts"
import { clientOf } from "./connection.ts"
import { fromSdk, unreachable } from "./errors.ts"
import { type Effort, inTable, type ListedModel, lookup, type ModelInfo } from "./models.ts"
import { hiding } from "./secrets.ts"
import type { Settings } from "./settings.ts"
import { textOf, type Wire, wireOf } from "./wire.ts"

/** Asks for the list, page by page. */
export const list = Effect.fnUntraced(function* (
  settings: Settings,
  request: Pick<ProviderRequest, "apiKey"> = { apiKey: undefined }
): Effect.fn.Return<ReadonlyArray<ListedModel>, ProviderError> {
  const apiKey = yield* Effect.fromResult(keyFor(request, settings))
  const client = clientOf(settings, apiKey)
  const clock = yield* Clock.Clock
  const { baseUrl, headers } = settings
  const hide = hiding(apiKey, headers)
  const circumstances = () => ({ baseUrl, now: clock.currentTimeMillisUnsafe(), hide })
  const page = (after: string | undefined) =>
    Effect.tryPromise({
      try: (signal) =>
        client.get("/v1/models", { query: { limit: PAGE, ...(after && { after_id: after }) }, signal }).asResponse(),
      catch: (error) => fromSdk(error, circumstances())
    }).pipe(
      Effect.flatMap((response) =>
        // A body that breaks off is the network, not the answer of a server that has no list.
        Effect.tryPromise({ try: () => response.text(), catch: (error) => unreachable(error, circumstances()) })
      ),
      Effect.timeoutOrElse({ duration: TIMEOUT, orElse: () => Effect.fail(tooLate(baseUrl)) }),
      Effect.map((text) => Result.getOrUndefined(Result.try(() => JSON.parse(text) as unknown)))
    )
  const models: Array<ListedModel> = []
  let after: string | undefined
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const { data, has_more: hasMore, last_id: last } = wireOf(yield* page(after))
    if (!Array.isArray(data)) return yield* noList(baseUrl)
    models.push(
      ...data
        .map(wireOf)
        .map(listed)
        .filter(({ id }) => id !== "")
    )
    after = textOf(last)
    if (hasMore !== true || after === "") break
  }
  return models
})

/**
 * What the list has of a model. It is asked for once in the life of a provider: a request does not fail for want of it, nor
 * wait for it for long, and what it does not say in time is not known.
 */
export const inList = Effect.fnUntraced(function* (
  request: Pick<ProviderRequest, "apiKey" | "model">,
  settings: Settings
): Effect.fn.Return<ModelInfo | undefined> {
  const { listing } = settings
  const ask = Effect.gen(function* () {
    if (listing.models !== undefined) return
    const listed = yield* Effect.timeoutOption(
      Effect.orElseSucceed(list(settings, request), () => []),
      PATIENCE
    )
    listing.models = Option.getOrElse(listed, () => [])
  })
  yield* listing.turn.withPermit(ask)
  return listing.models?.find(({ id }) => id === request.model.id)?.info
})

/** How long a request waits for the list. */
const PATIENCE = Duration.seconds(3)

/** As many as a page can have. */
const PAGE = 1_000
const MAX_PAGES = 20
const TIMEOUT = Duration.seconds(10)

const tooLate = (baseUrl: string) =>
  new ProviderError({
    reason: "network",
    message: `There was no list of models from ${baseUrl} for ${Duration.toSeconds(TIMEOUT)} seconds. Check the network.`,
    retryable: true
  })

const noList = (baseUrl: string) =>
  new ProviderError({
    reason: "notFound",
    message: `${baseUrl} has no list of models. Check the base URL.`,
    retryable: false
  })

const listed = (model: Wire): ListedModel => {
  const id = textOf(model["id"])
  return {
    id,
    name: textOf(model["display_name"]) || undefined,
    info: infoOf(id, model),
    lifecycle: textOf(model["lifecycle"]) || undefined,
    retiresAt: textOf(model["retires_at"]) || undefined
  }
}

const infoOf = (id: string, model: Wire): ModelInfo | undefined => {
  const capabilities = wireOf(model["capabilities"])
  const [contextWindow, maxTokens] = [countOf(model["max_input_tokens"]), countOf(model["max_tokens"])]
  const isTold = contextWindow !== undefined || maxTokens !== undefined || Object.keys(capabilities).length > 0
  const known = inTable(id)
  if (!isTold) return known
  const info = known ?? lookup(id)
  return {
    ...info,
    contextWindow: contextWindow ?? info.contextWindow,
    maxTokens: maxTokens ?? info.maxTokens,
    images: supports(capabilities["image_input"]) ?? info.images,
    ...thinkingOf(wireOf(capabilities["thinking"])),
    efforts: effortsOf(capabilities["effort"]) ?? info.efforts
  }
}

const thinkingOf = (thinking: Wire): Partial<Pick<ModelInfo, "thinking" | "thinkingOff">> => {
  const canThink = supports(thinking)
  if (canThink === undefined) return {}
  const accepts = (type: string) => supports(wireOf(thinking["types"])[type]) === true
  const off = accepts("disabled") ? "disabled" : accepts("between_tools") ? "between_tools" : undefined
  if (!canThink) return { thinking: "none", thinkingOff: off ?? "omit" }
  return { thinking: accepts("adaptive") ? "adaptive" : "budget", thinkingOff: off ?? "never" }
}

const efforts: ReadonlyArray<Effort> = ["low", "medium", "high", "xhigh", "max"]

const effortsOf = (effort: unknown): ReadonlyArray<Effort> | undefined =>
  supports(effort) === undefined ? undefined : efforts.filter((level) => supports(wireOf(effort)[level]))

const supports = (capability: unknown): boolean | undefined => {
  const { supported } = wireOf(capability)
  return typeof supported === "boolean" ? supported : undefined
}

const countOf = (value: unknown): number | undefined => (typeof value === "number" && value > 0 ? value : undefined)
