/**
 * An application's functions that a run calls at fixed points. Hooks cannot fail by type. One that dies all the same does
 * not end a run without a word: a tool hook gives that call an error result, any other an error response.
 *
 * All values handed to a hook are its own or read-only: changing them changes nothing in the run.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Schema from "effect/Schema"
import type { ToolResult } from "../AgentEvent.ts"
import type { AssistantMessage, Content, LlmMessage, Message, ToolCall, ToolResultMessage } from "../Message.ts"
import type * as Tool from "../Tool.ts"
import { capturedContext } from "./internal/captured.ts"
import type { Model, ThinkingLevel } from "./Provider.ts"

// ---------------------------------------------------------------------------------------------------------------------
// What hooks are given, and what they give
// ---------------------------------------------------------------------------------------------------------------------

/** What a run works on: system prompt, transcript and tools (absent: no tool list at all). */
export interface RunContext {
  readonly systemPrompt: string | undefined
  readonly messages: ReadonlyArray<Message>
  readonly tools: ReadonlyArray<Tool.Any> | undefined
}

export interface BeforeToolCall {
  readonly message: AssistantMessage
  readonly toolCall: ToolCall
  /** The arguments, decoded by the tool's Schema. */
  readonly args: unknown
  /** Ends with `message`; results of its own batch are not yet in it. */
  readonly context: RunContext
}

/** Let the call run, let it run with other arguments (which are not checked again), or refuse it. */
export type ToolCallDecision =
  | { readonly _tag: "Allow"; readonly args?: unknown }
  | { readonly _tag: "Block"; readonly reason?: string | undefined }

export interface AfterToolCall extends BeforeToolCall {
  readonly result: ToolResult
  readonly isError: boolean
}

/** Each field that is given replaces that of the result; what is absent or null stays. Nothing is merged deeply. */
export interface ToolResultOverride {
  readonly content?: ReadonlyArray<Content> | null | undefined
  readonly details?: Schema.Json | undefined
  readonly isError?: boolean | null | undefined
  readonly terminate?: boolean | null | undefined
}

export interface TurnEnd {
  readonly message: AssistantMessage
  readonly toolResults: ReadonlyArray<ToolResultMessage>
  readonly context: RunContext
  /** The messages of the run so far: prompts, responses, results, and what was queued. */
  readonly newMessages: ReadonlyArray<Message>
}

/** What the turns to come work with. What is absent stays; the thinking level `off` means none. */
export interface NextTurn {
  readonly context?: RunContext | undefined
  readonly model?: Model | undefined
  readonly thinkingLevel?: ThinkingLevel | undefined
}

/** The hooks of a run; `R` is what they need. Each is optional. */
export interface Hooks<out R = never> {
  /** Before each request: the transcript for this request. What is stored stays as it is. */
  readonly transformContext?:
    | ((messages: ReadonlyArray<Message>) => Effect.Effect<ReadonlyArray<Message>, never, R>)
    | undefined
  /** After `transformContext`: what the model reads. Without it, the kinds of the application are left out. */
  readonly convertToLlm?:
    | ((messages: ReadonlyArray<Message>) => Effect.Effect<ReadonlyArray<LlmMessage>, never, R>)
    | undefined
  /** After a call was decoded, before it is executed; in source order, also in a parallel batch. */
  readonly beforeToolCall?: ((call: BeforeToolCall) => Effect.Effect<ToolCallDecision, never, R>) | undefined
  /** After a call was executed, also with an error; not after one that was refused. */
  readonly afterToolCall?: ((call: AfterToolCall) => Effect.Effect<ToolResultOverride | void, never, R>) | undefined
  /** After each `turn_end`, the last one too. */
  readonly prepareNextTurn?: ((turn: TurnEnd) => Effect.Effect<NextTurn | void, never, R>) | undefined
  /** After `prepareNextTurn`, with the context that it gave: true ends the run, and no queue is polled. */
  readonly shouldStopAfterTurn?: ((turn: TurnEnd) => Effect.Effect<boolean, never, R>) | undefined
}

/** Any hooks; `R` is what they need. */
// oxlint-disable-next-line typescript/no-explicit-any -- several hooks with different needs are `Hooks<any>` together
export type Any<R = any> = Hooks<R>

/** Lets a call run. */
export const allow: ToolCallDecision = { _tag: "Allow" }

/** Lets a call run with other arguments. They are not checked again. */
export const allowWith = (args: unknown): ToolCallDecision => ({ _tag: "Allow", args })

/** Refuses a call. The model reads the reason. */
export const block = (reason?: string): ToolCallDecision => ({ _tag: "Block", reason })

// ---------------------------------------------------------------------------------------------------------------------
// Combinators
// ---------------------------------------------------------------------------------------------------------------------

/** The services that some hooks need. */
export type Services<All extends ReadonlyArray<Any>> = All[number] extends infer H
  ? H extends Hooks<infer R>
    ? R
    : never
  : never

/**
 * Several hooks as one, asked in order.
 *
 * - `transformContext` is piped: each gets what the one before gave. `convertToLlm`: the last one given counts.
 * - `beforeToolCall`: the first block wins and ends the asking; changed arguments flow on to the next.
 * - `afterToolCall`: each sees the result as the ones before left it; fields that are given replace earlier ones.
 * - `prepareNextTurn` is merged field by field, the later wins. `shouldStopAfterTurn`: all are asked, any `true` stops.
 */
export const combine = <const All extends ReadonlyArray<Any>>(...all: All): Hooks<Services<All>> => {
  if (all.length === 1) return all[0]!
  const of = <K extends keyof Hooks>(name: K) =>
    all.flatMap((hooks: Hooks<Services<All>>) => {
      const hook = hooks[name]
      return hook === undefined ? [] : [hook as NonNullable<Hooks<Services<All>>[K]>]
    })
  return {
    transformContext: whenAny(of("transformContext"), piped),
    convertToLlm: of("convertToLlm").at(-1),
    beforeToolCall: whenAny(of("beforeToolCall"), firstBlock),
    afterToolCall: whenAny(of("afterToolCall"), overrides),
    prepareNextTurn: whenAny(of("prepareNextTurn"), merged),
    shouldStopAfterTurn: whenAny(of("shouldStopAfterTurn"), anyTrue)
  }
}

type All<K extends keyof Hooks, R> = ReadonlyArray<NonNullable<Hooks<R>[K]>>

const whenAny = <Hook>(hooks: ReadonlyArray<Hook>, merge: (hooks: ReadonlyArray<Hook>) => Hook): Hook | undefined =>
  hooks.length < 2 ? hooks[0] : merge(hooks)

const piped = <R>(hooks: All<"transformContext", R>) =>
  Effect.fnUntraced(function* (messages: ReadonlyArray<Message>) {
    for (const hook of hooks) messages = yield* hook(messages)
    return messages
  })

const firstBlock = <R>(hooks: All<"beforeToolCall", R>) =>
  Effect.fnUntraced(function* (call: BeforeToolCall) {
    let given = allow
    for (const hook of hooks) {
      const decision = yield* hook(given._tag === "Allow" && "args" in given ? { ...call, args: given.args } : call)
      if (decision._tag === "Block") return decision
      if ("args" in decision) given = decision
    }
    return given
  })

const overrides = <R>(hooks: All<"afterToolCall", R>) =>
  Effect.fnUntraced(function* (call: AfterToolCall) {
    let all: ToolResultOverride = {}
    for (const hook of hooks) {
      const override = yield* hook({ ...call, ...applyOverride(call, all) })
      if (override) all = { ...all, ...givenFields(override) }
    }
    return all
  })

const merged = <R>(hooks: All<"prepareNextTurn", R>) =>
  Effect.fnUntraced(function* (turn: TurnEnd) {
    let all: NextTurn = {}
    for (const hook of hooks) {
      const next = yield* hook(all.context === undefined ? turn : { ...turn, context: all.context })
      if (next) all = { ...all, ...givenFields(next) }
    }
    return all
  })

const anyTrue = <R>(hooks: All<"shouldStopAfterTurn", R>) =>
  Effect.fnUntraced(function* (turn: TurnEnd) {
    let stop = false
    for (const hook of hooks) stop = (yield* hook(turn)) || stop
    return stop
  })

const givenFields = <A extends object>(fields: A): A =>
  Object.fromEntries(Object.entries(fields).filter(([_, value]) => value !== undefined && value !== null)) as A

/** A result with an override applied: fields that are absent or null stay. */
export const applyOverride = (
  outcome: { readonly result: ToolResult; readonly isError: boolean },
  { isError, ...fields }: ToolResultOverride
): { readonly result: ToolResult; readonly isError: boolean } => ({
  result: { ...outcome.result, ...(givenFields(fields) as ToolResult) },
  isError: isError ?? outcome.isError
})

/** The same hooks with their needs met. */
export const provide = <R>(self: Hooks<R>, context: Context.Context<R>): Hooks => {
  const meet =
    <In, Out>(hook: (input: In) => Effect.Effect<Out, never, R>) =>
    (input: In) =>
      Effect.provideContext(hook(input), context)
  return {
    transformContext: self.transformContext && meet(self.transformContext),
    convertToLlm: self.convertToLlm && meet(self.convertToLlm),
    beforeToolCall: self.beforeToolCall && meet(self.beforeToolCall),
    afterToolCall: self.afterToolCall && meet(self.afterToolCall),
    prepareNextTurn: self.prepareNextTurn && meet(self.prepareNextTurn),
    shouldStopAfterTurn: self.shouldStopAfterTurn && meet(self.shouldStopAfterTurn)
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Service
// ---------------------------------------------------------------------------------------------------------------------

/**
 * The hooks of all runs below a layer; none by default. Hooks given to a run are asked after these.
 *
 * Layers of a reference do not add up by themselves: of two merged ones, one silently wins. Give all hooks to one `layer`,
 * or say `mergeWithExisting`.
 */
export const Hooks = Context.Reference<Hooks>("effect-agent/services/Hooks", { defaultValue: () => ({}) })

/** Sets the hooks of all runs below; with `mergeWithExisting` they are asked after those that are already there. */
export const layer = <const All extends ReadonlyArray<Any>>(
  hooks: All,
  options?: { readonly mergeWithExisting?: boolean | undefined }
): Layer.Layer<never, never, Services<All>> =>
  Layer.effect(
    Hooks,
    Effect.gen(function* () {
      const existing = yield* Hooks
      const given = provide(combine(...hooks), yield* capturedContext<Services<All>>())
      return options?.mergeWithExisting === true ? combine(existing, given) : given
    })
  )
