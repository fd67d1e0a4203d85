/** The hooks, polls and policies of a world, as options of a run, and how real hooks are watched. */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import { guarded } from "../../internal/guard.ts"
import { isLlmMessage } from "../../internal/state.ts"
import type * as Loop from "../../Loop.ts"
import type { Message, UserMessage } from "../../Message.ts"
import type { RetryPolicy } from "../../RetryPolicy.ts"
import * as Hooks from "../../services/Hooks.ts"
import type { ProviderError } from "../../services/Provider.ts"
import * as Tool from "../../Tool.ts"
import type * as World from "../World.ts"
import type { Ongoing } from "./journal.ts"
import { inTurn, perform, type Stage } from "./steps.ts"

type Name = keyof World.Hooks
type Steps<N extends Name> = NonNullable<World.Hooks[N]>[number]
type Step<N extends Name> = Exclude<Steps<N>[number], World.Pause>

/** What the invariants want to know of a hook's input: plain data. */
interface Given {
  readonly callId?: string | undefined
  readonly messages?: ReadonlyArray<Message> | undefined
  readonly more?: unknown
}

/** A hook that does what the world says; undefined where the world says nothing of it. */
const play = <N extends Name, In, Out>(
  stage: Stage,
  world: World.Hooks | undefined,
  name: N,
  given: (input: In) => Given,
  decide: (step: Step<N> | undefined, input: In, activity: Ongoing) => Out
): ((input: In) => Effect.Effect<Out>) | undefined => {
  const lists = world?.[name] as ReadonlyArray<Steps<N>> | undefined
  if (lists === undefined) return undefined
  const next = inTurn<Steps<N>>(lists, [])
  return (input) => {
    const { callId, ...rest } = given(input)
    return stage.journal.track({ kind: "hook", name, callId, given: rest }, (activity) =>
      perform<Steps<N>[number], Out, never>(stage, activity, next(), {
        ends: (step) => Effect.sync(() => decide(step as Step<N> | undefined, input, activity))
      })
    )
  }
}

const ofMessages = (messages: ReadonlyArray<Message>): Given => ({ messages })
const ofCall = ({ toolCall, context, args, message }: Hooks.BeforeToolCall): Given => ({
  callId: toolCall.id,
  messages: context.messages,
  more: { args, message }
})
const ofResult = (call: Hooks.AfterToolCall): Given => ({
  ...ofCall(call),
  more: { args: call.args, message: call.message, result: call.result, isError: call.isError }
})
const ofTurn = ({ context, newMessages, message, toolResults }: Hooks.TurnEnd): Given => ({
  messages: context.messages,
  more: { newMessages, message, toolResults }
})

export const makeHooks = (stage: Stage, world: World.Hooks | undefined): Hooks.Hooks => ({
  transformContext: play(stage, world, "transformContext", ofMessages, (step, messages) =>
    step === undefined ? messages : [...messages, userMessage(step.text, stage.machine.now)]
  ),
  convertToLlm: play(stage, world, "convertToLlm", ofMessages, (_, messages) => messages.filter(isLlmMessage)),
  beforeToolCall: play(stage, world, "beforeToolCall", ofCall, (step) => {
    if (step?.type === "block") return Hooks.block(step.reason)
    return step?.arguments === undefined ? Hooks.allow : Hooks.allowWith(step.arguments)
  }),
  afterToolCall: play(stage, world, "afterToolCall", ofResult, (step) =>
    step === undefined
      ? undefined
      : {
          content: step.text === undefined ? undefined : Tool.text(step.text).content,
          isError: step.isError,
          terminate: step.terminate
        }
  ),
  prepareNextTurn: play(stage, world, "prepareNextTurn", ofTurn, (step, { context }) =>
    step === undefined
      ? undefined
      : {
          context: step.systemPrompt === undefined ? undefined : { ...context, systemPrompt: step.systemPrompt },
          model: step.model === undefined ? undefined : { ...MODEL, id: step.model },
          thinkingLevel: step.thinkingLevel
        }
  ),
  shouldStopAfterTurn: play(stage, world, "shouldStopAfterTurn", ofTurn, (step) => step !== undefined)
})

export const MODEL = { id: "simulated", provider: "world" }

/** The polls of a bare run, which give what the world queues. */
export const makePolls = (
  stage: Stage,
  { hooks, queues }: World.World
): Pick<Loop.Options, "steering" | "followUp"> => {
  const poll = (name: "steering" | "followUp"): Loop.Poll | undefined => {
    const waiting = [...(queues?.[name] ?? [])].toSorted((left, right) => left.at - right.at)
    let current: Ongoing | undefined
    const hook = play<"steering" | "followUp", void, void>(
      stage,
      queues?.[name] === undefined ? hooks : { [name]: [[]], ...hooks },
      name,
      () => ({}),
      (_step, _input, activity) => {
        current = activity
      }
    )
    // What is taken is not in the queue any more, so that taking it must be the very last thing that a poll does.
    const take = () => {
      const messages = waiting.splice(0, waiting.filter(({ at }) => at <= stage.machine.now).length).map(messageOf)
      current!.result = messages
      return messages
    }
    return hook && Effect.suspend(() => Effect.map(hook(), take))
  }
  return { steering: poll("steering"), followUp: poll("followUp") }
}

/** The options of a run that are not hooks by their type, and behave like them. */
export const makePolicies = (stage: Stage, { hooks }: World.World): Pick<Loop.Options, "retry" | "resolveApiKey"> => {
  const retry = play(
    stage,
    hooks,
    "retry",
    (given: unknown) => ({ more: given }),
    (step) => (step === undefined ? Option.none<Duration.Duration>() : Option.some(Duration.millis(step.ms)))
  )
  return {
    retry: retry && policyOf(({ input, attempt }) => retry({ reason: input.reason, message: input.message, attempt })),
    resolveApiKey: play(
      stage,
      hooks,
      "resolveApiKey",
      (provider: string) => ({ more: provider }),
      () => Redacted.make("key")
    )
  }
}

const policyOf = (
  decide: (failure: Schedule.InputMetadata<ProviderError>) => Effect.Effect<Option.Option<Duration.Duration>>
): RetryPolicy =>
  Schedule.fromStepWithMetadata(
    Effect.succeed((failure: Schedule.InputMetadata<ProviderError>) =>
      Effect.flatMap(
        decide(failure),
        Option.match({ onNone: () => Cause.done(), onSome: (delay) => Effect.succeed([undefined, delay]) })
      )
    )
  )

export const userMessage = (content: string, timestamp: number): UserMessage => ({ role: "user", content, timestamp })

/** A message of an application's own kind is data of which this module cannot know the type. */
export const messageOf = ({ at, text, role }: World.Queued): Message =>
  role === undefined ? userMessage(text, at) : ({ role, text, timestamp: at } as unknown as Message)

/** The same hooks, watched. Time passes for them as for all of the world. */
export const watchHooks = <R>(stage: Stage, hooks: Hooks.Hooks<R>): Hooks.Hooks<R> => {
  const watch = <In, Out>(
    name: keyof Hooks.Hooks,
    hook: ((input: In) => Effect.Effect<Out, never, R>) | undefined,
    given: (input: In) => Given
  ) =>
    hook &&
    ((input: In) => {
      const { callId, ...rest } = given(input)
      return stage.journal.track({ kind: "hook", name, callId, given: rest, isReal: true }, () =>
        Effect.provideService(
          guarded(`The hook ${name}`, () => hook(input)),
          Clock.Clock,
          stage.clock
        )
      )
    })
  return {
    transformContext: watch("transformContext", hooks.transformContext, ofMessages),
    convertToLlm: watch("convertToLlm", hooks.convertToLlm, ofMessages),
    beforeToolCall: watch("beforeToolCall", hooks.beforeToolCall, ofCall),
    afterToolCall: watch("afterToolCall", hooks.afterToolCall, ofResult),
    prepareNextTurn: watch("prepareNextTurn", hooks.prepareNextTurn, ofTurn),
    shouldStopAfterTurn: watch("shouldStopAfterTurn", hooks.shouldStopAfterTurn, ofTurn)
  }
}
