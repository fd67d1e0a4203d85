/**
 * Paths as a model gives them: resolved against the working directory, looked up without being opened, and named in
 * failures as they were given.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import type * as PlatformError from "effect/PlatformError"
import type * as Tool from "../../Tool.ts"
import { WorkingDirectory } from "../WorkingDirectory.ts"
import { failure, showName } from "./text.ts"

export const workingDirectory: Effect.Effect<string, never, Path.Path> = Effect.gen(function* () {
  const path = yield* Path.Path
  return path.resolve(yield* WorkingDirectory)
})

export interface Found {
  readonly path: string
  readonly info: FileSystem.File.Info
}

/** What is at a path; links are followed. */
export const find: (path: string) => Effect.Effect<Found, Tool.ToolFailure, FileSystem.FileSystem | Path.Path> =
  Effect.fnUntraced(function* (given) {
    const fs = yield* FileSystem.FileSystem
    const { resolve } = yield* Path.Path
    const path = resolve(yield* workingDirectory, given)
    const info = yield* Effect.mapError(fs.stat(path), cannot("look at", given))
    return { path, info }
  })

/** Why something could not be done with a path, in words. */
export const cannot =
  (action: string, path: string) =>
  (error: PlatformError.PlatformError): Tool.ToolFailure =>
    failure(`Cannot ${action} ${showName(path)}: ${why(error)}.`, error)

const why = (error: PlatformError.PlatformError): string => {
  switch (error.reason._tag) {
    case "NotFound":
      return "there is no such file or folder"
    case "PermissionDenied":
      return "permission denied"
    default:
      return systemMessage(error)
  }
}

/** What the system said, without the whole command or call around it. */
export const systemMessage = ({ message, reason }: PlatformError.PlatformError): string =>
  reason.cause instanceof Error ? reason.cause.message : message

/** What a path turned out to be. */
export const kind = ({ type }: FileSystem.File.Info): string => {
  switch (type) {
    case "File":
      return "a file"
    case "Directory":
      return "a folder"
    case "FIFO":
      return "a named pipe"
    case "Socket":
      return "a socket"
    default:
      return "a device"
  }
}
