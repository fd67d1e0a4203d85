// `npm run conformance -- FILE...`: a line for each unequal case, and a summary last.
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import { BadCases, parse, runCase, summarise } from "./runner.ts"

/** Runs the cases of files, and gives the exit code: 0 if no case failed, 1 if one did, 2 if there is nothing to run. */
export const runFiles = (files: ReadonlyArray<string>) =>
  Effect.catchTag(runAll(files), "BadCases", (error) => Effect.as(Console.error(error.message), 2))

const runAll = Effect.fnUntraced(function* (files: ReadonlyArray<string>) {
  if (files.length === 0) return yield* new BadCases({ message: "Usage: npm run conformance -- FILE..." })
  const cases = (yield* Effect.forEach(files, readCases)).flat()
  const verdicts = yield* Effect.forEach(cases, runCase)
  for (const { _tag, id, title, what } of verdicts) {
    if (_tag === "Failed") yield* Console.log(`${id} (${title}): ${what}`)
  }
  yield* Console.log(summarise(verdicts))
  return verdicts.some(({ _tag }) => _tag === "Failed") ? 1 : 0
})

const readCases = Effect.fnUntraced(function* (file: string) {
  const fileSystem = yield* FileSystem.FileSystem
  const text = yield* Effect.mapError(
    fileSystem.readFileString(file),
    (error) =>
      new BadCases({
        message:
          error.reason._tag === "NotFound" ? `There is no file "${file}".` : `${file} cannot be read: ${error.message}`
      })
  )
  return yield* parse(file, text)
})
