/**
 * Puts content in the place of a file, whole or not at all: a temporary file beside it is written, forced to the disk and
 * renamed. Whoever reads the file sees the old content or the new, and nothing is left over if this is interrupted.
 *
 * The new file has the permissions and, where the system lets it, the owner of the old one. A hard link to the old one
 * keeps the old content.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Random from "effect/Random"
import type * as Tool from "../../Tool.ts"
import { type Location, Workspace } from "../Workspace.ts"
import { cannot } from "./errors.ts"
import { exchanged, isSameFile, openNoFollow } from "./open.ts"
import { looksUnchanged } from "./seen.ts"
import { failure, showName } from "./text.ts"

/** Replaces or creates the file at a location, and keeps what it wrote as seen. The folder must be there. */
export const replaceFile: (
  location: Location,
  content: Uint8Array,
  action: string
) => Effect.Effect<void, Tool.ToolFailure, FileSystem.FileSystem | Path.Path | Workspace> = Effect.fnUntraced(
  function* (location, content, action) {
    const fs = yield* FileSystem.FileSystem
    const { seen } = yield* Workspace
    const temporary = yield* temporaryName(location.path)
    const written = yield* writeTemporary(temporary, location, content, action)
    // The last moment to notice somebody else's change.
    const now = yield* Effect.option(fs.lstat(location.path))
    if (!isAsBefore(location, Option.getOrUndefined(now))) return yield* overtaken(action, location.given)
    yield* Effect.uninterruptible(
      Effect.andThen(
        fs.rename(temporary, location.path),
        Effect.sync(() => {
          written.isMoved = true
          seen.wrote(location.path, { info: written.info, content })
        })
      )
    )
  },
  Effect.scoped,
  (effect, { given }, _content, action) =>
    Effect.catchTag(effect, "PlatformError", (error) => cannot(action, given)(error))
)

const temporaryName = Effect.fnUntraced(function* (target: string) {
  const path = yield* Path.Path
  const random = yield* Random.nextIntBetween(0, Number.MAX_SAFE_INTEGER)
  return path.join(path.dirname(target), `.effect-agent-${random.toString(36)}.tmp`)
})

/** Writes a temporary file that is removed with the scope unless it was moved by then. */
const writeTemporary = Effect.fnUntraced(function* (
  temporary: string,
  location: Location,
  content: Uint8Array,
  action: string
) {
  const fs = yield* FileSystem.FileSystem
  const { isReal } = yield* Workspace
  const state = { isMade: false, isMoved: false }
  yield* Effect.addFinalizer(() =>
    state.isMade && !state.isMoved ? Effect.ignore(fs.remove(temporary, { force: true })) : Effect.void
  )
  const info = yield* Effect.scoped(
    Effect.gen(function* () {
      const file = yield* Effect.tap(
        openNoFollow(temporary, { flag: "wx", mode: location.info === undefined ? 0o666 : 0o600 }),
        () => Effect.sync(() => (state.isMade = true))
      ).pipe(Effect.uninterruptible)
      const made = yield* file.stat
      // Not a byte is written elsewhere.
      if (!isSameFile(made, yield* fs.lstat(temporary)) || !(yield* isReal(temporary))) {
        return yield* exchanged(action, location.given)
      }
      // To the end: what is still on its way when the file is closed can end up in the next one that is opened.
      yield* Effect.uninterruptible(file.writeAll(content))
      if (location.info !== undefined) yield* keepAccess(temporary, made, location.info)
      yield* Effect.uninterruptible(file.sync)
      return yield* file.stat
    })
  )
  return Object.assign(state, { info })
})

/** Owner first: changing it takes special permissions away. */
const keepAccess = Effect.fnUntraced(function* (
  temporary: string,
  made: FileSystem.File.Info,
  before: FileSystem.File.Info
) {
  const fs = yield* FileSystem.FileSystem
  const [uid, gid] = [Option.getOrUndefined(before.uid), Option.getOrUndefined(before.gid)]
  const isSameOwner = uid === Option.getOrUndefined(made.uid) && gid === Option.getOrUndefined(made.gid)
  if (!isSameOwner && uid !== undefined && gid !== undefined) yield* Effect.ignore(fs.chown(temporary, uid, gid))
  yield* fs.chmod(temporary, before.mode & 0o7777)
})

const isAsBefore = (location: Location, now: FileSystem.File.Info | undefined): boolean =>
  location.info === undefined || now === undefined
    ? location.info === now
    : looksUnchanged({ info: location.info }, now)

const overtaken = (action: string, given: string): Tool.ToolFailure =>
  failure(`Cannot ${action} ${showName(given)}: it was changed at the same moment. Read it again, and then try again.`)
