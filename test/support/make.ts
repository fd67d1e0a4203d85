// What runs are made of, in one line each: messages, steps of a script, tools, providers.
import * as Cause from "effect/Cause"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import type { AssistantMessage, UserMessage } from "../../src/Message.ts"
import type * as Scripted from "../../src/providers/Scripted.ts"
import type { ProviderError, ProviderEvent, ProviderRequest } from "../../src/services/Provider.ts"
import type { RetryPolicy } from "../../src/RetryPolicy.ts"
import * as Tool from "../../src/Tool.ts"

export const model = { id: "m1", provider: "acme" }

export const user = (content: string, timestamp = 0): UserMessage => ({ role: "user", content, timestamp })

export const assistant = (content: AssistantMessage["content"], over: Partial<AssistantMessage> = {}) =>
  ({
    role: "assistant",
    content,
    provider: model.provider,
    model: model.id,
    usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 },
    stopReason: "stop",
    timestamp: 0,
    ...over
  }) satisfies AssistantMessage

/** A usage of so many tokens of input. */
export const tokensIn = (input: number) => ({ input, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: input })

// ---------------------------------------------------------------------------------------------------------------------
// Scripts
// ---------------------------------------------------------------------------------------------------------------------

export const say = (text: string, chunk?: number): Scripted.Step => ({
  type: "text",
  text,
  ...(chunk !== undefined && { chunk })
})

/** A call of the tool `name`; its id is the name unless given. */
export const call = (name: string, args: Schema.Json = {}, id = name): Scripted.Step => ({
  type: "toolCall",
  id,
  name,
  arguments: args
})

/** A call whose arguments stream as this text, whatever it is. */
export const rawCall = (name: string, rawArguments: string, id = name): Scripted.Step => ({
  type: "toolCall",
  id,
  name,
  rawArguments
})

export const pause = (ms: number): Scripted.Step => ({ type: "wait", ms })

export const failing = (message: string, retryable = false): Scripted.Step => ({
  type: "error",
  reason: "overloaded",
  message,
  retryable
})

/** A retry policy that is no more than a function of a failure and its number. */
export const policy = <R = never>(
  decide: (error: ProviderError, attempt: number) => Effect.Effect<Option.Option<Duration.Duration>, never, R>
): RetryPolicy<R> =>
  Schedule.fromStepWithMetadata(
    Effect.succeed(({ input, attempt }: Schedule.InputMetadata<ProviderError>) =>
      Effect.flatMap(
        decide(input, attempt),
        Option.match({ onNone: () => Cause.done(), onSome: (delay) => Effect.succeed([undefined, delay]) })
      )
    )
  )

/** A step that its Schema would refuse, as a faulty provider would send it. */
export const nonsense = (step: unknown): Scripted.Step => step as Scripted.Step

// ---------------------------------------------------------------------------------------------------------------------
// Tools
// ---------------------------------------------------------------------------------------------------------------------

/** Parameters that are as good as any arguments. */
const Anything = Schema.Struct({})

type Execute = Tool.Options<typeof Anything.Type, never>["execute"]

/** A tool that takes any arguments and gives "<name> done" unless told otherwise. */
export const tool = (
  name: string,
  execute: Execute = () => Effect.succeed(`${name} done`),
  more: Partial<Tool.Options<typeof Anything.Type, never>> = {}
): Tool.Tool<typeof Anything.Type> =>
  Tool.make({ name, description: `Does ${name}.`, parameters: Anything, execute, ...more })

/** A tool that takes so long. */
export const slow = (name: string, ms: number): Tool.Tool<typeof Anything.Type> =>
  tool(name, () => Effect.delay(Effect.succeed(`${name} done`), ms))

/** A value as a caller without types could give it. */
export const untyped = <A>(value: unknown): A => value as A

/** A provider that is no script. */
export const provider = (
  stream: (request: ProviderRequest, index: number) => Stream.Stream<ProviderEvent, ProviderError>
) => {
  let requests = 0
  return { stream: (request: ProviderRequest) => stream(request, requests++) }
}
