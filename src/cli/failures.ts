/**
 * What can go wrong around a run, and the program's exit codes. Each failure is one sentence for a person; a stack trace is
 * shown only where `EFFECT_AGENT_DEBUG` is set.
 */
import * as Cause from "effect/Cause"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import type * as PlatformError from "effect/PlatformError"
import * as Predicate from "effect/Predicate"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { EndReason } from "../AgentEvent.ts"

/** The program was called in a way that makes no sense. */
export class UsageError extends Schema.TaggedError<UsageError>()("UsageError", { message: Schema.String }) {}

/** Standard output took no more. */
export class OutputError extends Schema.TaggedError<OutputError>()("OutputError", {
  message: Schema.String,
  /** Whether its reader has gone, as `head` does when it has seen enough: no fault, and nothing to say. */
  isClosed: Schema.Boolean
}) {}

export const exitCodes: Readonly<Record<EndReason, number>> = {
  completed: 0,
  terminated: 0,
  stopped: 0,
  error: 1,
  limit: 3,
  aborted: 130
}
export const ERROR = 1
export const USAGE = 2
/** 128 and the number of SIGPIPE, as for a program that this signal ends. */
export const CLOSED = 141

/** What a person is told of a failure, if anything, and the code to exit with. */
export interface Report {
  readonly message: string | undefined
  readonly exitCode: number
}

export const report = Effect.fnUntraced(function* (cause: Cause.Cause<UsageError | OutputError>) {
  const error = Cause.findErrorOption(cause)
  if (Option.isSome(error)) return describeFailure(error.value)
  const debug = yield* Effect.orElseSucceed(Config.String("EFFECT_AGENT_DEBUG"), () => "")
  return { message: debug === "" ? describeDefect(cause) : Cause.pretty(cause), exitCode: ERROR }
})

const describeFailure = (error: UsageError | OutputError): Report => {
  if (error._tag === "UsageError") return { message: flatten(error.message), exitCode: USAGE }
  return { message: error.isClosed ? undefined : flatten(error.message), exitCode: error.isClosed ? CLOSED : ERROR }
}

const describeDefect = (cause: Cause.Cause<unknown>): string =>
  flatten(
    `a fault of the program itself (EFFECT_AGENT_DEBUG=1 shows where): ${Cause.prettyErrors(cause)[0]?.message ?? "it was interrupted"}`
  )

const flatten = (text: string): string => text.trim().replace(/\s*\n\s*/g, " ")

/** What the system says of a failure, without the names that the platform layer adds. */
export const systemMessage = ({ message, reason }: PlatformError.PlatformError): string =>
  reason.cause instanceof Error ? reason.cause.message : message

/** The system's code for it, such as `EPIPE`. */
export const systemCode = ({ reason }: PlatformError.PlatformError): unknown =>
  Predicate.hasProperty(reason.cause, "code") ? reason.cause.code : undefined
