/**
 * One run of an agent: the double loop, as a `Stream<AgentEvent>` that cannot fail.
 *
 * The inner loop alternates between a response and its batch of tool calls; the outer one goes on when follow-up messages
 * are there. It reads from top to bottom like its rules: it appends events and yields only waits (see internal/program.ts).
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Predicate from "effect/Predicate"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import type { AgentEvent, EndReason } from "./AgentEvent.ts"
import { copyPlain } from "./internal/arguments.ts"
import { type BatchResult, executeBatch } from "./internal/batch.ts"
import { toStream } from "./internal/driver.ts"
import { guarded } from "./internal/guard.ts"
import { MessageFold } from "./internal/message.ts"
import { type Run, wait, wasAborted } from "./internal/program.ts"
import { respond, type ResponseOptions, respondWithout } from "./internal/response.ts"
import { isLlmMessage, State } from "./internal/state.ts"
import {
  addUsage,
  type AssistantMessage,
  emptyUsage,
  type LlmMessage,
  type Message,
  type ToolCall,
  type ToolResultMessage,
  type Usage
} from "./Message.ts"
import type { RetryPolicy } from "./RetryPolicy.ts"
import * as Hooks from "./services/Hooks.ts"
import { type Model, Provider, type ThinkingLevel } from "./services/Provider.ts"
import type * as Tool from "./Tool.ts"

// ---------------------------------------------------------------------------------------------------------------------
// Options
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Gives the messages that are waiting, or none. Asked at the points where a run takes messages in. An abort interrupts it
 * like any other wait: what it has taken by then and could not give, it must keep for the next time.
 */
export type Poll<R = never> = Effect.Effect<ReadonlyArray<Message>, never, R>

/** What a run starts from, and its limits. `Tools` is inferred as a tuple, so that what the tools need adds up. */
export interface ResumeOptions<Tools extends ReadonlyArray<Tool.Any> = ReadonlyArray<Tool.Any>, R = never> {
  readonly model: Model
  readonly systemPrompt?: string | undefined
  /** The transcript before the run. It is not changed. */
  readonly messages?: ReadonlyArray<Message> | undefined
  /** The tools that the model may call. Absent: requests carry no tool list at all. */
  readonly tools?: Tools | undefined
  /** How hard the model is to think; `off`, the default, is none. */
  readonly thinkingLevel?: ThinkingLevel | undefined
  /** Hooks of this run, asked after those of the `Hooks` service. */
  readonly hooks?: Hooks.Hooks<R> | undefined
  /** Messages that the model is to see before its next response. Asked at the start and after each turn. */
  readonly steering?: Poll<R> | undefined
  /** Messages that wait until the run would otherwise end. */
  readonly followUp?: Poll<R> | undefined
  /** Resolves the key anew for each request, by the name of the model's provider. */
  readonly resolveApiKey?: ((provider: string) => Effect.Effect<Redacted.Redacted | undefined, never, R>) | undefined
  /** The key of the run, used where `resolveApiKey` gives none, or an empty one. */
  readonly apiKey?: Redacted.Redacted | undefined
  /** How the calls of one response are executed: `parallel` (the default) or `sequential`. */
  readonly toolExecution?: "parallel" | "sequential" | undefined
  /** The greatest number of calls of a parallel batch that are executed at a time; without it there is no limit. */
  readonly concurrency?: number | undefined
  /** The greatest number of turns. A run that would need more ends with the reason `limit`. */
  readonly maxTurns?: number | undefined
  /** Whether and when a response that failed with a retryable error is asked for again. By default never. */
  readonly retry?: RetryPolicy<R> | undefined
  /** How long an aborted run waits for what does not react, before it leaves that behind. 5 seconds by default. */
  readonly gracePeriod?: Duration.Input | undefined
}

export interface Options<
  Tools extends ReadonlyArray<Tool.Any> = ReadonlyArray<Tool.Any>,
  R = never
> extends ResumeOptions<Tools, R> {
  /** The messages that begin the run; there may be none. */
  readonly prompts: ReadonlyArray<Message>
}

/** A transcript from which no run can be resumed: an empty one, or one that ends with an assistant message. */
export class CannotResume extends Schema.TaggedError<CannotResume>()("CannotResume", {
  reason: Schema.Literals(["empty", "endsWithAssistant"])
}) {
  override get message() {
    return this.reason === "empty"
      ? "There is nothing to resume: the transcript is empty. Start a run with a prompt instead."
      : "The transcript ends with an assistant message, so there is nothing to answer. Start a run with a prompt instead."
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Runs
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Runs the agent on some prompts.
 *
 * The stream is pulled: a consumer that stops reading stops the run at its next wait, one that leaves ends it. A consumer
 * in an uninterruptible region whose fiber is interrupted aborts the run and gets the rest of its events, in the grammar
 * of `AgentEvent`.
 */
export const run = <const Tools extends ReadonlyArray<Tool.Any> = [], R = never>(
  options: Options<Tools, R>
): Stream.Stream<AgentEvent, never, Provider | Tool.Services<Tools> | R> =>
  toStream(
    (context) => (run) => new LoopRun(run, options, context).play(options.prompts),
    options.gracePeriod ?? DEFAULT_GRACE_PERIOD
  )

/** Runs the agent on a transcript as it is, without a new prompt. Fails before any event if there is nothing to answer. */
export const resume = <const Tools extends ReadonlyArray<Tool.Any> = [], R = never>(
  options: ResumeOptions<Tools, R>
): Effect.Effect<Stream.Stream<AgentEvent, never, Provider | Tool.Services<Tools> | R>, CannotResume> => {
  const last = options.messages?.at(-1)
  if (last === undefined) return Effect.fail(new CannotResume({ reason: "empty" }))
  if (last.role === "assistant") return Effect.fail(new CannotResume({ reason: "endsWithAssistant" }))
  return Effect.succeed(run({ ...options, prompts: [] }))
}

/** How long an aborted run waits for what does not react. */
export const DEFAULT_GRACE_PERIOD = Duration.seconds(5)

// ---------------------------------------------------------------------------------------------------------------------
// The double loop
// ---------------------------------------------------------------------------------------------------------------------

/** How a turn ended: with no calls (`completed`), with a batch that ends the run or not, or so that the run is over. */
type TurnResult = { readonly reason: EndReason; readonly isLast: boolean; readonly wantsMore: boolean }

class LoopRun<R> {
  private readonly run: Run<AgentEvent>
  private readonly options: ResumeOptions<ReadonlyArray<Tool.Any>, R>
  private readonly state: State
  private readonly hooks: Hooks.Hooks<R>
  private readonly responseOptions: ResponseOptions<R>
  private readonly now: () => number
  private usage: Usage = emptyUsage
  private turns = 0

  constructor(
    run: Run<AgentEvent>,
    options: ResumeOptions<ReadonlyArray<Tool.Any>, R>,
    context: Context.Context<Provider | R>
  ) {
    this.run = run
    this.options = options
    this.state = new State(options)
    const inherited = Context.get(context, Hooks.Hooks)
    this.hooks = options.hooks === undefined ? inherited : Hooks.combine(inherited, options.hooks)
    this.responseOptions = {
      provider: Context.get(context, Provider),
      retry: options.retry,
      begin: () => this.beginMessage(),
      onDiscarded: (usage) => this.spend(usage)
    }
    const clock = Context.get(context, Clock.Clock)
    this.now = () => clock.currentTimeMillisUnsafe()
  }

  *play(prompts: ReadonlyArray<Message>) {
    this.tell({ type: "agent_start" }, { type: "turn_start" })
    for (const prompt of prompts) this.take(prompt)
    const reason = yield* this.loop()
    this.tell({ type: "agent_end", messages: this.state.newMessages, reason, usage: this.usage })
  }

  private *loop() {
    let isTurnOpen = true
    let pending = yield* this.poll(this.options.steering)
    while (true) {
      let turn: TurnResult
      do {
        if (Exit.isFailure(pending)) return this.fail(pending, isTurnOpen)
        if (!isTurnOpen) this.tell({ type: "turn_start" })
        for (const message of pending.value) this.take(message)
        isTurnOpen = false
        turn = yield* this.turn(yield* this.respond())
        if (turn.isLast) return turn.reason
        pending = yield* this.poll(this.options.steering)
      } while (turn.wantsMore || Exit.isFailure(pending) || pending.value.length > 0)
      pending = yield* this.poll(this.options.followUp)
      if (Exit.isSuccess(pending) && pending.value.length === 0) return turn.reason
    }
  }

  /** The batch that a response asks for, and what the hooks and the limit say of going on. */
  private *turn(message: AssistantMessage) {
    if (message.stopReason === "error" || message.stopReason === "aborted") {
      this.tell({ type: "turn_end", message, toolResults: [] })
      return over(message.stopReason)
    }
    const calls = message.content.filter((block) => block.type === "toolCall")
    const batch = calls.length === 0 ? noBatch : yield* this.execute(message, calls)
    this.tell({ type: "turn_end", message, toolResults: batch.results })
    if (batch.isAborted) return over("aborted")
    const after = yield* this.afterTurn(message, batch.results)
    if (Exit.isFailure(after)) return over(this.fail(after, false))
    if (after.value) return over("stopped")
    const wantsMore = calls.length > 0 && !batch.isTerminating
    const reason = batch.isTerminating ? "terminated" : "completed"
    const isLast = ++this.turns >= (this.options.maxTurns ?? Infinity)
    return { reason: isLast && wantsMore ? "limit" : reason, isLast, wantsMore } satisfies TurnResult
  }

  private *respond() {
    const request = yield* this.request()
    const message = Exit.isFailure(request)
      ? respondWithout(this.run, this.beginMessage(), request)
      : yield* respond(this.run, request.value, this.responseOptions)
    return this.keep(message)
  }

  /** Asks the hooks what the model is to read, and for the key. */
  private *request() {
    const { transformContext, convertToLlm } = this.hooks
    let transformed: ReadonlyArray<Message> | undefined
    if (transformContext !== undefined) {
      const { messages } = this.state.context
      const exit = yield* wait(
        guarded("The hook transformContext", () => transformContext(messages), sameOrMessages(messages))
      )
      if (Exit.isFailure(exit)) return Exit.failCause(exit.cause)
      transformed = exit.value
    }
    let understood: ReadonlyArray<LlmMessage> | undefined
    if (convertToLlm === undefined) understood = transformed?.filter(isLlmMessage)
    else {
      const messages = transformed ?? this.state.context.messages
      const exit = yield* wait(guarded("The hook convertToLlm", () => convertToLlm(messages), sameOrMessages(messages)))
      if (Exit.isFailure(exit)) return Exit.failCause(exit.cause)
      understood = [...exit.value]
    }
    const key = yield* this.apiKey()
    return Exit.map(key, (apiKey) => this.state.request(understood, apiKey))
  }

  private *apiKey() {
    const { apiKey, resolveApiKey } = this.options
    if (resolveApiKey === undefined) return Exit.succeed(apiKey)
    const { provider } = this.state.model
    const resolved = yield* wait(guarded("resolveApiKey", () => resolveApiKey(provider), isKey))
    return Exit.map(resolved, (key) => (key === undefined || Redacted.value(key) === "" ? apiKey : key))
  }

  private *execute(message: AssistantMessage, calls: ReadonlyArray<ToolCall>) {
    const { context } = this.state
    const { toolExecution, concurrency } = this.options
    const options = { message, context, calls, hooks: this.hooks, toolExecution, concurrency, now: this.now }
    const batch = yield* executeBatch(this.run, options)
    for (const result of batch.results) this.state.add(result)
    return batch
  }

  /** Whether the run is to stop. The events of the turn are delivered in any case, and an abort meanwhile is seen. */
  private *afterTurn(message: AssistantMessage, toolResults: ReadonlyArray<ToolResultMessage>) {
    const { prepareNextTurn, shouldStopAfterTurn } = this.hooks
    const delivered = yield* wait(Effect.void)
    if (Exit.isFailure(delivered)) return Exit.failCause(delivered.cause)
    if (prepareNextTurn !== undefined) {
      const end = this.turnEnd(message, toolResults)
      const next = yield* wait(guarded("The hook prepareNextTurn", () => prepareNextTurn(end), isNextTurn))
      if (Exit.isFailure(next)) return Exit.failCause(next.cause)
      if (next.value) this.state.prepare(next.value)
    }
    if (shouldStopAfterTurn === undefined) return Exit.succeed(false)
    const end = this.turnEnd(message, toolResults)
    return yield* wait(guarded("The hook shouldStopAfterTurn", () => shouldStopAfterTurn(end)))
  }

  private turnEnd(message: AssistantMessage, toolResults: ReadonlyArray<ToolResultMessage>): Hooks.TurnEnd {
    return {
      message: copyPlain(message),
      toolResults: copyPlain(toolResults),
      context: this.state.context,
      newMessages: [...this.state.newMessages]
    }
  }

  private *poll(queue: Poll<R> | undefined) {
    return queue === undefined ? nothing : yield* wait(guarded("The poll", () => queue, areMessages))
  }

  /** Ends the run with what kept it from going on: in the open turn, or after a turn in one of its own (not an abort). */
  private fail(exit: Exit.Failure<unknown, unknown>, isTurnOpen: boolean): EndReason {
    if (!isTurnOpen && wasAborted(this.run, exit)) return "aborted"
    if (!isTurnOpen) this.tell({ type: "turn_start" })
    const message = this.keep(respondWithout(this.run, this.beginMessage(), exit))
    this.tell({ type: "turn_end", message, toolResults: [] })
    return message.stopReason === "aborted" ? "aborted" : "error"
  }

  private beginMessage(): MessageFold {
    return new MessageFold(this.state.model, this.now(), this.state.uniqueIds())
  }

  private keep(message: AssistantMessage): AssistantMessage {
    this.state.add(message)
    this.spend(message.usage)
    return message
  }

  private spend(usage: Usage): void {
    this.usage = addUsage(this.usage, usage)
  }

  private take(message: Message): void {
    this.state.add(message)
    this.tell({ type: "message_start", message }, { type: "message_end", message })
  }

  private tell(...events: ReadonlyArray<AgentEvent>): void {
    this.run.outbox.push(...events)
  }
}

/** What the types say of hooks and polls, for those that were not compiled with them. */
const areMessages = (value: unknown): boolean => Array.isArray(value) && value.every(isMessage)
const sameOrMessages = (given: unknown) => (value: unknown) => value === given || areMessages(value)
const isMessage = (value: unknown): boolean => typeof value === "object" && value !== null && "role" in value
const isKey = (value: unknown): boolean => value === undefined || Redacted.isRedacted(value)
const isNextTurn = (value: unknown): boolean =>
  value === undefined ||
  (Predicate.isObject(value) &&
    (value["context"] === undefined ||
      (Predicate.isObject(value["context"]) && areMessages(value["context"]["messages"]))))

const nothing: Exit.Exit<ReadonlyArray<Message>> = Exit.succeed([])

const noBatch: BatchResult = { results: [], isTerminating: false, isAborted: false }

const over = (reason: EndReason): TurnResult => ({ reason, isLast: true, wantsMore: false })
