/**
 * The tool that finds files by their names, as ripgrep walks: ignore files are respected and links are not followed. It
 * counts all that there are, and keeps in memory only those that it gives.
 */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import type * as ChildProcessSpawner from "effect/process/ChildProcessSpawner"
import * as Schema from "effect/Schema"
import * as Tool from "../Tool.ts"
import { enter, find, kind } from "./internal/paths.ts"
import * as Ripgrep from "./internal/ripgrep.ts"
import { count, failure, result, showName } from "./internal/text.ts"
import { Workspace } from "./Workspace.ts"

/** How many files one call gives: by default, and at most. */
export const DEFAULT_LIMIT = 200
export const MAX_LIMIT = 1000
/** How many bytes of names one call gives at most. */
export const MAX_BYTES = 50 * 1024

const Parameters = Schema.Struct({
  pattern: Schema.String.check(Schema.isNonEmpty()).annotate({
    description: "Names as *.{ts,tsx}, paths from `path` as src/**/*.md, or !*.test.ts for all others"
  }),
  path: Schema.optionalKey(
    Schema.String.annotate({
      description: "The folder to look in, relative to the working directory or absolute (default: .)"
    })
  ),
  newestFirst: Schema.optionalKey(
    Schema.Boolean.annotate({ description: "Those changed last come first, not in the order of paths (default false)" })
  ),
  limit: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: MAX_LIMIT })).annotate({
      description: `How many files to give (default ${DEFAULT_LIMIT}, most ${MAX_LIMIT})`
    })
  )
})
type Parameters = typeof Parameters.Type

type Services = ChildProcessSpawner.ChildProcessSpawner | FileSystem.FileSystem | Path.Path | Workspace

export const tool: Tool.Tool<Parameters, Services> = Tool.make({
  name: "find",
  description:
    "Find files by name, with a glob. Gives one path a line, sorted by path or the newest first, at any depth. Dotfiles are " +
    "found; what .gitignore names, .git and folders themselves are not. Links are not followed. " +
    `At most ${DEFAULT_LIMIT} files (or \`limit\`, up to ${MAX_LIMIT}) and ${MAX_BYTES / 1024} KB are given.`,
  parameters: Parameters,
  execute: Effect.fnUntraced(function* ({ limit = DEFAULT_LIMIT, newestFirst = false, path = ".", pattern }) {
    const { allows } = yield* Workspace
    const { join } = yield* Path.Path
    const found = yield* find(path)
    if (found.info.type !== "Directory") {
      return yield* failure(`${showName(path)} is ${kind(found.info)}: only in folders can files be found.`)
    }
    yield* enter(found, "search")
    const selection = yield* Ripgrep.select(pattern)
    const names = makeNames(limit, newestFirst)
    const reader = makeReader((name) => {
      if (selection.accepts(name) && allows(join(found.path, name), "read")) names.add(name)
    })
    const order = newestFirst ? ["--sortr=modified"] : []
    const ended = yield* Ripgrep.run(["--files", ...order, ...selection.args, "--", "./"], found.path, reader)
    const hasErrors = ended?.hasErrors === true
    if (hasErrors && ended?.said !== "" && names.total() === 0) return yield* failure(ended?.said ?? "")
    const given = names.given().map((name) => join(path, name))
    return render(given, names.total(), hasErrors)
  }, Effect.scoped)
})

// ---------------------------------------------------------------------------------------------------------------------
// Reading what ripgrep prints
// ---------------------------------------------------------------------------------------------------------------------

/** Paths that end with NUL, each given without the `./` before it. */
const makeReader = (take: (name: string) => void) => {
  const decoder = new TextDecoder()
  let begun = ""
  return (chunk: Uint8Array): boolean => {
    const names = (begun + decoder.decode(chunk, { stream: true })).split("\0")
    begun = names.pop() ?? ""
    for (const name of names) take(name.replace(/^\.\//, ""))
    return true
  }
}

interface Names {
  readonly add: (name: string) => void
  readonly given: () => ReadonlyArray<string>
  readonly total: () => number
}

/** Keeps the first names: in the order in which they come, or else in that of paths. */
const makeNames = (limit: number, inOrder: boolean): Names => {
  let names: Array<string> = []
  let total = 0
  /** The last of the first names so far: what comes after it is none of them. */
  let last: string | undefined
  const first = () => (inOrder ? names : names.toSorted(Ripgrep.comparePaths)).slice(0, limit)
  return {
    add: (name) => {
      total++
      if (inOrder ? names.length === limit : last !== undefined && Ripgrep.comparePaths(name, last) > 0) return
      names.push(name)
      // What cannot be among the first any more is let go from time to time.
      if (names.length <= 4 * limit) return
      names = first()
      last = names.at(-1)
    },
    given: first,
    total: () => total
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// The result
// ---------------------------------------------------------------------------------------------------------------------

const render = (names: ReadonlyArray<string>, total: number, hasErrors: boolean): Tool.ToolResult => {
  let bytes = 0
  const end = names.findIndex((name) => (bytes += new TextEncoder().encode(showName(name)).length + 1) > MAX_BYTES)
  const files = end === -1 ? names : names.slice(0, end)
  const truncated = files.length < total
  const notes = [
    ...(truncated ? [`${count(files.length)} of ${count(total)} files are shown. Narrow the pattern or path.`] : []),
    ...(hasErrors ? ["Some folders could not be read."] : [])
  ]
  const text = files.length === 0 ? "(no files)" : files.map(showName).join("\n")
  return result(notes.length === 0 ? text : `${text}\n\n[${notes.join(" ")}]`, { files, total, truncated, hasErrors })
}
