/**
 * The program from its arguments to its exit code. It never fails: what goes wrong is one sentence on standard error and a
 * code. Only its own interruption has neither.
 */
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import { exitCodes, type OutputError, report, type UsageError } from "./failures.ts"
import { parse } from "./options.ts"
import { say } from "./print.ts"
import { sanitize } from "./sanitize.ts"

export const program = (args: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const request = yield* parse(args, yield* version)
    if (Option.isNone(request)) return 0
    if (request.value._tag === "Models") {
      const { printModels } = yield* Effect.promise(() => import("./models.ts"))
      return yield* printModels(request.value.options)
    }
    const { run } = yield* Effect.promise(() => import("./run.ts"))
    return exitCodes[yield* run(request.value.options)]
  }).pipe(Effect.catchCause(tell))

/** Tells a person of a failure, if there is something to tell, and gives the exit code for it. */
export const tell = Effect.fnUntraced(function* (cause: Cause.Cause<UsageError | OutputError>) {
  const { exitCode, message } = yield* report(cause)
  if (message !== undefined) yield* say(`effect-agent: ${sanitize(message)}\n`)
  return exitCode
})

/** That of the package which this file is part of, as source and as built. */
const version = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const file = yield* path.fromFileUrl(new URL("../../package.json", import.meta.url))
  const manifest = yield* Schema.decodeEffect(Manifest)(yield* fs.readFileString(file))
  return manifest.version
}).pipe(Effect.orDie)

const Manifest = Schema.fromJsonString(Schema.Struct({ version: Schema.String }))
