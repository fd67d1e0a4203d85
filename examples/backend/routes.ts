/**
 * The routes. A client that goes away ends its response and nothing else; a run ends by itself or by an abort.
 *
 *     POST /conversations/:id/prompt   { "text": "…" }   starts a run: its events
 *     POST /conversations/:id/steer    { "text": "…" }   a message that the model sees before its next response
 *     POST /conversations/:id/abort                      ends the run
 *     GET  /conversations/:id/state                      the state
 *     GET  /conversations/:id/events                     the state, and every event from now on
 */
import * as ByteSize from "effect/ByteSize"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as HttpIncomingMessage from "effect/http/HttpIncomingMessage"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { Conversations } from "./Conversations.ts"
import { answerErrors, routeNotFound, UnsupportedMediaType } from "./errors.ts"
import * as events from "./events.ts"

/** The greatest length of a request's body. */
export const MAX_BODY = ByteSize.kibibytes(256)

const id = HttpRouter.schemaPathParams(
  Schema.Struct({ id: Schema.String.check(Schema.isPattern(/^[\w-]{1,64}$/)) })
).pipe(Effect.map(({ id }) => id))

const body = HttpServerRequest.schemaBodyJson(Schema.Struct({ text: Schema.String.check(Schema.isNonEmpty()) })).pipe(
  Effect.provideService(HttpIncomingMessage.MaxBodySize, MAX_BODY)
)

const text = Effect.gen(function* () {
  const { headers } = yield* HttpServerRequest.HttpServerRequest
  if (!/^application\/json\b/i.test(headers["content-type"] ?? "")) return yield* new UnsupportedMediaType()
  return (yield* body).text
})

const prompt = Effect.gen(function* () {
  const { prompt } = yield* Conversations
  return events.run(yield* prompt(yield* id, yield* text))
})

const steer = Effect.gen(function* () {
  const { steer } = yield* Conversations
  yield* steer(yield* id, yield* text)
  return HttpServerResponse.empty({ status: 202 })
})

const abort = Effect.gen(function* () {
  const { get } = yield* Conversations
  const agent = yield* get(yield* id)
  yield* agent.abort
  return HttpServerResponse.empty({ status: 202 })
})

const state = Effect.gen(function* () {
  const { get } = yield* Conversations
  const agent = yield* get(yield* id)
  return HttpServerResponse.jsonUnsafe(events.view(yield* agent.state))
})

const watch = Effect.gen(function* () {
  const { get } = yield* Conversations
  const agent = yield* get(yield* id)
  const watched = yield* agent.watch
  return events.watched(watched.state, watched.events)
})

export const routes = Layer.mergeAll(
  HttpRouter.add("POST", "/conversations/:id/prompt", answerErrors(prompt)),
  HttpRouter.add("POST", "/conversations/:id/steer", answerErrors(steer)),
  HttpRouter.add("POST", "/conversations/:id/abort", answerErrors(abort)),
  HttpRouter.add("GET", "/conversations/:id/state", answerErrors(state)),
  HttpRouter.add("GET", "/conversations/:id/events", answerErrors(watch)),
  HttpRouter.add("*", "/*", routeNotFound)
)
