/**
 * The program as a process: its outputs, its signals and its end. Nothing else touches the process.
 *
 * A write is over when the system has taken the text: nothing is lost when the process then ends, and the two outputs stay
 * in step. The process ends when the program does, whatever is left behind in it.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Cause from "effect/Cause"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { constVoid } from "effect/Function"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as PlatformError from "effect/PlatformError"
import * as Runtime from "effect/Runtime"
import * as Sink from "effect/Sink"
import * as Stdio from "effect/Stdio"
import { promisify } from "node:util"
import { ERROR } from "./failures.ts"
import { sanitize } from "./sanitize.ts"

// ---------------------------------------------------------------------------------------------------------------------
// Outputs
// ---------------------------------------------------------------------------------------------------------------------

const output = (method: "stdout" | "stderr") => {
  const stream: NodeJS.WritableStream = process[method]
  // A write that fails is told of it by its callback. Node tells the stream as well, and ends the process if nobody listens.
  stream.on("error", constVoid)
  const write = promisify((text: string | Uint8Array, done: (error?: Error | null) => void) => stream.write(text, done))
  return Sink.forEach((text: string | Uint8Array) =>
    Effect.tryPromise({
      try: () => write(text),
      catch: (cause) => PlatformError.systemError({ module: "Stdio", method, _tag: "Unknown", cause })
    })
  )
}

const stdio = Layer.effect(
  Stdio.Stdio,
  Effect.gen(function* () {
    const [stdout, stderr] = [output("stdout"), output("stderr")]
    return Stdio.make({ ...(yield* Stdio.Stdio), stdout: () => stdout, stderr: () => stderr })
  })
)

// Standard output is for the answer or the events alone. What is logged may quote a model or a tool.
const logger = Logger.layer([Logger.withConsoleError(Logger.map(Logger.formatSimple, sanitize))])

/** The services of Node, with outputs that wait, and a log on standard error. */
export const layer = Layer.mergeAll(Layer.provideMerge(stdio, NodeServices.layer), logger)

// ---------------------------------------------------------------------------------------------------------------------
// Signals and end
// ---------------------------------------------------------------------------------------------------------------------

/** How long a program that was told to end may take for it: the grace period of a run, and what comes after it. */
export const LAST_WORDS: Duration.Input = "8 seconds"

/**
 * Runs a program that gives its exit code. The first signal interrupts it, so that it can show what is there and clean up;
 * the process then exits with 128 and the signal's number. The second signal, or the end of `LAST_WORDS`, ends it at once.
 *
 * What fails outside of every fiber is handed to `tell`, and ends the process: nothing is known of the program after that.
 */
export const runMain = (program: Effect.Effect<number>, tell: (cause: Cause.Cause<never>) => Effect.Effect<number>) =>
  Runtime.makeRunMain(({ fiber, teardown }) => {
    let signalled: number | undefined
    const onSignal = (_: NodeJS.Signals, number: number) => {
      if (signalled !== undefined) process.exit(signalled)
      signalled = 128 + number
      fiber.interruptUnsafe()
      exitWith(Effect.delay(Effect.succeed(signalled), LAST_WORDS))
    }
    process.on("SIGINT", onSignal).on("SIGTERM", onSignal).on("SIGHUP", onSignal)
    process.on("uncaughtException", (defect) => exitWith(tell(Cause.die(defect))))
    fiber.addObserver((exit) => teardown(exit, (code) => process.exit(signalled ?? code)))
  })(program, { disableErrorReporting: true, teardown: (exit, onExit) => onExit(exitCode(exit)) })

const exitWith = (program: Effect.Effect<number>) =>
  Effect.runFork(program).addObserver((exit) => process.exit(exitCode(exit)))

const exitCode = (exit: Exit.Exit<unknown, unknown>): number =>
  Exit.isSuccess(exit) && typeof exit.value === "number" ? exit.value : ERROR
