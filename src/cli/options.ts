/**
 * The options of the program, and how the words of a command line are read as such. What is not an option is refused with
 * one sentence; that a folder exists or a tool has some name is checked later, by what uses it.
 */
import * as CliConfig from "effect/cli/CliConfig"
import type * as CliError from "effect/cli/CliError"
import * as CliOutput from "effect/cli/CliOutput"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as GlobalFlag from "effect/cli/GlobalFlag"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { ThinkingLevel } from "../services/Provider.ts"
import { DEFAULT_MAX_ELAPSED, DEFAULT_MAX_RETRIES } from "../RetryPolicy.ts"
import { UsageError } from "./failures.ts"
import { providers } from "./providers.ts"

const readNames = (text: string): Option.Option<ReadonlyArray<string>> => {
  const names = text.split(",").map((name) => name.trim())
  if (names.includes("")) return Option.none()
  return Option.some(names.length === 1 && names[0] === "none" ? [] : names)
}

const readCount = (text: string): Option.Option<number> =>
  /^[1-9][0-9]{0,8}$/.test(text) ? Option.some(Number(text)) : Option.none()

const readCountOrZero = (text: string): Option.Option<number> => (text === "0" ? Option.some(0) : readCount(text))

const readSeconds = (text: string): Option.Option<number> =>
  /^[0-9]{1,6}(\.[0-9]{1,3})?$/.test(text) ? Option.some(Number(text)) : Option.none()

const readWord = (text: string): Option.Option<string> => (text.trim() === "" ? Option.none() : Option.some(text))

/** What both commands take. */
const shared = {
  mode: Flag.Literals("mode", ["text", "json"]).pipe(
    Flag.withDescription("text: the answer as it comes; json: every event of the run, or every model, one a line"),
    Flag.withDefault("text" as const)
  ),
  baseUrl: Flag.String("base-url").pipe(
    Flag.withMetavar("url"),
    Flag.withDescription("Where the Messages API is, without /v1; ANTHROPIC_BASE_URL, or Anthropic, unless given"),
    Flag.optional
  ),
  apiKeyEnv: Flag.String("api-key-env").pipe(
    Flag.withMetavar("name"),
    Flag.withDescription("The environment variable that has the API key; ANTHROPIC_API_KEY unless given"),
    Flag.optional
  )
}

const parameters = {
  prompt: Argument.String("prompt").pipe(
    Argument.withDescription("What to do, in one or more words; - reads it from standard input"),
    Argument.variadic()
  ),
  fullUpdates: Flag.Boolean("full-updates").pipe(
    Flag.withDescription("With --mode json: the message so far in each message_update, not only what was added"),
    Flag.withDefault(false)
  ),
  provider: Flag.Literals("provider", Object.keys(providers)).pipe(
    Flag.withDescription("Who answers: anthropic where there is a key, else offline, a stand-in for a model"),
    Flag.optional
  ),
  model: Flag.String("model").pipe(
    Flag.withMetavar("id"),
    Flag.withDescription("The provider's name of the model"),
    Flag.filterMap(readWord, () => "a name"),
    Flag.optional
  ),
  thinking: Flag.Literals("thinking", ThinkingLevel.literals).pipe(
    Flag.withDescription("How hard the model is to think"),
    Flag.withDefault("off" as const)
  ),
  tools: Flag.String("tools").pipe(
    Flag.withMetavar("names"),
    Flag.withDescription(
      "The tools that the model may use (read, ls, grep, find, edit, write, bash), with commas between; none: no tools"
    ),
    Flag.filterMap(readNames, () => "names of tools with commas between, or none"),
    Flag.optional
  ),
  cwd: Flag.String("cwd").pipe(
    Flag.withMetavar("folder"),
    Flag.withDescription("The folder to work in; the current one unless given"),
    Flag.optional
  ),
  maxTurns: Flag.String("max-turns").pipe(
    Flag.withMetavar("number"),
    Flag.withDescription("The greatest number of responses; a run that needs more ends with exit code 3"),
    Flag.filterMap(readCount, () => "a whole number from 1"),
    Flag.optional
  ),
  retries: Flag.String("retries").pipe(
    Flag.withMetavar("number"),
    Flag.withDescription(
      `How often a response that failed is asked for again, within ${Duration.toMinutes(DEFAULT_MAX_ELAPSED)} minutes; ${DEFAULT_MAX_RETRIES} unless given, 0 for never`
    ),
    Flag.filterMap(readCountOrZero, () => "a whole number from 0"),
    Flag.optional
  ),
  idleTimeout: Flag.String("idle-timeout").pipe(
    Flag.withMetavar("seconds"),
    Flag.withDescription(
      "How long a response may be silent before it fails; 300 unless given, 0 for as long as it likes"
    ),
    Flag.filterMap(readSeconds, () => "a number of seconds from 0 to 999999"),
    Flag.optional
  ),
  usage: Flag.Boolean("usage").pipe(
    Flag.withDescription("At the end, the tokens that the run has used and what they cost, on standard error"),
    Flag.withDefault(false)
  ),
  script: Flag.String("script").pipe(
    Flag.withMetavar("file"),
    Flag.withDescription("Plays the answers of a JSON file, for tests and demonstrations"),
    Flag.optional
  )
}

const command = Command.make("effect-agent", parameters).pipe(
  Command.withSharedFlags(shared),
  Command.withDescription(
    [
      "Answers a question, or does a piece of work, with the files of a folder.",
      "",
      "The answer goes to standard output; tool calls and all else go to standard error. In both, control characters are",
      "shown as signs (␛), also when the output is a file or a pipe: --mode json has every text as it was, escaped.",
      "",
      "Exit codes: 0 done, 1 error, 2 wrong usage, 3 turn limit, 130 interrupted (143 terminated), 141 output closed."
    ].join("\n  ")
  ),
  Command.withExamples([
    { command: 'effect-agent "what scripts does package.json define?"', description: "Ask about the current folder" },
    { command: "git diff | effect-agent --mode json -", description: "Take the prompt from a pipe, give events" },
    { command: "effect-agent models", description: "List the models of --provider anthropic, and what they can do" }
  ])
)

const models = Command.make("models").pipe(
  Command.withDescription("Lists the models of --provider anthropic, and what they can do.")
)

export type ModelsOptions = Command.Command.Config.Infer<typeof shared>
export type Options = Command.Command.Config.Infer<typeof parameters> & ModelsOptions

/** What a command line asks for. */
export type Request =
  | { readonly _tag: "Run"; readonly options: Options }
  | { readonly _tag: "Models"; readonly options: ModelsOptions }

/** Reads a command line. None: help or the version was asked for, and shown. */
export const parse = Effect.fnUntraced(function* (args: ReadonlyArray<string>, version: string) {
  let request = Option.none<Request>()
  const keep = (asked: Request) =>
    Effect.sync(() => {
      request = Option.some(asked)
    })
  const reading = Command.withHandler(command, (options) => keep({ _tag: "Run", options })).pipe(
    Command.withSubcommands([
      Command.withHandler(models, () => Effect.flatMap(command, (options) => keep({ _tag: "Models", options })))
    ])
  )
  yield* Command.runWith(reading, { version, renderErrors: false })(args).pipe(
    Effect.mapError((error) => new UsageError({ message: describe(error) })),
    Effect.provideService(CliConfig.CliConfig, { builtIns: [GlobalFlag.Help, GlobalFlag.Version] }),
    Effect.provideService(CliOutput.Presenter, presenter)
  )
  if (Option.isSome(request) && request.value._tag === "Run") {
    const { fullUpdates, mode } = request.value.options
    if (fullUpdates && mode !== "json") return yield* new UsageError({ message: "--full-updates is for --mode json." })
  }
  return request
})

/** Shows what was asked for; a mistake gets its sentence, and not the whole help. */
const presenter: CliOutput.Presenter = {
  present: (event) =>
    event._tag === "Help" && event.reason === "Implicit" ? Effect.void : CliOutput.defaultPresenter.present(event)
}

const describe = (error: CliError.CliError): string => {
  switch (error._tag) {
    case "ShowHelp":
      return error.errors.slice(0, 1).map(describe).join("")
    case "UnrecognizedOption": {
      const guess = error.suggestions.length === 0 ? "" : ` (did you mean ${error.suggestions.join(" or ")}?)`
      const command = error.command?.includes("models") === true ? " of the command models" : ""
      return `There is no option ${error.option}${command}${guess}; --help shows them all.`
    }
    case "UnexpectedArgument":
      return "The command models takes no words. Put quotes around a prompt that begins with it."
    case "InvalidValue":
      return error.value === ""
        ? `--${error.option} needs a value: ${error.expected}.`
        : `--${error.option} cannot be "${error.value}": expected ${error.expected.replace(/^Expected /, "")}.`
    default:
      return error.message
  }
}
