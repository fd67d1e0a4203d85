/**
 * The tool that writes a whole file: creates it, with its folders, or puts the content in the place of the old one. A file
 * is written whole or not at all, and through symbolic links.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as TextDiff from "effect/TextDiff"
import * as Tool from "../Tool.ts"
import * as Changes from "./internal/changes.ts"
import { cannot } from "./internal/errors.ts"
import { isThere } from "./internal/paths.ts"
import { replaceFile } from "./internal/replace.ts"
import { isEqual } from "./internal/seen.ts"
import { count, decode, failure, plural, result, showName } from "./internal/text.ts"
import type { Workspace } from "./Workspace.ts"

/** How large a content may be, in bytes. */
export const MAX_BYTES = 10 * 1024 * 1024
/** Up to which size the old content is compared with the new, in bytes. */
const MAX_COMPARED = 1024 * 1024

const Parameters = Schema.Struct({
  path: Schema.String.annotate({ description: "The file, relative to the working directory or absolute" }),
  content: Schema.String.annotate({ description: "The whole content of the file, written exactly as it is given" })
})

export const tool: Tool.Tool<typeof Parameters.Type, FileSystem.FileSystem | Path.Path | Workspace> = Tool.make({
  name: "write",
  description:
    "Write a whole file: creates it, and the folders on the way, or replaces all that is in it. To change a part of a " +
    "file use edit. A file that was changed on disk since you last read or wrote it is not replaced: read it again " +
    `first. The content may have ${MAX_BYTES / 1024 / 1024} MB at most.`,
  parameters: Parameters,
  exclusive: Changes.exclusive,
  execute: Effect.fnUntraced(function* ({ content, path }) {
    const bytes = encoder.encode(content)
    if (bytes.length > MAX_BYTES) {
      return yield* failure(`The content has ${count(bytes.length)} bytes; at most ${count(MAX_BYTES)} can be written.`)
    }
    const location = yield* Changes.locateForChange(path)
    const size = `${plural(linesIn(content), "line")}, ${count(bytes.length)} bytes`
    if (!isThere(location)) {
      yield* makeFolder(location.path, path)
      yield* replaceFile(location, bytes, "write")
      return result(`Created ${showName(path)}: ${size}.`, { created: true, ...countOf(content, bytes) })
    }
    const isSmall = Number(location.info.size) <= MAX_COMPARED
    const old = isSmall ? yield* Changes.readBytes(location, "replace", MAX_COMPARED) : undefined
    yield* Changes.checkUnchanged(location, { info: location.info, content: old?.content }, "replaced")
    if (old !== undefined && isEqual(old.content, bytes)) {
      const details = { created: false, changed: false, ...countOf(content, bytes) }
      return result(`${showName(path)} already has this content: nothing was written.`, details)
    }
    yield* replaceFile(location, bytes, "replace")
    const was = old === undefined ? "" : `${plural(linesIn(decode(old.content)), "line")}, `
    return result(`Replaced ${showName(path)}: ${size} (was ${was}${count(Number(location.info.size))} bytes).`, {
      created: false,
      changed: true,
      ...countOf(content, bytes),
      ...(old !== undefined && changeOf(decode(old.content), content, path))
    })
  })
})

const encoder = new TextEncoder()

const makeFolder = Effect.fnUntraced(function* (file: string, given: string) {
  const fs = yield* FileSystem.FileSystem
  const folder = (yield* Path.Path).dirname(file)
  yield* Effect.mapError(fs.makeDirectory(folder, { recursive: true }), cannot("make the folder of", given))
})

const linesIn = (text: string): number => {
  let lines = text === "" || text.endsWith("\n") ? 0 : 1
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) lines++
  return lines
}

const countOf = (content: string, bytes: Uint8Array) => ({ lines: linesIn(content), bytes: bytes.length })

const changeOf = (before: string, now: string, given: string) => {
  const edits = TextDiff.lines(before, now, { maxEdits: 1000 })
  return { ...Changes.countChanges(edits), ...Changes.diffOf(edits, given) }
}
