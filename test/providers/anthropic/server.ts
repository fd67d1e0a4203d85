// A server that sends what a test says, byte by byte, and tells what it was asked and when its clients left.
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import * as Anthropic from "../../../src/providers/Anthropic.ts"

export interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into bodies of many shapes
  readonly body: any
}

/** Answers one request. The response can be written to for as long as the client stays. */
export type Answer = (response: ServerResponse) => void

export interface TestServer {
  readonly url: string
  readonly requests: ReadonlyArray<Received>
  /** The n-th request has arrived. */
  readonly asked: (n: number) => Effect.Effect<void>
  /** How the n-th response ended: as the server ended it, or because the client left. */
  readonly ended: (n: number) => Effect.Effect<"whole" | "left">
}

/** A server that answers the n-th request with the n-th answer. */
export const serve = (...answers: ReadonlyArray<Answer>) =>
  serveWith((n) => answers[n] ?? replies(599, "the test has no answer for this request"))

export const serveWith = (answerOf: (n: number, received: Received) => Answer) =>
  Effect.gen(function* () {
    const requests: Array<Received> = []
    const asked: Array<Deferred.Deferred<void>> = []
    const ended: Array<Deferred.Deferred<"whole" | "left">> = []
    const nth = <A>(deferreds: Array<Deferred.Deferred<A>>, n: number) => (deferreds[n] ??= Deferred.makeUnsafe<A>())
    const server = createServer((request, response) => {
      let body = ""
      request.setEncoding("utf8").on("data", (text: string) => (body += text))
      request.on("end", () => {
        const n = requests.length
        const received = {
          path: request.url!,
          headers: request.headers,
          body: body === "" ? undefined : JSON.parse(body)
        }
        requests.push(received)
        response.on("close", () => {
          Deferred.doneUnsafe(
            nth(ended, n),
            Effect.succeed(response.writableFinished ? ("whole" as const) : ("left" as const))
          )
        })
        answerOf(n, received)(response)
        Deferred.doneUnsafe(nth(asked, n), Effect.void)
      })
    })
    yield* Effect.acquireRelease(
      Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
      () =>
        Effect.callback<void>((resume) => {
          server.close(() => resume(Effect.void))
          server.closeAllConnections()
        })
    )
    const { port } = server.address() as AddressInfo
    return {
      url: `http://127.0.0.1:${port}`,
      requests,
      asked: (n) => Deferred.await(nth(asked, n)),
      ended: (n) => Deferred.await(nth(ended, n))
    } satisfies TestServer
  })

// ---------------------------------------------------------------------------------------------------------------------
// Answers
// ---------------------------------------------------------------------------------------------------------------------

/** A stream of events, whole. */
export const streams =
  (body: string | Uint8Array, headers: Record<string, string> = {}): Answer =>
  (response) =>
    void response.writeHead(200, { "content-type": "text/event-stream", ...headers }).end(body)

/** A stream of events that stays open after its beginning, for as long as the client does. */
export const stalls =
  (beginning: string): Answer =>
  (response) =>
    void response.writeHead(200, { "content-type": "text/event-stream" }).write(beginning)

/** A stream of events whose connection breaks after its beginning. */
export const breaks =
  (beginning: string): Answer =>
  (response) =>
    void response
      .writeHead(200, { "content-type": "text/event-stream" })
      .write(beginning, () => response.socket?.destroy())

/** A stream of events that is written in pieces, each on its own. */
export const dribbles =
  (pieces: Iterable<Uint8Array>): Answer =>
  (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" })
    const rest = pieces[Symbol.iterator]()
    const write = () => {
      const { done, value } = rest.next()
      if (done === true) response.end()
      else response.write(value, () => setImmediate(write))
    }
    write()
  }

/** A whole response with a status and a body of JSON, or of the type that is given. */
export const replies =
  (status: number, body: unknown, headers: Record<string, string> = {}): Answer =>
  (response) =>
    void response
      .writeHead(status, { "content-type": "application/json", ...headers })
      .end(typeof body === "string" ? body : JSON.stringify(body))

/** An error as the API tells it. */
export const fails = (status: number, type: string, message: string, headers?: Record<string, string>): Answer =>
  replies(status, { type: "error", error: { type, message }, request_id: "req_body" }, headers)

// ---------------------------------------------------------------------------------------------------------------------
// The provider
// ---------------------------------------------------------------------------------------------------------------------

export const KEY = "sk-ant-test-0123456789"

/** The provider that asks a server. */
export const providerOf = ({ url }: { readonly url: string }, options: Anthropic.Options = {}) =>
  Anthropic.make({ apiKey: Redacted.make(KEY), baseUrl: url, ...options })
