/**
 * The tool that runs a shell command in a process group of its own, with no input and one output.
 *
 * A command that ran gives a result, whatever its exit code: the text ends with a code that is not 0. Only a command that
 * could not be started is a failure, so that `isError` is about the tool and not about what was run (`grep` that finds
 * nothing exits with 1). A hook that wants it otherwise looks at `details.exitCode`.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as FileSystem from "effect/FileSystem"
import * as Latch from "effect/Latch"
import * as Option from "effect/Option"
import type * as PlatformError from "effect/PlatformError"
import type * as ChildProcessSpawner from "effect/process/ChildProcessSpawner"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Tool from "../Tool.ts"
import { Environment, withoutSecrets } from "./Environment.ts"
import * as Keep from "./internal/keep.ts"
import * as Output from "./internal/output.ts"
import { enter, find, kind, systemMessage, workingDirectory } from "./internal/paths.ts"
import * as Shell from "./internal/shell.ts"
import { clean, count, failure, orElse, plural, result } from "./internal/text.ts"
import { Workspace } from "./Workspace.ts"

export { MAX_BYTES, MAX_LINES } from "./internal/output.ts"
export { FORCE_KILL_AFTER } from "./internal/processes.ts"

/** How long a command may run, in seconds. */
export const DEFAULT_TIMEOUT = 120
export const MAX_TIMEOUT = 600
/** How often a running command is reported at most, and how much of the end of its output. */
export const UPDATE_INTERVAL = Duration.millis(100)
export const UPDATE_BYTES = 4 * 1024

const Parameters = Schema.Struct({
  command: Schema.String.check(Schema.isNonEmpty()).annotate({ description: "The command, as for `bash -c`" }),
  timeout: Schema.optionalKey(
    Schema.Finite.check(Schema.isGreaterThan(0), Schema.isLessThanOrEqualTo(MAX_TIMEOUT)).annotate({
      description: `Seconds until the command is stopped (default ${DEFAULT_TIMEOUT}, most ${MAX_TIMEOUT})`
    })
  )
})

type Services = ChildProcessSpawner.ChildProcessSpawner | FileSystem.FileSystem | Workspace

export const tool: Tool.Tool<typeof Parameters.Type, Services> = Tool.make({
  name: "bash",
  description:
    "Run a shell command in the working directory; each call starts a new shell. Gives stdout and stderr together, and the " +
    `exit code if it is not 0. Of a long output the beginning and the end are given, ${Output.MAX_LINES} lines and ` +
    `${Output.MAX_BYTES / 1024} KB at most, and the rest is kept in a file that the result names. The command has no input, ` +
    `no terminal and no keys or tokens in its environment, and is stopped after ${DEFAULT_TIMEOUT} seconds unless ` +
    `\`timeout\` says otherwise (at most ${MAX_TIMEOUT}). What it leaves in the background is stopped when it ends; start a ` +
    "server that is to stay with `setsid … >log 2>&1 &`.",
  parameters: Parameters,
  execute: Effect.fnUntraced(function* ({ command, timeout = DEFAULT_TIMEOUT }, call) {
    if (command.includes("\0")) return yield* failure("A command cannot have a NUL character: printf can print one.")
    const cwd = yield* workingDirectory
    const found = yield* find(cwd)
    if (found.info.type !== "Directory") return yield* failure(`The working directory ${cwd} is ${kind(found.info)}.`)
    yield* enter(found, "run commands in")
    return yield* closingInBackground(run(command, cwd, Duration.seconds(timeout), call))
  })
})

/**
 * What a command leaves in the background is told to end when its result is given, but not waited for. An interrupt does
 * wait, until nothing of the command runs.
 */
const closingInBackground = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, Exclude<R, Scope.Scope>> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const exit = yield* Effect.exit(restore(Scope.provide(effect, scope)))
      const close = Scope.close(scope, exit)
      yield* Exit.isSuccess(exit) ? Effect.forkDetach(close, { startImmediately: true }) : close
      return yield* exit
    })
  )

const run = Effect.fnUntraced(function* (command: string, cwd: string, timeout: Duration.Duration, call: Tool.Call) {
  const shell = yield* start(command, cwd)
  const output = Output.make()
  const keep = yield* Keep.make
  const news = Latch.makeUnsafe()

  const add = (chunk: Uint8Array) => {
    if (chunk.length === 0) return Effect.void
    // The file begins with all that was kept until now: it is made while nothing has been dropped yet.
    const overflows = output.bytes() + chunk.length > Output.MAX_BYTES
    const before = overflows && output.bytes() <= Output.MAX_BYTES ? output.kept() : undefined
    output.add(chunk)
    news.openUnsafe()
    if (before !== undefined) return Effect.andThen(keep.write(before), keep.write(chunk))
    return overflows ? keep.write(chunk) : Effect.void
  }
  let exitCode: number | undefined
  const reader = yield* Stream.runForEachWhile(shell.stdout, (chunk) => {
    const seen = shell.mark.push(chunk)
    exitCode = seen.exitCode
    return Effect.as(add(seen.output), exitCode === undefined)
  }).pipe(Effect.ensuring(Effect.suspend(() => add(shell.mark.rest()))), Effect.forkScoped({ startImmediately: true }))
  yield* Effect.forkScoped(report(output, news, call))

  // Without a mark the outer shell died as well: then there is no more to come than what is on its way.
  const drained = Effect.timeoutOption(Fiber.await(reader), DRAIN)
  const ended = Effect.raceFirst(Fiber.await(reader), Effect.andThen(Effect.exit(shell.exitCode), drained))
  const isDone = Option.isSome(yield* Effect.timeoutOption(ended, timeout))
  if (!isDone) yield* Effect.andThen(shell.end, drained)
  const how = isDone ? yield* ending(exitCode, shell.exitCode) : timedOut(timeout)

  const parts = output.parts()
  if (!parts.isWhole && output.bytes() <= Output.MAX_BYTES) yield* keep.write(output.kept())
  const kept = keep.kept()
  if (kept !== undefined) (yield* Workspace).admit(kept.path)
  return render(output, parts, kept, how)
})

/** How long what a killed command had printed is waited for. */
const DRAIN = Duration.seconds(1)

const start = (command: string, cwd: string) =>
  Effect.gen(function* () {
    return yield* Shell.start(command, { cwd, env: withoutSecrets(yield* Environment) })
  }).pipe(
    Effect.mapError((error) => cannotStart(systemMessage(error), error)),
    // Node throws what it does not expect of the system: a command that is too long, say.
    Effect.catchDefect((defect) => Effect.fail(cannotStart(Tool.describeDefect(defect), defect)))
  )

const cannotStart = (why: string, cause: unknown): Tool.ToolFailure =>
  /\bE2BIG\b/.test(why)
    ? failure("The command is longer than the system takes. Write it to a file, and run that.", cause)
    : failure(`The command could not be started: ${why}`, cause)

/** At once, and then at most once an interval, while there is something new. */
const report = (output: Output.Output, news: Latch.Latch, call: Tool.Call): Effect.Effect<never> =>
  Effect.gen(function* () {
    yield* news.await
    yield* news.close
    yield* call.update(clean(output.tail(UPDATE_BYTES)))
    yield* Effect.sleep(UPDATE_INTERVAL)
  }).pipe(Effect.forever)

// ---------------------------------------------------------------------------------------------------------------------
// The result
// ---------------------------------------------------------------------------------------------------------------------

interface Ending {
  readonly exitCode: number | null
  readonly timedOut: boolean
  readonly note: string | undefined
}

const timedOut = (timeout: Duration.Duration): Ending => {
  const note = `Stopped: it had not ended after ${Duration.toSeconds(timeout)} seconds.`
  return { exitCode: null, timedOut: true, note }
}

const ending = Effect.fnUntraced(function* (
  exitCode: number | undefined,
  outerShell: Effect.Effect<number, PlatformError.PlatformError>
): Effect.fn.Return<Ending> {
  if (exitCode !== undefined) {
    return { exitCode, timedOut: false, note: exitCode === 0 ? undefined : `Exit code ${exitCode}` }
  }
  // The outer shell died as well: of a signal to the whole group, as from `kill 0`.
  const end = yield* Effect.result(outerShell)
  if (Result.isSuccess(end)) return { exitCode: null, timedOut: false, note: "Killed: its exit code is not known" }
  const name = /signal: '(\w+)'/.exec(systemMessage(end.failure))?.[1] ?? "an unknown signal"
  const number = SIGNALS[name]
  return number === undefined
    ? { exitCode: null, timedOut: false, note: `Killed by ${name}` }
    : { exitCode: 128 + number, timedOut: false, note: `Exit code ${128 + number}: killed by ${name}` }
})

/** The signals that have the same number on every system. */
const SIGNALS: { readonly [name: string]: number | undefined } = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGILL: 4,
  SIGTRAP: 5,
  SIGABRT: 6,
  SIGFPE: 8,
  SIGKILL: 9,
  SIGSEGV: 11,
  SIGPIPE: 13,
  SIGALRM: 14,
  SIGTERM: 15
}

type Kept = ReturnType<Keep.Keep["kept"]>

const render = (output: Output.Output, parts: Output.Parts, kept: Kept, { note, ...how }: Ending) => {
  const details = {
    ...how,
    bytes: output.bytes(),
    lines: output.lines(),
    truncated: !parts.isWhole,
    ...(kept && { fullOutputPath: kept.path, fullOutputIsWhole: kept.isWhole })
  }
  const text = parts.isWhole
    ? orElse(parts.text, "(no output)")
    : `${parts.head.trimEnd()}\n\n[${middle(output, kept)}]\n\n${parts.tail}`
  return result(note === undefined ? text : `${text.trimEnd()}\n\n[${note}]`, details)
}

const middle = (output: Output.Output, kept: Kept): string => {
  const size = `${count(output.bytes())} bytes, ${plural(output.lines(), "line")}`
  const where = kept && ` ${kept.isWhole ? "All of it is" : "The start of it is"} in ${kept.path}.`
  return `The middle is left out of ${size}.${where ?? ""}`
}
