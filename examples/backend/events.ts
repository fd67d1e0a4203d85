/**
 * Events on the wire: server-sent events, each with its place in the response as id and JSON as data. What a client has
 * already been told is left out, so that a response of any length costs what it is long: of a `message_update` only what
 * it adds is sent, and the messages of `turn_end` and `agent_end` were in their `message_end`.
 */
import * as Stream from "effect/Stream"
import * as Sse from "effect/encoding/Sse"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type { EventsSkipped, Snapshot } from "effect-agent/Agent"
import type { AgentEvent } from "effect-agent/AgentEvent"

type Told = AgentEvent | EventsSkipped

/** What a client is sent for an event. */
export const slim = (event: Told) => {
  switch (event.type) {
    case "message_update":
      return { type: event.type, assistantMessageEvent: event.assistantMessageEvent }
    case "turn_end":
      return { type: event.type }
    case "agent_end":
      return { type: event.type, reason: event.reason, usage: event.usage }
    default:
      return event
  }
}

/** What a client may know of an agent's state. The system prompt and the tools are the server's business. */
export const view = ({ systemPrompt: _, tools: _tools, ...state }: Snapshot) => state

export type WireEvent = ReturnType<typeof slim> | { readonly type: "snapshot"; readonly state: ReturnType<typeof view> }

/** The events of a run, from its start to its end. */
export const run = (events: Stream.Stream<Told>): HttpServerResponse.HttpServerResponse =>
  respond(Stream.map(events, slim))

/** The state now, and every event after it. */
export const watched = (state: Snapshot, events: Stream.Stream<Told>): HttpServerResponse.HttpServerResponse =>
  respond(Stream.concat(Stream.make<[WireEvent]>({ type: "snapshot", state: view(state) }), Stream.map(events, slim)))

const respond = (events: Stream.Stream<WireEvent>): HttpServerResponse.HttpServerResponse => {
  let id = 0
  const encode = (event: WireEvent) =>
    Sse.encoder.write({ _tag: "Event", id: String(id++), event: "message", data: JSON.stringify(event) })
  return HttpServerResponse.stream(Stream.encodeText(Stream.map(events, encode)), {
    contentType: "text/event-stream",
    headers: { "cache-control": "no-cache", "x-accel-buffering": "no" }
  })
}
