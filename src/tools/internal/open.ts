/**
 * Opens files that a workspace has located, and makes sure that what was opened is what was located: between the check of
 * a path and its use, a folder on the way can be exchanged for a link that leads elsewhere.
 *
 * The last name is opened without following links, the opened file is the one that the check saw, and afterwards the path
 * still leads to itself. Node can open nothing relative to an open folder, which would leave no gap at all; what is left
 * is one that needs two exchanges in the right instants.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type * as Tool from "../../Tool.ts"
import { Workspace } from "../Workspace.ts"
import { cannot, isLink } from "./errors.ts"
import type { Found } from "./paths.ts"
import { failure, showName } from "./text.ts"

export interface Opened {
  readonly file: FileSystem.File
  readonly info: FileSystem.File.Info
}

/** Opens a file to read it. Call it for nothing but files: opening a named pipe waits for a writer. */
export const openFile: (
  found: Found,
  action: string
) => Effect.Effect<Opened, Tool.ToolFailure, FileSystem.FileSystem | Scope.Scope | Workspace> = Effect.fnUntraced(
  function* (found, action) {
    const file = yield* openNoFollow(found.path, { flag: "r" })
    const info = yield* file.stat
    const { isReal } = yield* Workspace
    if (!isSameFile(info, found.info) || !(yield* isReal(found.path))) return yield* exchanged(action, found.given)
    return { file, info }
  },
  (effect, { given }, action) =>
    Effect.catchTag(effect, "PlatformError", (error) =>
      isLink(error) ? exchanged(action, given) : cannot(action, given)(error)
    )
)

/** Opens without following a link at the last name, where the platform can. */
export const openNoFollow = Effect.fnUntraced(function* (
  path: string,
  options: { readonly flag: FileSystem.OpenFlag; readonly mode?: number }
) {
  const fs = yield* FileSystem.FileSystem
  return yield* fs.open(path, { ...options, noFollow: true }).pipe(
    Effect.catchIf(
      ({ reason }) => reason._tag === "BadArgument",
      () => fs.open(path, options)
    )
  )
})

export const isSameFile = (one: FileSystem.File.Info, other: FileSystem.File.Info): boolean =>
  one.type === other.type &&
  one.dev === other.dev &&
  Option.getOrUndefined(one.ino) === Option.getOrUndefined(other.ino)

export const exchanged = (action: string, given: string): Tool.ToolFailure =>
  failure(`Cannot ${action} ${showName(given)}: it was exchanged for another while it was being opened. Try again.`)

/** The bytes of a file that is to be held as a whole, at most one more than `most`. */
export const readAll = Effect.fnUntraced(function* ({ file, info }: Opened, most: number) {
  const size = Number(info.size)
  let buffer = new Uint8Array(Math.min(size, most) + 1)
  let length = 0
  for (;;) {
    const read = yield* file.read(buffer.subarray(length))
    length += read
    // Those that do not tell their size have none.
    const isWhole = length === size && size > 0 && length < buffer.length
    if (read === 0 || isWhole || length > most) return buffer.subarray(0, length)
    if (length < buffer.length) continue
    // It has grown, or does not tell its size.
    const larger = new Uint8Array(Math.min(buffer.length * 2 + 4096, most + 1))
    larger.set(buffer)
    buffer = larger
  }
})
