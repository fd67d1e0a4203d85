/**
 * Paths as a model gives them: looked up in the workspace without being opened, and named in failures as they were given.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import type * as Tool from "../../Tool.ts"
import { cannot } from "./errors.ts"
import { type Location, Workspace } from "../Workspace.ts"
import { failure, showName } from "./text.ts"

export { cannot, kind, systemMessage } from "./errors.ts"

export const workingDirectory: Effect.Effect<string, never, Workspace> = Effect.map(Workspace, ({ root }) => root)

export interface Found extends Location {
  readonly info: FileSystem.File.Info
}

/** What is at a path that may be read; links are followed. */
export const find: (given: string) => Effect.Effect<Found, Tool.ToolFailure, Workspace> = Effect.fnUntraced(
  function* (given) {
    const location = yield* (yield* Workspace).locate(given, "read")
    if (isThere(location)) return location
    return yield* failure(`Cannot look at ${showName(given)}: there is no such file or folder.`)
  }
)

/** Fails where no process could be started in a folder: the system would say that of the program. */
export const enter = (
  { given, path }: Found,
  action: string
): Effect.Effect<void, Tool.ToolFailure, FileSystem.FileSystem> =>
  Effect.flatMap(FileSystem.FileSystem, (fs) => Effect.mapError(fs.access(`${path}/.`), cannot(action, given)))

export const isThere = (location: Location): location is Found => location.info !== undefined
