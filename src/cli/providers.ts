/**
 * The providers that `--provider` names. A new one is a line in the table, with a module that is loaded only when it is
 * asked for.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { Provider } from "../services/Provider.ts"
import { systemMessage, UsageError } from "./failures.ts"

export interface Entry {
  /** The model that is asked without `--model`. */
  readonly model: string
  readonly layer: (
    script: Option.Option<string>
  ) => Effect.Effect<Layer.Layer<Provider>, UsageError, FileSystem.FileSystem>
}

export const providers: Readonly<Record<string, Entry>> = {
  offline: { model: "offline", layer: () => offline },
  scripted: { model: "scripted", layer: (script) => scripted(script) },
  anthropic: { model: "claude-sonnet-5-5", layer: () => notYet("anthropic") }
}

const offline = Effect.map(
  Effect.promise(() => import("../providers/Offline.ts")),
  (Offline) => Offline.layer
)

const scripted = Effect.fnUntraced(function* (script: Option.Option<string>) {
  if (Option.isNone(script)) return yield* new UsageError({ message: "--provider scripted needs --script FILE." })
  const file = script.value
  const fs = yield* FileSystem.FileSystem
  const text = yield* Effect.mapError(
    fs.readFileString(file),
    (error) => new UsageError({ message: `Cannot read the script ${file}: ${systemMessage(error)}.` })
  )
  const Scripted = yield* Effect.promise(() => import("../providers/Scripted.ts"))
  const parsed = yield* Effect.mapError(
    Scripted.parse(text),
    ({ message }) => new UsageError({ message: `The script ${file} cannot be played. ${message}` })
  )
  return Scripted.layer(parsed)
})

const notYet = (name: string) =>
  Effect.fail(
    new UsageError({ message: `The provider ${name} is not there yet: use --provider offline, or --script FILE.` })
  )

/** The entry that the options ask for, with its name. A script asks for the provider that plays it. */
export const choose = Effect.fnUntraced(function* (name: Option.Option<string>, script: Option.Option<string>) {
  const chosen = Option.getOrElse(name, () => (Option.isSome(script) ? "scripted" : "offline"))
  const entry = providers[chosen]
  if (entry === undefined) return yield* new UsageError({ message: `There is no provider "${chosen}".` })
  if (Option.isSome(script) && chosen !== "scripted") {
    return yield* new UsageError({ message: `--script is played by --provider scripted, not by ${chosen}.` })
  }
  return { name: chosen, model: entry.model, layer: yield* entry.layer(script) }
})
