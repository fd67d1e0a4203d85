/**
 * The providers that `--provider` names. A new one is a line in the table, with a module that is loaded only when it is
 * asked for.
 */
import * as Config from "effect/Config"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { Provider } from "../services/Provider.ts"
import { systemMessage, UsageError } from "./failures.ts"

/** What a command line says of providers. */
export interface Wanted {
  readonly provider: Option.Option<string>
  readonly script: Option.Option<string>
  readonly baseUrl: Option.Option<string>
  readonly apiKeyEnv: Option.Option<string>
  readonly idleTimeout: Option.Option<number>
}

type Own = Exclude<keyof Wanted, "provider">

const flags: Readonly<Record<Own, string>> = {
  script: "--script",
  baseUrl: "--base-url",
  apiKeyEnv: "--api-key-env",
  idleTimeout: "--idle-timeout"
}

export interface Entry {
  /** The model that is asked without `--model`. */
  readonly model: string
  /** The options that this provider takes, and no other. */
  readonly takes: ReadonlyArray<Own>
  readonly layer: (wanted: Wanted) => Effect.Effect<Layer.Layer<Provider>, UsageError, FileSystem.FileSystem>
}

export const providers: Readonly<Record<string, Entry>> = {
  offline: { model: "offline", takes: [], layer: () => offline },
  scripted: { model: "scripted", takes: ["script"], layer: (wanted) => scripted(wanted) },
  anthropic: {
    model: "claude-sonnet-5-5",
    takes: ["baseUrl", "apiKeyEnv", "idleTimeout"],
    layer: (wanted) => anthropic(wanted)
  }
}

/**
 * The entry that the options ask for, with its name. A script asks for the provider that plays it; a key that is configured,
 * or an option about whom to ask, for Anthropic's.
 */
export const choose = Effect.fnUntraced(function* (wanted: Wanted) {
  const chosen = Option.isSome(wanted.provider) ? wanted.provider.value : yield* byDefault(wanted)
  const entry = providers[chosen]
  if (entry === undefined) return yield* new UsageError({ message: `There is no provider "${chosen}".` })
  for (const [name, { takes }] of Object.entries(providers)) {
    const stray = takes.find((option) => name !== chosen && wanted[option]._tag === "Some")
    if (stray !== undefined) {
      return yield* new UsageError({ message: `${flags[stray]} is for --provider ${name}, not for ${chosen}.` })
    }
  }
  return { name: chosen, model: entry.model, layer: yield* entry.layer(wanted) }
})

const byDefault = Effect.fnUntraced(function* ({ script, baseUrl, apiKeyEnv }: Wanted) {
  if (Option.isSome(script)) return "scripted"
  if (Option.isSome(baseUrl) || Option.isSome(apiKeyEnv)) return "anthropic"
  const { config } = yield* loadAnthropic
  return (yield* configured(config)).apiKey === undefined ? "offline" : "anthropic"
})

const offline = Effect.map(
  Effect.promise(() => import("../providers/Offline.ts")),
  (Offline) => Offline.layer
)

const scripted = Effect.fnUntraced(function* ({ script }: Wanted) {
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

// ---------------------------------------------------------------------------------------------------------------------
// Anthropic
// ---------------------------------------------------------------------------------------------------------------------

const loadAnthropic = Effect.promise(() => import("../providers/Anthropic.ts"))

const configured = <A>(config: Config.Config<A>) =>
  Effect.mapError(config, ({ message }) => new UsageError({ message: `Cannot read the environment: ${message}` }))

const anthropic = Effect.fnUntraced(function* (wanted: Wanted) {
  const { layerWith } = yield* loadAnthropic
  const options = yield* anthropicOptions(wanted)
  const { idleTimeout } = wanted
  return layerWith({
    ...options,
    ...(Option.isSome(idleTimeout) && { idleLimit: Duration.seconds(idleTimeout.value) })
  })
})

/** As the environment says, but for what the command line says. */
export const anthropicOptions = Effect.fnUntraced(function* ({
  apiKeyEnv,
  baseUrl
}: Pick<Wanted, "apiKeyEnv" | "baseUrl">) {
  const { config } = yield* loadAnthropic
  return {
    ...(yield* configured(config)),
    ...(Option.isSome(apiKeyEnv) && { apiKey: yield* keyIn(apiKeyEnv.value) }),
    ...(Option.isSome(baseUrl) && { baseUrl: baseUrl.value })
  }
})

/** What was given for a name may be the key itself, and so is not shown. */
const keyIn = Effect.fnUntraced(function* (name: string) {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
    return yield* new UsageError({
      message:
        "--api-key-env takes the name of an environment variable, such as ANTHROPIC_API_KEY, and not the key itself."
    })
  }
  const key = yield* configured(Config.option(Config.Redacted(name)))
  if (Option.isSome(key) && Redacted.value(key.value).trim() !== "") return key.value
  return yield* new UsageError({
    message: "The environment variable that --api-key-env names is not set: set it to the API key."
  })
})
