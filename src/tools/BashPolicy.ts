/**
 * A hook that decides which commands `bash` may run: by patterns, and where these do not decide, by asking.
 *
 * It reads a command as the shell would. What it does not understand for certain is never allowed by a pattern, and a
 * pattern that denies is held against all that the command might run. It is a rule for a model that means well: one that
 * sets out to get round it can, with a program that it writes itself. What must hold needs a sandbox.
 */
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import { allow, type BeforeToolCall, block, type Hooks, type ToolCallDecision } from "../services/Hooks.ts"
import * as Bash from "./Bash.ts"
import { matches, parse, readings } from "./internal/commands.ts"
import { showName } from "./internal/text.ts"

/**
 * A pattern is a command of which `*` stands for any text, and ` *` at the end also for nothing: `git log *` is `git log`
 * with any arguments or none. Commands are compared word by word, without quotes and needless blanks.
 */
export interface Options<out R = never> {
  /**
   * What runs without a question. Each command of a script must fit one, and the script must have nothing else in it that
   * matters: no variable, substitution or assignment, no file that is written.
   */
  readonly allow?: ReadonlyArray<string> | undefined
  /** What never runs, whatever is allowed: `rm *` is also `sudo rm`, `/bin/rm`, `$(rm …)` and `sh -c "rm …"`. */
  readonly deny?: ReadonlyArray<string> | undefined
  /**
   * Asked about all that no pattern decides, one call at a time and in source order; an abort of the run ends the wait.
   * Without it such commands run if there is no `allow`, and are refused if there is.
   */
  readonly ask?: ((question: Question) => Effect.Effect<ToolCallDecision, never, R>) | undefined
}

export interface Question {
  /** The whole command, as the model gave it. */
  readonly command: string
  /** Those of its commands that no pattern allows; empty where it is refused for what stands around them. */
  readonly undecided: ReadonlyArray<string>
  readonly call: BeforeToolCall
}

/** Hooks for `Hooks.combine`, `Hooks.layer`, an agent or a run. Calls of other tools are not looked at. */
export const make = <R = never>(options: Options<R>): Hooks<R> => ({
  beforeToolCall: (call) => {
    if (call.toolCall.name !== Bash.tool.name) return Effect.succeed(allow)
    const command = commandOf(call.args)
    if (command !== undefined && command.length > MAX_LENGTH) return Effect.succeed(block(TOO_LONG))
    return command === undefined ? Effect.succeed(block("The command cannot be read.")) : decide(options, command, call)
  }
})

/** Longer commands are refused, in UTF-16 code units: not many systems could start them. */
export const MAX_LENGTH = 100_000

const TOO_LONG = "The command is too long to be looked at. Write it to a file, and run that."

const commandOf = (args: unknown): string | undefined =>
  Predicate.hasProperty(args, "command") && typeof args.command === "string" ? args.command : undefined

const decide = <R>(
  options: Options<R>,
  command: string,
  call: BeforeToolCall
): Effect.Effect<ToolCallDecision, never, R> => {
  const denied = denial(options.deny ?? [], command)
  if (denied !== undefined) return Effect.succeed(block(denied))
  const { commands, isPlain } = parse(command)
  const undecided = commands
    .map((words) => words.join(" "))
    .filter((one) => !(options.allow ?? []).some((pattern) => matches(pattern, one)))
  if (isPlain && undecided.length === 0) return Effect.succeed(allow)
  if (options.ask !== undefined) return options.ask({ command, undecided, call })
  return Effect.succeed(options.allow === undefined ? allow : block(notAllowed(undecided, options.allow)))
}

const denial = (patterns: ReadonlyArray<string>, command: string): string | undefined => {
  if (patterns.length === 0) return undefined
  for (const reading of readings(command)) {
    const pattern = patterns.find((one) => matches(one, reading))
    if (pattern !== undefined) return `${showName(reading)} may not be run here (by the pattern ${pattern}).`
  }
  return undefined
}

const notAllowed = (undecided: ReadonlyArray<string>, patterns: ReadonlyArray<string>): string => {
  const allowed = patterns.length === 0 ? "No command is allowed." : `Allowed: ${patterns.join(", ")}.`
  return undecided.length === 0
    ? `Without someone to ask, a command may have no variables, substitutions or files that are written. ${allowed}`
    : `${undecided.slice(0, 3).map(showName).join(", ")} may not be run here. ${allowed}`
}
