/**
 * One run as the options ask for it: finds the folder, the provider and the tools, reads the prompt, and prints what happens.
 * Loaded when it is needed, since `--help` and mistakes need none of it.
 */
import * as Clock from "effect/Clock"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Record from "effect/Record"
import * as Stdio from "effect/Stdio"
import * as Loop from "../Loop.ts"
import * as RetryPolicy from "../RetryPolicy.ts"
import { Environment } from "../tools/Environment.ts"
import * as Tools from "../tools/Tools.ts"
import { Workspace } from "../tools/Workspace.ts"
import { systemMessage, UsageError } from "./failures.ts"
import * as Json from "./json.ts"
import type { Options } from "./options.ts"
import { type Format, print } from "./print.ts"
import { readPrompt } from "./prompt.ts"
import { choose } from "./providers.ts"
import * as Text from "./text.ts"
import { withUsage } from "./usage.ts"

export const run = Effect.fnUntraced(function* (options: Options) {
  const cwd = yield* findFolder(options.cwd)
  const tools = yield* findTools(options.tools)
  const provider = yield* choose(options)
  const prompt = yield* readPrompt(options.prompt)
  const events = Loop.run({
    prompts: [{ role: "user", content: [{ type: "text", text: prompt }], timestamp: yield* Clock.currentTimeMillis }],
    systemPrompt: systemPrompt(cwd),
    tools,
    model: { id: Option.getOrElse(options.model, () => provider.model), provider: provider.name },
    thinkingLevel: options.thinking,
    maxTurns: Option.getOrUndefined(options.maxTurns),
    retry: RetryPolicy.make({ maxRetries: Option.getOrUndefined(options.retries) })
  })
  const printWith = <State>(format: Format<State>) => print(events, options.usage ? withUsage(format) : format)
  const printing =
    options.mode === "json"
      ? printWith(Json.format({ fullUpdates: options.fullUpdates }))
      : printWith(Text.format({ colours: yield* canColour }))
  return yield* printing.pipe(
    Effect.provide([provider.layer, Workspace.layer({ root: cwd })]),
    Effect.provideService(Environment, yield* withoutKey(options.apiKeyEnv))
  )
})

const systemPrompt = (cwd: string) =>
  `You answer questions about the files of the folder ${cwd} and work on them, with the tools you are given. ` +
  "Look before you answer: say what the files say, and say so where you could not find out. " +
  "Your answer is shown as plain text in a terminal."

const findFolder = Effect.fnUntraced(function* (folder: Option.Option<string>) {
  const path = yield* Path.Path
  if (Option.isNone(folder)) return path.resolve(".")
  const fs = yield* FileSystem.FileSystem
  const info = yield* Effect.mapError(
    fs.stat(folder.value),
    (error) => new UsageError({ message: `--cwd cannot be ${folder.value}: ${systemMessage(error)}.` })
  )
  if (info.type !== "Directory") {
    return yield* new UsageError({ message: `--cwd cannot be ${folder.value}: it is not a folder.` })
  }
  return path.resolve(folder.value)
})

const findTools = Effect.fnUntraced(function* (names: Option.Option<ReadonlyArray<string>>) {
  if (Option.isNone(names)) return Tools.coding
  const known = Tools.coding.map((tool) => tool.name)
  const unknown = names.value.find((name) => !known.includes(name))
  if (unknown !== undefined) {
    return yield* new UsageError({
      message: `There is no tool "${unknown}": --tools takes ${known.join(", ")}, or none.`
    })
  }
  return Tools.coding.filter((tool) => names.value.includes(tool.name))
})

/** The commands that tools run are not to have the key, whatever the name of its variable is. */
const withoutKey = (apiKeyEnv: Option.Option<string>) =>
  Effect.map(Environment, (environment) =>
    Option.match(apiKeyEnv, {
      onNone: () => environment,
      onSome: (key) => Record.filter(environment, (_value, name) => name !== key)
    })
  )

/** Colours are for people at a terminal who have not said that they want none. */
const canColour = Effect.gen(function* () {
  const stdio = yield* Stdio.Stdio
  const noColour = yield* Effect.orElseSucceed(Config.String("NO_COLOR"), () => "")
  return noColour === "" && (yield* stdio.stderrIsTerminal)
})
