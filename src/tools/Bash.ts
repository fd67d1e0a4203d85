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
import * as ChildProcess from "effect/process/ChildProcess"
import type * as ChildProcessSpawner from "effect/process/ChildProcessSpawner"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Tool from "../Tool.ts"
import { Environment, withoutSecrets } from "./Environment.ts"
import * as Keep from "./internal/keep.ts"
import * as Output from "./internal/output.ts"
import { find, kind, systemMessage, workingDirectory } from "./internal/paths.ts"
import { clean, count, failure, orElse, plural, result } from "./internal/text.ts"
import type { Workspace } from "./Workspace.ts"

export { MAX_BYTES, MAX_LINES } from "./internal/output.ts"

/** How long a command may run, in seconds. */
export const DEFAULT_TIMEOUT = 120
export const MAX_TIMEOUT = 600
/** How long a command that is stopped has before it is killed. */
export const FORCE_KILL_AFTER = Duration.seconds(1)
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
    `${Output.MAX_BYTES / 1024} KB at most, and the whole is kept in a file that the result names. The command has no input ` +
    `and is stopped after ${DEFAULT_TIMEOUT} seconds unless \`timeout\` says otherwise (at most ${MAX_TIMEOUT}). ` +
    "What it leaves in the background is stopped when it ends; start a server that is to stay with " +
    "`setsid … >log 2>&1 &`.",
  parameters: Parameters,
  execute: Effect.fnUntraced(function* ({ command, timeout = DEFAULT_TIMEOUT }, call) {
    const cwd = yield* workingDirectory
    const { info } = yield* find(cwd)
    if (info.type !== "Directory") return yield* failure(`The working directory ${cwd} is ${kind(info)}.`)
    return yield* closingInBackground(run(command, cwd, Duration.seconds(timeout), call))
  })
})

/**
 * What a command leaves in the background is told to end before its result is given, but not waited for: killed processes
 * can linger for seconds where nobody collects them, as in a container. An interrupt does wait for their end.
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
  const handle = yield* start(command, cwd)
  const output = Output.make()
  const keep = yield* Keep.make
  const news = Latch.makeUnsafe()

  const reader = yield* handle.all.pipe(
    Stream.runForEach((chunk) => {
      // The file begins with all that was kept until now: it is made while nothing has been dropped yet.
      const overflows = output.bytes() + chunk.length > Output.MAX_BYTES
      const before = overflows && output.bytes() <= Output.MAX_BYTES ? output.kept() : undefined
      output.add(chunk)
      news.openUnsafe()
      if (before !== undefined) return Effect.andThen(keep.write(before), keep.write(chunk))
      return overflows ? keep.write(chunk) : Effect.void
    }),
    Effect.forkScoped({ startImmediately: true })
  )
  yield* Effect.forkScoped(report(output, news, call))

  const code = yield* Effect.result(handle.exitCode).pipe(Effect.timeoutOption(timeout))
  if (Option.isNone(code)) yield* Effect.ignore(handle.kill({ forceKillAfter: FORCE_KILL_AFTER }))
  yield* drain(reader, output)

  const parts = output.parts()
  if (!parts.isWhole && output.bytes() <= Output.MAX_BYTES) yield* keep.write(output.kept())
  return render(output, parts, keep, ending(code, timeout))
})

/**
 * The outer shell stays, and so sees a death by signal as 128 and the signal's number. It joins stderr to stdout before the
 * command starts: two pipes would lose the order in which things were printed.
 */
const WRAPPER = 'if command -v bash >/dev/null 2>&1; then bash -c "$1" 2>&1; else sh -c "$1" 2>&1; fi; exit $?'

const start = (command: string, cwd: string) =>
  Effect.gen(function* () {
    const env = withoutSecrets(yield* Environment)
    const options = { cwd, env, stdin: "ignore", forceKillAfter: FORCE_KILL_AFTER } as const
    return yield* ChildProcess.make("sh", ["-c", WRAPPER, "sh", command], options)
  }).pipe(
    Effect.mapError((error) => cannotStart(systemMessage(error), error)),
    // Node throws what it does not expect of the system: a command that is too long, say.
    Effect.catchDefect((defect) => Effect.fail(cannotStart(Tool.describeDefect(defect), defect)))
  )

const cannotStart = (why: string, cause: unknown): Tool.ToolFailure =>
  failure(`The command could not be started: ${why}`, cause)

/** At once, and then at most once an interval, while there is something new. */
const report = (output: Output.Output, news: Latch.Latch, call: Tool.Call): Effect.Effect<never> =>
  Effect.gen(function* () {
    yield* news.await
    yield* news.close
    yield* call.update(clean(output.tail(UPDATE_BYTES)))
    yield* Effect.sleep(UPDATE_INTERVAL)
  }).pipe(Effect.forever)

/**
 * Waits for what a command that has ended had still to say. A process that it left in the background can keep the output
 * open: then a while of silence counts as the end, and so does a longer while without.
 */
const drain = Effect.fnUntraced(function* (reader: Fiber.Fiber<unknown, unknown>, output: Output.Output) {
  // Counted in short waits: each lets the system hand over what is there, however busy this process is.
  for (let waits = 0, silent = 0; waits < 50 && silent < 5; waits++) {
    const before = output.bytes()
    const ended = yield* Effect.timeoutOption(Fiber.await(reader), "20 millis")
    if (Option.isSome(ended)) return
    silent = output.bytes() === before ? silent + 1 : 0
  }
})

// ---------------------------------------------------------------------------------------------------------------------
// The result
// ---------------------------------------------------------------------------------------------------------------------

interface Ending {
  readonly exitCode: number | null
  readonly timedOut: boolean
  readonly note: string | undefined
}

const ending = (
  code: Option.Option<Result.Result<number, PlatformError.PlatformError>>,
  timeout: Duration.Duration
): Ending => {
  if (Option.isNone(code)) {
    const note = `Stopped: it had not ended after ${Duration.toSeconds(timeout)} seconds.`
    return { exitCode: null, timedOut: true, note }
  }
  if (Result.isSuccess(code.value)) {
    const exitCode = code.value.success
    return { exitCode, timedOut: false, note: exitCode === 0 ? undefined : `Exit code ${exitCode}` }
  }
  // The outer shell died as well: a signal to the whole group, as from `kill 0`.
  const name = /signal: '(\w+)'/.exec(systemMessage(code.value.failure))?.[1] ?? "an unknown signal"
  const number = SIGNALS[name]
  return number === undefined
    ? { exitCode: null, timedOut: false, note: `Killed by ${name}` }
    : { exitCode: 128 + number, timedOut: false, note: `Exit code ${128 + number}: killed by ${name}` }
}

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

const render = (output: Output.Output, parts: Output.Parts, keep: Keep.Keep, { note, ...how }: Ending) => {
  const kept = keep.kept()
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

const middle = (output: Output.Output, kept: ReturnType<Keep.Keep["kept"]>): string => {
  const size = `${count(output.bytes())} bytes, ${plural(output.lines(), "line")}`
  const where = kept && ` ${kept.isWhole ? "All of it is" : "The start of it is"} in ${kept.path}.`
  return `The middle is left out of ${size}.${where ?? ""}`
}
