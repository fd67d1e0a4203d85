// Hooks, polls and the key function from data (section 5), each of whose calls is recorded (section 6).
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { LlmMessage, Message } from "../../src/Message.ts"
import * as Hooks from "../../src/services/Hooks.ts"
import type { ThinkingLevel } from "../../src/services/Provider.ts"
import type * as Tool from "../../src/Tool.ts"
import type { AgentScenario } from "./agentScenario.ts"
import { toMessage, toMessages } from "./messages.ts"
import { type Observer, seen } from "./observer.ts"
import type {
  AfterRule,
  BeforeRule,
  Config,
  ConvertToLlm,
  RecordedMessage,
  TransformContext,
  TurnUpdate
} from "./scenario.ts"

const die = (message: string) => Effect.die(new Error(message))

const keepLast = (messages: ReadonlyArray<Message>, count: number) =>
  messages.slice(Math.max(0, messages.length - count))

// ---------------------------------------------------------------------------------------------------------------------
// Messages
// ---------------------------------------------------------------------------------------------------------------------

const transformContext = (how: TransformContext, observer: Observer) =>
  Effect.fnUntraced(function* (messages: ReadonlyArray<Message>) {
    observer.called("transformContext", { messages: messages.length })
    if (how.throw !== undefined) return yield* die(how.throw)
    if (how.keepLast !== undefined) return keepLast(messages, how.keepLast)
    if (how.dropRole !== undefined) return messages.filter((message) => message.role !== how.dropRole)
    if (how.inject === undefined) return messages
    const injected = toMessage(how.inject)
    return how.position === "start" ? [injected, ...messages] : [...messages, injected]
  })

const convertToLlm = (how: ConvertToLlm, observer: Observer) =>
  Effect.fnUntraced(function* (messages: ReadonlyArray<Message>) {
    observer.called("convertToLlm", { messages: messages.length })
    if (typeof how === "object") return yield* die(how.throw)
    // What a hook may give is for it to say, also a kind that no model knows.
    if (how === "identity") return messages as ReadonlyArray<LlmMessage>
    return messages.flatMap((message): ReadonlyArray<LlmMessage> => {
      const { role, content } = message as unknown as RecordedMessage
      if (["user", "assistant", "toolResult"].includes(role)) return [message as LlmMessage]
      return how === "customToUser" && role === "custom"
        ? [{ role: "user", content: content as string, timestamp: 0 }]
        : []
    })
  })

// ---------------------------------------------------------------------------------------------------------------------
// Tool calls
// ---------------------------------------------------------------------------------------------------------------------

interface Rule {
  readonly tool?: string
  readonly call?: number
  readonly toolCallId?: string
}

const findRule = <R extends Rule>(rules: ReadonlyArray<R>, { toolCall }: Hooks.BeforeToolCall, call: number) =>
  rules.find(
    (rule) =>
      (rule.tool ?? toolCall.name) === toolCall.name &&
      (rule.call ?? call) === call &&
      (rule.toolCallId ?? toolCall.id) === toolCall.id
  )

const beforeToolCall = (rules: ReadonlyArray<BeforeRule>, observer: Observer) => {
  let calls = 0
  return Effect.fnUntraced(function* (given: Hooks.BeforeToolCall) {
    const { toolCall, args, context } = given
    const call = calls++
    observer.called("beforeToolCall", {
      call,
      tool: toolCall.name,
      toolCallId: toolCall.id,
      rawArgs: toolCall.arguments,
      args,
      ...seen(context)
    })
    const rule = findRule(rules, given, call)
    if (rule?.delayMs !== undefined) yield* Effect.sleep(rule.delayMs)
    if (rule?.action === "throw") return yield* die(rule.message ?? "")
    if (rule?.action === "block") return Hooks.block(rule.reason)
    return rule?.setArgs === undefined ? Hooks.allow : Hooks.allowWith({ ...(args as object), ...rule.setArgs })
  })
}

const afterToolCall = (rules: ReadonlyArray<AfterRule>, observer: Observer) => {
  let calls = 0
  return Effect.fnUntraced(function* (given: Hooks.AfterToolCall) {
    const { toolCall, args, result, isError, context } = given
    const call = calls++
    observer.called("afterToolCall", {
      call,
      tool: toolCall.name,
      toolCallId: toolCall.id,
      args,
      result,
      isError,
      ...seen(context)
    })
    const rule = findRule(rules, given, call)
    if (rule?.delayMs !== undefined) yield* Effect.sleep(rule.delayMs)
    if (rule?.throw !== undefined) return yield* die(rule.throw)
    return rule?.override
  })
}

// ---------------------------------------------------------------------------------------------------------------------
// Turns
// ---------------------------------------------------------------------------------------------------------------------

const recordOf = (call: number, { message, toolResults, newMessages, context }: Hooks.TurnEnd) => ({
  call,
  stopReason: message.stopReason,
  toolResults: toolResults.length,
  newMessages: newMessages.length,
  ...seen(context)
})

const prepareNextTurn = (
  updates: NonNullable<Config["prepareNextTurn"]>,
  tools: (names: ReadonlyArray<string>) => ReadonlyArray<Tool.Any<never>>,
  called: (call: number, turn: Hooks.TurnEnd) => void
) => {
  let calls = 0
  return Effect.fnUntraced(function* (turn: Hooks.TurnEnd) {
    const call = calls++
    called(call, turn)
    const update = updates[call] ?? {}
    return "throw" in update ? yield* die(update.throw) : toNextTurn(update, turn.context, tools)
  })
}

const toNextTurn = (
  { context, model, thinkingLevel }: TurnUpdate,
  current: Hooks.RunContext,
  tools: (names: ReadonlyArray<string>) => ReadonlyArray<Tool.Any<never>>
): Hooks.NextTurn => ({
  model,
  thinkingLevel: thinkingLevel as ThinkingLevel | undefined,
  context: context && {
    systemPrompt: context.systemPrompt ?? current.systemPrompt,
    tools: context.toolNames === undefined ? current.tools : tools(context.toolNames),
    messages:
      context.messages === undefined
        ? keepLast(current.messages, context.keepLast ?? current.messages.length)
        : toMessages(context.messages)
  }
})

const shouldStopAfterTurn = (answers: ReadonlyArray<boolean>, observer: Observer) => {
  let calls = 0
  return Effect.fnUntraced(function* (turn: Hooks.TurnEnd) {
    const call = calls++
    const returned = answers[call] ?? false
    observer.called("shouldStopAfterTurn", { ...recordOf(call, turn), returned })
    return returned
  })
}

// ---------------------------------------------------------------------------------------------------------------------
// Queues and keys
// ---------------------------------------------------------------------------------------------------------------------

export const poll = (name: "steering" | "followUp", batches: Config["steering"], observer: Observer) => {
  if (batches === undefined) return undefined
  let calls = 0
  return Effect.gen(function* () {
    const call = calls++
    const messages = toMessages(batches[call] ?? [])
    observer.called(name, { call, returned: messages.length })
    return messages
  })
}

export const resolveApiKey = (keys: Config["getApiKey"], observer: Observer) => {
  if (keys === undefined) return undefined
  let calls = 0
  return Effect.fnUntraced(function* (provider: string) {
    const returned = keys[Math.min(calls++, keys.length - 1)] ?? null
    observer.called("getApiKey", { provider, returned })
    if (returned === null) return undefined
    return typeof returned === "string" ? Redacted.make(returned) : yield* die(returned.throw)
  })
}

// ---------------------------------------------------------------------------------------------------------------------
// All of them
// ---------------------------------------------------------------------------------------------------------------------

const whenGiven = <A, B>(value: A | undefined, f: (value: A) => B): B | undefined =>
  value === undefined ? undefined : f(value)

export const make = (
  config: Config,
  tools: (names: ReadonlyArray<string>) => ReadonlyArray<Tool.Any<never>>,
  observer: Observer
): Hooks.Hooks => ({
  transformContext: whenGiven(config.transformContext, (how) => transformContext(how, observer)),
  convertToLlm: convertToLlm(config.convertToLlm ?? "dropCustom", observer),
  beforeToolCall: whenGiven(config.beforeToolCall, (rules) => beforeToolCall(rules, observer)),
  afterToolCall: whenGiven(config.afterToolCall, (rules) => afterToolCall(rules, observer)),
  prepareNextTurn: whenGiven(config.prepareNextTurn, (updates) =>
    prepareNextTurn(updates, tools, (call, turn) => observer.called("prepareNextTurn", recordOf(call, turn)))
  ),
  shouldStopAfterTurn: whenGiven(config.shouldStopAfterTurn, (answers) => shouldStopAfterTurn(answers, observer))
})

/** The hooks of an agent. Its own default of `convertToLlm` is not recorded; a simple hook is not shown the turn. */
export const makeForAgent = (
  options: AgentScenario["options"],
  tools: (names: ReadonlyArray<string>) => ReadonlyArray<Tool.Any<never>>,
  observer: Observer
): Hooks.Hooks => {
  const hooks = make(options, tools, observer)
  const simple = whenGiven(options.prepareNextTurnSimple, (updates) =>
    prepareNextTurn(updates, tools, (call) => observer.called("prepareNextTurnSimple", { call }))
  )
  return {
    ...hooks,
    convertToLlm: options.convertToLlm && hooks.convertToLlm,
    prepareNextTurn: hooks.prepareNextTurn ?? simple
  }
}
