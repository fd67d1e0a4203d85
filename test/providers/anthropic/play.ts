// Plays runs against a provider over the network. Every one of them passes the trace checker.
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Loop from "../../../src/Loop.ts"
import type { AssistantMessage, LlmMessage } from "../../../src/Message.ts"
import {
  Provider,
  type ProviderError,
  type ProviderEvent,
  type ProviderRequest
} from "../../../src/services/Provider.ts"
import * as TraceChecker from "../../../src/testing/TraceChecker.ts"
import type * as Tool from "../../../src/Tool.ts"
import { user } from "../../support/make.ts"
import * as Semaphore from "effect/Semaphore"
import { lookup } from "../../../src/providers/anthropic/models.ts"
import { BASE_URL, type Settings } from "../../../src/providers/anthropic/settings.ts"

export const model = { id: "claude-sonnet-4-6", provider: "anthropic" }

export const requestOf = (over: Partial<ProviderRequest> = {}): ProviderRequest => ({
  systemPrompt: undefined,
  messages: [user("hi")],
  tools: undefined,
  model,
  thinkingLevel: undefined,
  apiKey: undefined,
  ...over
})

/** The arrays of events that a provider gives, and what it failed with. */
export const read = Effect.fnUntraced(function* (provider: Provider["Service"], over: Partial<ProviderRequest> = {}) {
  const arrays: Array<ReadonlyArray<ProviderEvent>> = []
  const error = yield* provider.stream(requestOf(over)).pipe(
    Stream.runForEachArray((events) => Effect.sync(() => void arrays.push(events))),
    Effect.flip,
    Effect.catch(() => Effect.undefined)
  )
  return { arrays, events: arrays.flat(), error: error && shown(error) }
})

/** What of an error can be compared: its message is no member that matchers look at. */
const shown = (error: ProviderError) => ({
  reason: error.reason,
  message: error.message,
  retryable: error.retryable,
  ...(error.retryAfterMs !== undefined && { retryAfterMs: error.retryAfterMs }),
  ...(error.usage !== undefined && { usage: error.usage }),
  cause: error.cause
})

export type Options = Partial<Loop.Options<ReadonlyArray<Tool.Any<never>>>>

export const runOf = (provider: Provider["Service"], options: Options = {}) =>
  Stream.provideService(
    Loop.run<ReadonlyArray<Tool.Any<never>>>({ model, prompts: [user("go")], ...options }),
    Provider,
    provider
  )

/** A run to its end: its events, its messages and its responses. */
export const play = Effect.fnUntraced(function* (provider: Provider["Service"], options: Options = {}) {
  const events = yield* TraceChecker.collect(runOf(provider, options), options.messages)
  const last = events.at(-1)!
  const messages = last.type === "agent_end" ? (last.messages as ReadonlyArray<LlmMessage>) : []
  const responses = messages.filter((message): message is AssistantMessage => message.role === "assistant")
  const results = messages.filter((message) => message.role === "toolResult")
  return { events, messages, responses, results, reason: last.type === "agent_end" ? last.reason : "" }
})

/** The settings of a provider that was given none. */
export const settings: Settings = {
  apiKey: undefined,
  baseUrl: BASE_URL,
  headers: {},
  betas: [],
  cache: "off",
  maxTokens: undefined,
  idleLimit: 0,
  modelInfo: lookup,
  listing: { models: undefined, turn: Semaphore.makeUnsafe(1) },
  noticed: new Set<string>(),
  fetch: undefined
}
