/**
 * A small deterministic stand-in for a model, for a machine without an API key: it understands a handful of plain
 * English requests about the files of a folder, calls the tools `read`, `ls`, `grep` and `bash` as a model would, and
 * answers by quoting and counting what they gave. It invents nothing, and says what it is.
 *
 * What it says is decided in offline/plan.ts, a pure function of the request; to teach it something, see
 * offline/intents.ts. No model is asked and nothing is used, so that its usage is zero.
 */
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { type Model, Provider, type ProviderEvent, type ProviderRequest } from "../services/Provider.ts"
import { plan } from "./offline/plan.ts"
import type { Call } from "./offline/recipe.ts"
import { countCalls } from "./offline/transcript.ts"

export const model: Model = { id: "offline", provider: "offline" }

/** Answers at once: deltas of a word or two, some in each array. */
export const layer: Layer.Layer<Provider> = Layer.succeed(Provider, {
  stream: (request) =>
    Stream.suspend(() => Stream.fromIterable(respond(request)).pipe(Stream.rechunk(EVENTS_PER_ARRAY)))
})

const EVENTS_PER_ARRAY = 8

const respond = (request: ProviderRequest): ReadonlyArray<ProviderEvent> => {
  const reply = plan(request)
  if (reply._tag === "Text") {
    return [{ type: "start" }, ...textEvents(reply.text), { type: "done", reason: "stop" }]
  }
  const before = countCalls(request.messages)
  return [
    { type: "start" },
    ...reply.calls.flatMap((call, index) => callEvents(call, index, `offline_${before + index + 1}`)),
    { type: "done", reason: "toolUse" }
  ]
}

const textEvents = (text: string): ReadonlyArray<ProviderEvent> => [
  { type: "text_start", contentIndex: 0 },
  ...pieces(text).map((delta) => ({ type: "text_delta" as const, contentIndex: 0, delta })),
  { type: "text_end", contentIndex: 0 }
]

const callEvents = (call: Call, contentIndex: number, id: string): ReadonlyArray<ProviderEvent> => [
  { type: "toolcall_start", contentIndex, id, name: call.name },
  ...pieces(JSON.stringify(call.arguments)).map((delta) => ({ type: "toolcall_delta" as const, contentIndex, delta })),
  { type: "toolcall_end", contentIndex }
]

/** A text in words with the blanks before them; what has no blanks, in pieces that end between characters. */
const pieces = (text: string): ReadonlyArray<string> => text.match(/\s*\S{1,24}|\s+/gu) ?? []
