/**
 * The tool that lists a folder, one entry a line, sorted by name. Links are shown, not followed, so that a broken one does
 * no harm; what cannot be looked at is listed without its size.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as Tool from "../Tool.ts"
import { cannot, find, kind } from "./internal/paths.ts"
import { count, failure, result, showName } from "./internal/text.ts"
import type { Workspace } from "./Workspace.ts"

/** How many entries one call gives at most. */
export const MAX_ENTRIES = 500

const Parameters = Schema.Struct({
  path: Schema.optionalKey(
    Schema.String.annotate({ description: "The folder, relative to the working directory or absolute (default: .)" })
  )
})

export const tool: Tool.Tool<typeof Parameters.Type, FileSystem.FileSystem | Path.Path | Workspace> = Tool.make({
  name: "ls",
  description:
    "List a folder, dotfiles included, sorted by name, with sizes in bytes. Names end with / for folders and @ for links " +
    "(-> shows where a link leads), | for pipes, = for sockets and % for devices. " +
    `At most ${MAX_ENTRIES} entries are given.`,
  parameters: Parameters,
  execute: Effect.fnUntraced(function* ({ path = "." }) {
    const fs = yield* FileSystem.FileSystem
    const found = yield* find(path)
    if (found.info.type !== "Directory") {
      return yield* failure(`${showName(path)} is ${kind(found.info)}, not a folder. Use read for files.`)
    }
    const all = yield* Effect.mapError(fs.readDirectoryEntries(found.path), cannot("list", path))
    const shown = all.toSorted((a, b) => (a.name < b.name ? -1 : 1)).slice(0, MAX_ENTRIES)
    const entries = yield* Effect.forEach(shown, (entry) => describe(found.path, entry), { concurrency: 16 })
    const details = {
      entries: entries.map((entry) => entry.details),
      total: all.length,
      truncated: all.length > shown.length
    }
    if (all.length === 0) return result("(empty folder)", details)
    const rest = details.truncated
      ? `\n\n[${MAX_ENTRIES} of ${count(all.length)} entries are shown. Use find to see the others.]`
      : ""
    return result(entries.map((entry) => entry.line).join("\n") + rest, details)
  })
})

const describe = Effect.fnUntraced(function* (folder: string, { name, type }: FileSystem.DirectoryEntry) {
  const fs = yield* FileSystem.FileSystem
  const path = (yield* Path.Path).join(folder, name)
  switch (type) {
    case "File": {
      const size = yield* Effect.map(fs.lstat(path), (info) => Number(info.size)).pipe(
        Effect.orElseSucceed(() => undefined)
      )
      return size === undefined
        ? { line: showName(name), details: { name, type } }
        : { line: `${showName(name)}  ${count(size)}`, details: { name, type, size } }
    }
    case "SymbolicLink": {
      const target = yield* Effect.orElseSucceed(fs.readLink(path), () => "?")
      return { line: `${showName(name)}@ -> ${showName(target)}`, details: { name, type, target } }
    }
    default:
      return { line: showName(name) + (markers[type] ?? ""), details: { name, type } }
  }
})

const markers: { readonly [type: string]: string | undefined } = {
  Directory: "/",
  FIFO: "|",
  Socket: "=",
  BlockDevice: "%",
  CharacterDevice: "%"
}
