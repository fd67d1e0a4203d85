// The scripted provider of a case (section 3), as turns of `Scripted`, one event an array.
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import * as Scripted from "../../src/providers/Scripted.ts"
import { Provider, ProviderError, type ProviderRequest } from "../../src/services/Provider.ts"
import { toUsage } from "./messages.ts"
import type { Observer } from "./observer.ts"
import type { ProviderStep } from "./scenario.ts"

export const make = Effect.fnUntraced(function* (
  turns: ReadonlyArray<ReadonlyArray<ProviderStep>>,
  observer: Observer
) {
  // A turn whose function fails has no stream, so the script never comes to it.
  const streamed = turns.filter(([first]) => first?.type !== "callThrow")
  const scripted = yield* Scripted.make({ turns: streamed.map(toTurn) }, { arrays: 1 })
  const observe = (request: ProviderRequest) => {
    const index = observer.requests.length
    observer.requests.push(recordOf(request))
    observer.called("provider", { request: index })
    return index
  }
  const streamTurn = (request: ProviderRequest) =>
    observe(request) < turns.length ? scripted.stream(request) : Stream.fail(noTurnLeft)
  return Provider.of({
    stream: (request) => {
      const [first] = turns[observer.requests.length] ?? []
      if (first?.type !== "callThrow") return Stream.suspend(() => streamTurn(request))
      // The function itself fails, before there is a stream.
      observe(request)
      throw new Error(first.message)
    }
  })
})

const noTurnLeft = new ProviderError({
  reason: "unknown",
  message: "scripted provider: no turn left",
  retryable: false
})

const recordOf = (request: ProviderRequest) =>
  structuredClone({
    systemPrompt: request.systemPrompt,
    messages: request.messages,
    tools: request.tools?.map((tool) => tool.name) ?? null,
    model: request.model,
    reasoning: request.thinkingLevel ?? null,
    apiKey: request.apiKey === undefined ? null : Redacted.value(request.apiKey)
  })

/** `content` of a final event is played as the blocks that make it, before any `start`: so it gives no updates. */
const toTurn = (steps: ReadonlyArray<ProviderStep>): Scripted.Turn => {
  const content = steps.flatMap((step) => ("content" in step ? (step.content ?? []) : []))
  return [...content.flatMap(blockEvents), ...steps.map(toStep)]
}

const toStep = (step: ProviderStep): Scripted.Step => {
  switch (step.type) {
    case "done":
    case "error":
    case "end":
      return toEnd(step)
    case "callThrow":
    case "streamThrow":
      return { type: "die", message: step.message }
    default:
      return step
  }
}

type End = Extract<ProviderStep, { type: "done" | "error" | "end" }>

const toEnd = ({ reason, errorMessage = "", usage }: End): Scripted.Step => {
  const spent = usage === undefined ? {} : { usage: toUsage(usage) }
  return reason === "error" || reason === "aborted"
    ? { type: "error", reason: reason === "error" ? "unknown" : "aborted", message: errorMessage, ...spent }
    : { type: "done", reason, ...spent }
}

/** The events that make a block, of which `content` of a final event has only the finished form. */
const blockEvents = (block: Record<string, unknown>, contentIndex: number): ReadonlyArray<Scripted.Step> => {
  const delta = (type: "text_delta" | "thinking_delta" | "toolcall_delta", text: string): Scripted.Step => ({
    type,
    contentIndex,
    delta: text
  })
  switch (block["type"]) {
    case "text":
      return [
        { type: "text_start", contentIndex },
        delta("text_delta", String(block["text"])),
        { type: "text_end", contentIndex }
      ]
    case "thinking": {
      const signature = block["thinkingSignature"]
      const signed = typeof signature === "string" ? { signature } : {}
      return block["redacted"] === true
        ? [
            { type: "thinking_start", contentIndex, redacted: true, ...signed },
            { type: "thinking_end", contentIndex }
          ]
        : [
            { type: "thinking_start", contentIndex },
            delta("thinking_delta", String(block["thinking"])),
            { type: "thinking_end", contentIndex, ...signed }
          ]
    }
    default:
      return [
        { type: "toolcall_start", contentIndex, id: String(block["id"]), name: String(block["name"]) },
        delta("toolcall_delta", JSON.stringify(block["arguments"])),
        { type: "toolcall_end", contentIndex }
      ]
  }
}
