// The example backend on a port of its own, scripted models for it, and a client that speaks HTTP to it over loopback.
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Agent, fetch, type Response } from "@effect/platform-node/Undici"
import { assert } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Sse from "effect/encoding/Sse"
import { createServer, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import * as Backend from "../../examples/backend/Backend.ts"
import type { view, WireEvent } from "../../examples/backend/events.ts"
import { Store } from "../../examples/backend/Store.ts"
import type { Message } from "../../src/Message.ts"
import * as Scripted from "../../src/providers/Scripted.ts"
import { Provider } from "../../src/services/Provider.ts"
import { Toolset } from "../../src/services/Toolset.ts"
import type * as Tool from "../../src/Tool.ts"
import { model, pause, say } from "./make.ts"

// ---------------------------------------------------------------------------------------------------------------------
// Models
// ---------------------------------------------------------------------------------------------------------------------

/** Where a response waits for the gate: what comes after it is not sent before. */
export const gate: ReadonlyArray<Scripted.Step> = [pause(0), say("|")]

/** Plays each conversation a script of its own, chosen by its first prompt; responses wait where they have a `gate`. */
export const scripts = (
  turns: (prompt: string) => ReadonlyArray<Scripted.Turn>,
  pass: Effect.Effect<void> = Effect.void
) => {
  const conversations = new Map<string, Scripted.Scripted["Service"]>()
  const of = (prompt: string) => {
    const scripted =
      conversations.get(prompt) ?? Effect.runSync(Scripted.make({ turns: turns(prompt) }, { arrays: Infinity }))
    conversations.set(prompt, scripted)
    return scripted
  }
  const provider: Provider["Service"] = {
    stream: (request) =>
      Stream.mapArrayEffect(of(textOf(request.messages[0]!)).stream(request), (events) => {
        const isHeld = events.some((event) => event.type === "text_delta" && event.delta === "|")
        return Effect.as(isHeld ? pass : Effect.void, events)
      })
  }
  return { provider, of }
}

/** The text of a message, without the marks of gates. */
export const textOf = (message: Message): string => {
  if (message.role === "notice") return message.text
  if (typeof message.content === "string") return message.content
  const text = message.content.map((block) => (block.type === "text" ? block.text : "")).join("")
  return text.replaceAll("|", "")
}

// ---------------------------------------------------------------------------------------------------------------------
// Server
// ---------------------------------------------------------------------------------------------------------------------

/** The system prompt, which is not for clients. */
export const SECRET = "You are secretive."

/**
 * Serves the backend until `scope` is closed, which is that of the test unless given. `responses` are those of the server,
 * in the order of their requests.
 */
export const serve = Effect.fnUntraced(function* (
  provider: Provider["Service"],
  tools: ReadonlyArray<Tool.Any<never>> = [],
  scope?: Scope.Scope
) {
  const server = createServer()
  const responses: Array<ServerResponse> = []
  server.on("request", (_, response) => responses.push(response))
  const backend = Backend.layer({
    agent: { model, systemPrompt: SECRET, gracePeriod: "200 millis" },
    idleTimeToLive: "1 minute"
  })
  const layer = backend.pipe(
    Layer.provide(NodeHttpServer.layer(() => server, { host: "127.0.0.1", port: 0 })),
    Layer.provideMerge(Store.memory),
    Layer.provide([Layer.succeed(Provider, provider), Toolset.layer(...tools)])
  )
  const context = yield* Layer.buildWithScope(layer, scope ?? (yield* Effect.scope))
  return { ...(yield* connect(server)), store: Context.get(context, Store), server, responses }
})

// ---------------------------------------------------------------------------------------------------------------------
// Client
// ---------------------------------------------------------------------------------------------------------------------

export interface Answer {
  readonly status: number
  readonly body: unknown
}

const connect = Effect.fnUntraced(function* (server: Server) {
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const dispatcher = yield* Effect.acquireRelease(
    Effect.sync(() => new Agent()),
    (agent) => Effect.promise(() => agent.destroy())
  )
  const request = (method: string, path: string, body?: string, headers = { "content-type": "application/json" }) =>
    Effect.promise(() =>
      fetch(`${origin}/conversations/${path}`, {
        method,
        dispatcher,
        ...(body !== undefined && { body, headers })
      })
    )

  const ask = Effect.fnUntraced(function* (...args: Parameters<typeof request>): Effect.fn.Return<Answer> {
    const response = yield* request(...args)
    const text = yield* Effect.promise(() => response.text())
    return { status: response.status, body: text === "" ? undefined : JSON.parse(text) }
  })

  const open = Effect.fnUntraced(function* (...args: Parameters<typeof request>) {
    const response = yield* request(...args)
    assert.deepStrictEqual(
      [response.status, response.headers.get("content-type")],
      [200, "text/event-stream"],
      yield* Effect.promise(() => (response.ok ? Promise.resolve("") : response.text()))
    )
    return read(response)
  })

  return {
    ask,
    prompt: (id: string, text: string) => open("POST", `${id}/prompt`, JSON.stringify({ text })),
    refused: (id: string, text: string) => ask("POST", `${id}/prompt`, JSON.stringify({ text })),
    steer: (id: string, text: string) => ask("POST", `${id}/steer`, JSON.stringify({ text })),
    abort: (id: string) => ask("POST", `${id}/abort`),
    watch: (id: string) => open("GET", `${id}/events`),
    state: (id: string) =>
      Effect.map(ask("GET", `${id}/state`), ({ status, body }) => {
        assert.strictEqual(status, 200)
        return body as ReturnType<typeof view>
      })
  }
})

/** The events of a response, as they come; ids count from 0. Leaving the stream breaks the connection. */
const read = (response: Response): Stream.Stream<WireEvent> => {
  let next = 0
  return Stream.fromReadableStream<Uint8Array, unknown>({
    evaluate: () => response.body as ReadableStream<Uint8Array>,
    onError: (error) => error
  }).pipe(
    Stream.decodeText(),
    Stream.pipeThroughChannel(Sse.decode({ maxEventSize: 2 ** 28 })),
    Stream.orDie,
    Stream.map(({ id, data }) => {
      assert.strictEqual(id, String(next++))
      return JSON.parse(data) as WireEvent
    })
  )
}

/** The text that was streamed. */
export const streamedText = (events: ReadonlyArray<WireEvent>): string =>
  events
    .map((event) =>
      event.type === "message_update" && event.assistantMessageEvent.type === "text_delta"
        ? event.assistantMessageEvent.delta
        : ""
    )
    .join("")
    .replaceAll("|", "")

/** The messages that were told whole. */
export const toldMessages = (events: ReadonlyArray<WireEvent>): ReadonlyArray<Message> =>
  events.flatMap((event) => (event.type === "message_end" ? [event.message] : []))
