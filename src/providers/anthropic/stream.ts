/**
 * A response as a stream of provider events: each network read gives one array of them.
 *
 * A response is complete with its last event and not before: a body that ends without it has broken off. However the
 * stream ends, its connection is closed or free for the next request, and nothing goes on.
 */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Pull from "effect/Pull"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import type { ProviderError, ProviderEvent, ProviderRequest } from "../../services/Provider.ts"
import * as Prices from "../Prices.ts"
import { keyFor } from "./access.ts"
import * as Connection from "./connection.ts"
import { notice } from "./deprecation.ts"
import * as Errors from "./errors.ts"
import { ResponseEvents } from "./events.ts"
import * as Idle from "./idle.ts"
import { inList } from "./list.ts"
import { prepare } from "./request.ts"
import { hiding } from "./secrets.ts"
import type { Settings } from "./settings.ts"
import { EventDecoder } from "./sse.ts"

export const stream = (request: ProviderRequest, settings: Settings): Stream.Stream<ProviderEvent, ProviderError> =>
  Stream.unwrap(ask(request, settings))

const ask = Effect.fnUntraced(function* (request: ProviderRequest, settings: Settings) {
  const apiKey = yield* Effect.fromResult(keyFor(request, settings))
  const info = settings.modelInfo(request.model.id) ?? (yield* inList(request, settings))
  const prepared = yield* Effect.fromResult(prepare(request, settings, info))
  yield* notice(request.model.id, settings.noticed)
  const clock = yield* Clock.Clock
  const connection = yield* Connection.open
  const watch = yield* Idle.watch(settings.idleLimit, connection.abort)
  let costOf: Prices.CostOf | undefined
  const priced = { provider: PRICE_LIST, model: request.model.id }
  const costNow = (tokens: Prices.Tokens) => costOf?.(priced, tokens, clock.currentTimeMillisUnsafe())
  const events = new ResponseEvents(costNow, request.model)
  let headers: Headers | undefined
  const hide = hiding(apiKey, settings.headers)
  const circumstances = (): Errors.Circumstances => ({
    baseUrl: settings.baseUrl,
    now: clock.currentTimeMillisUnsafe(),
    hide,
    headers,
    usage: events.usage
  })
  /** A wait that the watch has ended fails for no other reason. */
  const orIdle = (error: ProviderError) =>
    watch.isIdle() ? Errors.idle(settings.idleLimit / 1_000, circumstances()) : error
  const sent = Connection.send(prepared, settings, apiKey, connection.signal, circumstances)
  // The prices are read while the model makes the user wait.
  const [response, prices] = yield* Effect.all([Effect.mapError(sent, orIdle), Prices.load], { concurrency: 2 })
  costOf = prices
  headers = response.headers
  const type = response.headers.get("content-type") ?? ""
  if (/^(application\/json|text\/html)/i.test(type)) {
    const text = yield* Effect.tryPromise({
      try: () => response.text(),
      catch: (error) => orIdle(Errors.fromBodyFailure(error, circumstances()))
    })
    return yield* fromDocument(type, text, circumstances())
  }
  return Stream.fromPull(Effect.succeed(pullOf(response, { connection, watch, events, circumstances, orIdle })))
})

/** Whose prices count: also where others serve the models, theirs are not in the lists. */
const PRICE_LIST = "anthropic"

/** Some servers give an error the status of a success. What else is no stream is an answer of somebody else. */
const fromDocument = (type: string, text: string, circumstances: Errors.Circumstances): ProviderError => {
  const json = Result.try(() => JSON.parse(text) as unknown)
  const isError = Result.isSuccess(json) && typeof json.success === "object" && json.success !== null
  return isError && "error" in json.success
    ? Errors.fromBody(json.success, circumstances)
    : Errors.noStream(type, circumstances)
}

interface Reading {
  readonly connection: Connection.Connection
  readonly watch: Idle.IdleWatch
  readonly events: ResponseEvents
  readonly circumstances: () => Errors.Circumstances
  readonly orIdle: (error: ProviderError) => ProviderError
}

type Events = Pull.Pull<NonEmptyReadonlyArray<ProviderEvent>, ProviderError>

const pullOf = (response: Response, { connection, watch, events, circumstances, orIdle }: Reading): Events => {
  if (response.body === null) return Effect.fail(Errors.broken("The response has no body", circumstances()))
  const reader = response.body.getReader()
  const utf8 = new TextDecoder()
  const decoder = new EventDecoder((name, data) => events.take(name, data))
  let beginning = ""

  const ended = (): ProviderError => {
    if (events.hasBegun) return Errors.broken(BROKEN_OFF, circumstances())
    return beginning === ""
      ? Errors.broken("The response is empty", circumstances())
      : Errors.noEvents(beginning, circumstances())
  }

  const take = (bytes: Uint8Array): Events => {
    const text = utf8.decode(bytes, { stream: true })
    decoder.feed(text)
    if (!events.hasBegun) beginning = (beginning + text).slice(0, 1_000)
    if (events.wasActive()) watch.begin()
    const told = events.drain()
    if (told.length > 0) {
      watch.end()
      if (events.isOver) connection.release(reader)
      return Effect.succeed(told as unknown as NonEmptyReadonlyArray<ProviderEvent>)
    }
    if (events.fault !== undefined) return Effect.fail(Errors.fromFault(events.fault, circumstances()))
    return decoder.isTooLong ? Effect.fail(Errors.broken("An event of the response has no end", circumstances())) : next
  }

  const next: Events = Effect.flatMap(
    Effect.tryPromise({
      try: () => reader.read(),
      catch: (error) => orIdle(Errors.fromBodyFailure(error, circumstances()))
    }),
    ({ value }) => (value === undefined ? Effect.fail(ended()) : take(value))
  )

  return Effect.suspend(() => {
    if (events.isOver) return Cause.done()
    if (events.fault !== undefined) return Effect.fail(Errors.fromFault(events.fault, circumstances()))
    watch.begin()
    return next
  })
}

const BROKEN_OFF = "The response broke off: its stream ended before its last event"
