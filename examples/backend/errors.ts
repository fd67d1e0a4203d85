/**
 * What can go wrong with a request, as JSON with the right status: `{ "error": "AgentBusy", "message": "…" }`.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { HttpServerError } from "effect/http/HttpServerError"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type { AgentBusy } from "effect-agent/Agent"
import type { ConversationNotFound, NotRunning, ShuttingDown } from "./Conversations.ts"

/** Bodies must say that they are JSON: a page of another site could send anything else in its reader's name. */
export class UnsupportedMediaType extends Schema.TaggedError<UnsupportedMediaType>()("UnsupportedMediaType", {}) {
  override get message() {
    return "The body of the request must be JSON, with the content type application/json."
  }
}

type Expected =
  | HttpServerError
  | Schema.SchemaError
  | UnsupportedMediaType
  | AgentBusy
  | ConversationNotFound
  | NotRunning
  | ShuttingDown

const respond = (status: number, error: string, message: string): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.jsonUnsafe({ error, message }, { status })

export const routeNotFound = respond(404, "RouteNotFound", "There is nothing here. See examples/backend/routes.ts.")

const responseOf = (error: Expected): HttpServerResponse.HttpServerResponse => {
  switch (error._tag) {
    case "HttpServerError": {
      const { reason } = error
      if (reason._tag !== "RequestParseError") return internal
      return reason.reason === "BodyTooLarge"
        ? respond(413, "BodyTooLarge", "The body of the request is too large.")
        : respond(400, "NotJson", "The body of the request is not JSON.")
    }
    case "SchemaError":
      return respond(400, "InvalidRequest", error.message)
    case "ConversationNotFound":
      return respond(404, error._tag, error.message)
    case "UnsupportedMediaType":
      return respond(415, error._tag, error.message)
    case "AgentBusy":
    case "NotRunning":
      return respond(409, error._tag, error.message)
    case "ShuttingDown":
      return respond(503, error._tag, error.message)
  }
}

const internal = respond(500, "Internal", "Something went wrong that was not foreseen.")

/** Answers what is expected to go wrong; what is not is written to the log. */
export const answerErrors = <R>(
  handler: Effect.Effect<HttpServerResponse.HttpServerResponse, Expected, R>
): Effect.Effect<HttpServerResponse.HttpServerResponse, never, R> =>
  handler.pipe(
    Effect.catch((error) => Effect.succeed(responseOf(error))),
    Effect.catchDefect((defect) => Effect.as(Effect.logError("A request died", defect), internal))
  )
