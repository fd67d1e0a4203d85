/**
 * What tools that change files have in common: what they may change, and that nobody else has changed it meanwhile.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as TextDiff from "effect/TextDiff"
import type * as Tool from "../../Tool.ts"
import { type Location, Workspace } from "../Workspace.ts"
import { cannot } from "./errors.ts"
import { openFile, readAll } from "./open.ts"
import { type Found, isThere, kind } from "./paths.ts"
import { describeChange } from "./seen.ts"
import { failure, showName } from "./text.ts"

/** How long a diff in the details of a result may be, in characters. */
export const MAX_DIFF = 64 * 1024

/** What a call names as its own: spellings that some disks take for one file are one name. */
export const exclusive = ({ path }: { readonly path: string }): Effect.Effect<string, never, Workspace> =>
  Effect.flatMap(Workspace, ({ realPath }) =>
    Effect.map(realPath(path), (real) => `file ${real.normalize("NFC").toLowerCase()}`)
  )

/** Where a path that may be changed leads to: to a file, or to nothing yet. */
export const locateForChange = Effect.fnUntraced(function* (given: string) {
  const location = yield* (yield* Workspace).locate(given, "change")
  if (!isThere(location)) return location
  if (location.info.type !== "File") {
    return yield* failure(`${showName(given)} is ${kind(location.info)}, not a file. Give the path of a file.`)
  }
  const fs = yield* FileSystem.FileSystem
  yield* Effect.mapError(fs.access(location.path, { writable: true }), cannot("change", given))
  return location
})

/** The bytes of a file, at most one more than `most`. */
export const readBytes = (found: Found, action: string, most: number) =>
  openFile(found, action).pipe(
    Effect.flatMap((opened) =>
      Effect.map(Effect.mapError(readAll(opened, most), cannot(action, found.given)), (content) => ({
        content,
        info: opened.info
      }))
    ),
    Effect.scoped
  )

/** Fails if a file is no longer what the agent has seen of it, and says what has changed. */
export const checkUnchanged = Effect.fnUntraced(function* (
  location: Location,
  now: { readonly info: FileSystem.File.Info; readonly content: Uint8Array | undefined },
  what: string
): Effect.fn.Return<void, Tool.ToolFailure, Workspace> {
  const before = (yield* Workspace).seen.get(location.path)
  const change = before && describeChange(before, now)
  if (change === undefined) return
  return yield* failure(
    `${showName(location.given)} has changed on disk since you last read or wrote it, so it was not ${what}. ` +
      `Read it again first. What has changed:\n${change}`
  )
})

/** A diff for the details of a result. */
export const diffOf = (edits: ReadonlyArray<TextDiff.Edit<string>>, given: string) => {
  const diff = TextDiff.unified(edits, { fromFile: showName(given) }).toWellFormed()
  return diff.length > MAX_DIFF ? { diff: diff.slice(0, MAX_DIFF).toWellFormed(), diffTruncated: true } : { diff }
}

export interface Lines {
  readonly added: number
  readonly removed: number
}

export const countChanges = (edits: ReadonlyArray<TextDiff.Edit<string>>): Lines => {
  let added = 0
  let removed = 0
  for (const { _tag, items } of edits) {
    if (_tag === "Insert") added += items.length
    if (_tag === "Delete") removed += items.length
  }
  return { added, removed }
}
