/** What an agent is made of, what it is asked, what comes of that, and when it says no. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { AgentEvent, EndReason } from "../AgentEvent.ts"
import type * as Loop from "../Loop.ts"
import type { Image, Message, ResponseError, Usage } from "../Message.ts"
import type * as RetryPolicy from "../RetryPolicy.ts"
import type * as Hooks from "../services/Hooks.ts"
import type * as Tool from "../Tool.ts"
import type { QueueMode } from "./messageQueue.ts"

/** What an agent starts from. Limits and hooks are those of `Loop`; queue modes are `one-at-a-time` unless given. */
export interface Options<R = never> extends Omit<
  Loop.ResumeOptions<ReadonlyArray<Tool.Any<never>>, R>,
  "tools" | "steering" | "followUp" | "retry"
> {
  /** When a response that failed is asked for again: by `RetryPolicy.standard` unless given, never if false. */
  readonly retry?: RetryPolicy.RetryPolicy<R> | false | undefined
  readonly steeringMode?: QueueMode | undefined
  readonly followUpMode?: QueueMode | undefined
  /** Starts another run by itself when messages are queued after one that was not aborted and did not fail. */
  readonly continueWhenQueued?: boolean | undefined
}

/** A prompt: a text, with images or without, or messages. A text becomes a user message with one text block. */
export type Input = string | TextWithImages | Message | ReadonlyArray<Message>

export interface TextWithImages {
  readonly text: string
  readonly images: ReadonlyArray<Image>
}

/** What one prompt may set for its run: hooks, asked after those of the agent, and a limit. */
export interface PromptOptions<R = never> {
  readonly hooks?: Hooks.Hooks<R> | undefined
  readonly maxTurns?: number | undefined
}

/** What came of a run. `text` is that of its last response; `error` and `errorMessage` are there if that one failed. */
export interface RunResult {
  readonly messages: ReadonlyArray<Message>
  readonly reason: EndReason
  readonly text: string
  readonly usage: Usage
  readonly error?: ResponseError | undefined
  readonly errorMessage?: string | undefined
}

/** The agent is in a run. Wait for its end (`waitForIdle`), or queue the message (`steer`, `followUp`). */
export class AgentBusy extends Schema.TaggedError<AgentBusy>()("AgentBusy", {}) {
  override get message() {
    return "The agent is running. Wait until it is idle, or queue the message with steer or followUp."
  }
}

/** There is nothing that `continue` could answer. */
export class CannotContinue extends Schema.TaggedError<CannotContinue>()("CannotContinue", {
  reason: Schema.Literals(["empty", "endsWithAssistant"])
}) {
  override get message() {
    return this.reason === "empty"
      ? "There is nothing to continue: the transcript is empty. Prompt the agent instead."
      : "The transcript ends with an assistant message and nothing is queued. Prompt the agent, or queue a message first."
  }
}

export const resultOf = ({ messages, reason, usage }: Extract<AgentEvent, { type: "agent_end" }>): RunResult => {
  const last = messages.findLast((message) => message.role === "assistant")
  return {
    messages,
    reason,
    usage,
    text: last?.content.map((block) => (block.type === "text" ? block.text : "")).join("") ?? "",
    ...(last?.error && { error: last.error }),
    ...(last?.errorMessage !== undefined && { errorMessage: last.errorMessage })
  }
}

export const messagesOf = (input: Input): Effect.Effect<ReadonlyArray<Message>> => {
  if (Array.isArray(input)) return Effect.succeed(input)
  if (typeof input === "object" && "role" in input) return Effect.succeed([input])
  const { text, images } = typeof input === "string" ? { text: input, images: [] } : (input as TextWithImages)
  return Effect.map(Clock.currentTimeMillis, (timestamp) => [
    { role: "user", content: [{ type: "text", text }, ...images], timestamp }
  ])
}
