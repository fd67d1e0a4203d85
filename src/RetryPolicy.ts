/**
 * When a response that failed is asked for again: a `Schedule` over the failures of one response, so that what serves a run
 * also serves `Effect.retry` and an `ExecutionPlan`, and policies are put together as schedules are.
 *
 * A run asks its policy only after a failure that is retryable, and starts it anew for each response.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type { ProviderError } from "./services/Provider.ts"

/**
 * Gets each failure of a response; its delay is how long the run waits before it asks again, whatever its output. Where it
 * is done, or its delay is infinite, the failure stands. The time that a schedule sees begins with the first failure.
 */
export type RetryPolicy<R = never> = Schedule.Schedule<unknown, ProviderError, never, R>

export interface Options {
  /** How often a response is asked for again at most, after the first time. */
  readonly maxRetries?: number | undefined
  /** The first delay where the provider names none. Each further one is twice as long, give or take a fifth. */
  readonly baseDelay?: Duration.Input | undefined
  /** The greatest delay, also where the provider asks for a longer one. */
  readonly maxDelay?: Duration.Input | undefined
  /** No attempt begins later than this after the first failure of a response. */
  readonly maxElapsed?: Duration.Input | undefined
}

export const DEFAULT_MAX_RETRIES = 5
export const DEFAULT_BASE_DELAY = Duration.seconds(1)
export const DEFAULT_MAX_DELAY = Duration.minutes(1)
export const DEFAULT_MAX_ELAPSED = Duration.minutes(5)

/**
 * Waits as long as the provider asks to, else longer each time, up to the limits. It does not retry what is not retryable,
 * whoever asks.
 */
export const make = (options: Options = {}): RetryPolicy => {
  const maxRetries = options.maxRetries ?? DEFAULT_MAX_RETRIES
  const maxDelay = Duration.toMillis(options.maxDelay ?? DEFAULT_MAX_DELAY)
  const maxElapsed = Duration.toMillis(options.maxElapsed ?? DEFAULT_MAX_ELAPSED)
  return Schedule.exponential(options.baseDelay ?? DEFAULT_BASE_DELAY).pipe(
    Schedule.jittered,
    Schedule.setInputType<ProviderError>(),
    Schedule.modifyDelay(({ input, duration }) =>
      Effect.succeed(Math.min(Math.round(input.retryAfterMs ?? Duration.toMillis(duration)), maxDelay))
    ),
    Schedule.while(
      ({ input, attempt, elapsed, duration }) =>
        input.retryable && attempt <= maxRetries && elapsed + Duration.toMillis(duration) <= maxElapsed
    )
  )
}

/** The policy of agents and of the command line, unless they are told otherwise. */
export const standard: RetryPolicy = make()
