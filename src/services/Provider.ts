/**
 * The contract of a model provider: a request in, a stream of response events out.
 *
 * A provider tells what happened and keeps no message: the loop folds its events, so that providers cannot disagree about
 * partial messages. It fails in one way, with a `ProviderError`.
 */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as AgentEvent from "../AgentEvent.ts"
import * as Message from "../Message.ts"
import type * as Tool from "../Tool.ts"

// ---------------------------------------------------------------------------------------------------------------------
// Models
// ---------------------------------------------------------------------------------------------------------------------

/** A model by its id, and the name of the provider that serves it. */
export const Model = Schema.Struct({ id: Schema.String, provider: Schema.String })
export interface Model extends Schema.Schema.Type<typeof Model> {}

export const ThinkingLevel = Schema.Literals(["off", "minimal", "low", "medium", "high", "xhigh"])
export type ThinkingLevel = typeof ThinkingLevel.Type

/**
 * One request to a model. `tools` is absent when the run has no tool list at all, `thinkingLevel` when no thinking is
 * asked for (never `off`). The messages do not change after the call.
 */
export interface ProviderRequest {
  readonly systemPrompt: string | undefined
  readonly messages: ReadonlyArray<Message.LlmMessage>
  readonly tools: ReadonlyArray<Tool.Declaration> | undefined
  readonly model: Model
  readonly thinkingLevel: Exclude<ThinkingLevel, "off"> | undefined
  readonly apiKey: Redacted.Redacted | undefined
}

/**
 * What a provider streams: `start` when the response begins, then blocks, each with a start, deltas and an end that may
 * interleave with those of other blocks, and `done` at the end. A stream that closes without `done` is an error.
 *
 * `start` may name the model that was asked. The message is then of that model, and not of the one of the run's request,
 * which may have been turned into another on its way (a fallback): what only one model can read must not go to another.
 */
export const ProviderEvent = Schema.Union([
  Schema.Struct({ type: Schema.tag("start"), model: Schema.optionalKey(Model) }),
  AgentEvent.TextStart,
  AgentEvent.TextDelta,
  Schema.Struct({ type: Schema.tag("text_end"), contentIndex: Schema.Int }),
  AgentEvent.ThinkingStart,
  AgentEvent.ThinkingDelta,
  Schema.Struct({
    type: Schema.tag("thinking_end"),
    contentIndex: Schema.Int,
    signature: Schema.optionalKey(Schema.String)
  }),
  AgentEvent.ToolCallStart,
  AgentEvent.ToolCallDelta,
  Schema.Struct({ type: Schema.tag("toolcall_end"), contentIndex: Schema.Int }),
  AgentEvent.OtherBlock,
  Schema.Struct({
    type: Schema.tag("done"),
    reason: Schema.Literals(["stop", "length", "toolUse"]),
    stopDetail: Schema.optionalKey(Message.StopDetail),
    usage: Schema.optionalKey(Message.Usage)
  })
])
export type ProviderEvent = typeof ProviderEvent.Type

// ---------------------------------------------------------------------------------------------------------------------
// Errors
// ---------------------------------------------------------------------------------------------------------------------

/** Why a provider failed. `aborted` is a failure that is the abort of the request, not a fault. */
export const ProviderErrorReason = Schema.Literals([
  "aborted",
  "authentication",
  "permission",
  "quota",
  "rateLimit",
  "overloaded",
  "notFound",
  "invalidRequest",
  "contextWindow",
  "contentRefused",
  "network",
  "brokenStream",
  "idle",
  "internal",
  "unknown"
])
export type ProviderErrorReason = typeof ProviderErrorReason.Type

/**
 * The one way for a provider to fail. `message` can be shown to a person; `retryable` says whether the same request may
 * succeed later, `retryAfterMs` how many milliseconds the provider asks to wait before; `usage` is what the failed
 * request has cost so far.
 */
export class ProviderError extends Schema.TaggedError<ProviderError>()("ProviderError", {
  reason: ProviderErrorReason,
  message: Schema.String,
  retryable: Schema.Boolean,
  retryAfterMs: Schema.optionalKey(Schema.Finite),
  usage: Schema.optionalKey(Message.Usage),
  cause: Schema.optionalKey(Schema.Defect())
}) {}

// ---------------------------------------------------------------------------------------------------------------------
// Service
// ---------------------------------------------------------------------------------------------------------------------

export class Provider extends Context.Service<
  Provider,
  {
    /**
     * Asks the model. The request is made when the stream is first pulled; closing the stream's scope closes the
     * connection. After `done` nothing more is pulled.
     */
    readonly stream: (request: ProviderRequest) => Stream.Stream<ProviderEvent, ProviderError>
  }
>()("effect-agent/services/Provider") {}

// ---------------------------------------------------------------------------------------------------------------------
// Routes
// ---------------------------------------------------------------------------------------------------------------------

type Routes = Readonly<Record<string, Layer.Layer<Provider, unknown, unknown>>>
type Route<R extends Routes> = R[keyof R]

/**
 * One provider made of several: each request goes to the one that has the name of its `model.provider`, so that a run may
 * change its model. A request for a name that is not there fails as `notFound`. Responses name the model that was asked here.
 */
export const route = <const R extends Routes>(
  routes: R
): Layer.Layer<Provider, Layer.Error<Route<R>>, Layer.Services<Route<R>>> =>
  routeEntries(
    Object.entries(routes) as ReadonlyArray<
      readonly [string, Layer.Layer<Provider, Layer.Error<Route<R>>, Layer.Services<Route<R>>>]
    >
  )

const routeEntries = <E, R>(
  entries: ReadonlyArray<readonly [name: string, layer: Layer.Layer<Provider, E, R>]>
): Layer.Layer<Provider, E, R> =>
  Layer.effect(
    Provider,
    Effect.gen(function* () {
      const providers = new Map<string, Provider["Service"]>()
      for (const [name, layer] of entries) providers.set(name, Context.get(yield* Layer.build(layer), Provider))
      return {
        stream: (request) => {
          const { model } = request
          const provider = providers.get(model.provider)
          return provider === undefined
            ? Stream.fail(noRoute(model, providers.keys()))
            : Stream.mapArray(provider.stream(request), (events) => named(events, model))
        }
      }
    })
  )

/** The same events, with the model in a `start` that names none. Providers begin with it. */
const named = (events: NonEmptyReadonlyArray<ProviderEvent>, model: Model): NonEmptyReadonlyArray<ProviderEvent> => {
  const [first] = events
  return first.type === "start" && first.model === undefined ? [{ ...first, model }, ...events.slice(1)] : events
}

const noRoute = ({ id, provider }: Model, names: Iterable<string>): ProviderError =>
  new ProviderError({
    reason: "notFound",
    message: `There is no provider "${provider}" for the model "${id}"; there is ${[...names].join(", ") || "none at all"}.`,
    retryable: false
  })
