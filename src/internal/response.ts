/**
 * One response of the model: the stream of a request folded into a message, from `message_start` to `message_end`.
 *
 * Whatever happens (a failure, a defect, an abort, a stream that makes no sense or just ends), the message is closed and
 * keeps what had arrived.
 */
import * as Cause from "effect/Cause"
import * as Channel from "effect/Channel"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Pull from "effect/Pull"
import * as Result from "effect/Result"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { AgentEvent } from "../AgentEvent.ts"
import type { AssistantMessage, ResponseError, Usage } from "../Message.ts"
import type { RetryPolicy } from "../RetryPolicy.ts"
import { type Provider, ProviderError, type ProviderEvent, type ProviderRequest } from "../services/Provider.ts"
import { describeDefect } from "../Tool.ts"
import { cleanup, EVENTS_PER_YIELD, repeat, type Run, wait, wasAborted } from "./program.ts"
import { guarded, logDefect } from "./guard.ts"
import type { Ending, MessageFold } from "./message.ts"

export interface ResponseOptions<R> {
  readonly provider: Provider["Service"]
  readonly retry: RetryPolicy<R> | undefined
  /** Begins a message, without a content yet. Called once for each attempt. */
  readonly begin: () => MessageFold
  /** Told what an attempt has cost that is discarded. */
  readonly onDiscarded: (usage: Usage) => void
}

export const ABORTED = "Operation aborted"

const aborted: Ending = { stopReason: "aborted", errorMessage: ABORTED }

/** Asks the model, again where the policy says so, and gives the finished message. */
export function* respond<R>(run: Run<AgentEvent>, request: ProviderRequest, options: ResponseOptions<R>) {
  const delayAfter = options.retry && delaysOf(options.retry)
  for (let attempt = 1; ; attempt++) {
    const fold = options.begin()
    const failure = yield* streamResponse(run, fold, options.provider, request)
    if (!(failure instanceof ProviderError) || !failure.retryable || delayAfter === undefined) {
      return closeMessage(run, fold, endingOf(fold, failure))
    }
    const delay = yield* wait(delayAfter(failure))
    if (Exit.isFailure(delay)) return closeMessage(run, fold, { usage: failure.usage, ...endingOfExit(run, delay) })
    if (Option.isNone(delay.value) || !Duration.isFinite(delay.value.value)) {
      return closeMessage(run, fold, endingOf(fold, failure))
    }
    run.outbox.push(retryEvent(failure, attempt, delay.value.value))
    if (failure.usage) options.onDiscarded(failure.usage)
    const slept = yield* wait(Effect.sleep(delay.value.value))
    if (Exit.isFailure(slept)) return closeMessage(run, options.begin(), failureOf(run, slept))
  }
}

/** Ends a response that could not even be asked for. */
export const respondWithout = (
  run: Run<AgentEvent>,
  fold: MessageFold,
  exit: Exit.Failure<unknown, unknown>
): AssistantMessage => closeMessage(run, fold, failureOf(run, exit))

// ---------------------------------------------------------------------------------------------------------------------
// Streaming
// ---------------------------------------------------------------------------------------------------------------------

type Failure = ProviderError | Ending

/** Folds the stream into the message and tells each change; gives what kept it from its end, if anything did. */
function* streamResponse(
  run: Run<AgentEvent>,
  fold: MessageFold,
  provider: Provider["Service"],
  request: ProviderRequest
) {
  const scope = Scope.forkUnsafe(run.scope)
  const reader = new EventReader(run, fold)
  const opened = yield* wait(openStream(provider, request, scope))
  let read: Exit.Exit<unknown, unknown> = opened
  if (Exit.isSuccess(opened)) {
    do {
      read = yield* repeat(opened.value, (events) => reader.read(events))
      if (reader.hasMore) read = yield* repeat(Effect.void, () => reader.readMore())
    } while (Exit.isSuccess(read) && reader.isWanting)
    if (Exit.isFailure(read) && Cause.hasDies(read.cause)) yield* wait(logDefect("The provider's stream", read.cause))
  }
  yield* cleanup(Scope.close(scope, Exit.void))
  return Exit.isFailure(read) ? failureOf(run, read) : reader.defect
}

const openStream = (provider: Provider["Service"], request: ProviderRequest, scope: Scope.Scope) =>
  guarded("The provider", () => {
    const stream = provider.stream(request)
    return Stream.isStream(stream)
      ? Channel.toPullScoped(stream.channel, scope)
      : Effect.die("The provider did not give a stream.")
  })

/** Folds arrays of events as they come, of a long one only so much at a time, and tells each change of the message. */
class EventReader {
  /** Why the events cannot be folded. */
  defect: Ending | undefined
  private readonly run: Run<AgentEvent>
  private readonly fold: MessageFold
  private events: ReadonlyArray<ProviderEvent> = []
  private position = 0

  constructor(run: Run<AgentEvent>, fold: MessageFold) {
    this.run = run
    this.fold = fold
  }

  /** The message is not complete. */
  get isWanting(): boolean {
    return this.defect === undefined && !this.fold.isOver
  }

  /** Of the last array there is more to read. */
  get hasMore(): boolean {
    return this.isWanting && this.position < this.events.length
  }

  /** True if the next array is wanted. */
  read(events: ReadonlyArray<ProviderEvent>): boolean {
    this.events = events
    this.position = 0
    this.readMore()
    return this.isWanting && !this.hasMore
  }

  /** True if there is still more to read. */
  readMore(): boolean {
    const read = Result.try(() => this.foldSome(Math.min(this.events.length, this.position + EVENTS_PER_YIELD)))
    if (Result.isFailure(read)) this.defect = defect(read.failure)
    return this.hasMore
  }

  private foldSome(end: number): void {
    const { fold, events } = this
    const { outbox } = this.run
    for (; this.position < end && !fold.isOver; this.position++) {
      const wasStarted = fold.isStarted
      const change = fold.fold(events[this.position]!)
      if (!fold.isStarted) continue
      if (!wasStarted) outbox.push({ type: "message_start", message: fold.snapshot })
      else if (change !== undefined) {
        outbox.push({ type: "message_update", message: fold.snapshot, assistantMessageEvent: change })
      }
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Retries
// ---------------------------------------------------------------------------------------------------------------------

/** What a policy says after each failure of one response: the delay before the next attempt, or none. */
const delaysOf = <R>(policy: RetryPolicy<R>) => {
  let step: Effect.Success<ReturnType<typeof startPolicy<R>>> | undefined
  const ask = Effect.fnUntraced(function* (error: ProviderError) {
    step ??= yield* startPolicy(policy)
    const decide = step
    const now = yield* Clock.currentTimeMillis
    const decision = guarded("The retry policy", () => decide(now, error), hasDelay)
    return yield* Pull.matchEffect(decision, {
      onSuccess: ([, delay]) => Effect.succeedSome(delay),
      onFailure: Effect.failCause,
      onDone: () => Effect.succeedNone
    })
  })
  return ask
}

const startPolicy = <R>(policy: RetryPolicy<R>) =>
  guarded("The retry policy", () =>
    Schedule.isSchedule(policy)
      ? Schedule.toStep(policy)
      : Effect.die(new TypeError("The retry policy is no Schedule."))
  )

const hasDelay = (decision: unknown): boolean => Array.isArray(decision) && Duration.isDuration(decision[1])

// ---------------------------------------------------------------------------------------------------------------------
// Endings
// ---------------------------------------------------------------------------------------------------------------------

const closeMessage = (run: Run<AgentEvent>, fold: MessageFold, failure: Failure): AssistantMessage => {
  const message = fold.finish(failure instanceof ProviderError ? endingOfError(failure) : failure)
  if (!fold.isStarted) run.outbox.push({ type: "message_start", message })
  run.outbox.push({ type: "message_end", message })
  return message
}

const endingOfExit = (run: Run<AgentEvent>, exit: Exit.Failure<unknown, unknown>): Ending => {
  const failure = failureOf(run, exit)
  return failure instanceof ProviderError ? endingOfError(failure) : failure
}

const endingOf = (fold: MessageFold, failure: Failure | undefined): Failure => {
  if (failure !== undefined) return failure
  if (fold.fault !== undefined) return { stopReason: "error", errorMessage: fold.fault, error: errorOf("brokenStream") }
  const { reason, stopDetail, usage } = fold.done!
  return { stopReason: reason, stopDetail, usage }
}

const endingOfError = (error: ProviderError): Ending => ({
  stopReason: error.reason === "aborted" ? "aborted" : "error",
  errorMessage: error.message,
  usage: error.usage,
  error: responseError(error)
})

const failureOf = (run: Run<AgentEvent>, exit: Exit.Failure<unknown, unknown>): Failure => {
  if (wasAborted(run, exit)) return aborted
  if (Pull.isDoneCause(exit.cause)) return streamEnded
  const error = Cause.squash(exit.cause)
  return error instanceof ProviderError ? error : defect(error)
}

const streamEnded = new ProviderError({
  reason: "brokenStream",
  message: "The response's stream ended before the response was complete.",
  retryable: true
})

const defect = (error: unknown): Ending => ({
  stopReason: "error",
  errorMessage: describeDefect(error),
  error: errorOf("unknown")
})

const errorOf = (reason: ProviderError["reason"]): ResponseError => ({ reason, retryable: false })

const responseError = ({ reason, retryable, retryAfterMs }: ProviderError): ResponseError => ({
  reason,
  retryable,
  ...(retryAfterMs !== undefined && { retryAfterMs })
})

const retryEvent = (error: ProviderError, attempt: number, delay: Duration.Duration): AgentEvent => ({
  type: "retry",
  attempt,
  delayMs: Duration.toMillis(delay),
  error: responseError(error),
  errorMessage: error.message,
  ...(error.usage && { usage: error.usage })
})
