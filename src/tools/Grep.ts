/**
 * The tool that searches files with ripgrep, which is read as it prints and stopped as soon as there is enough.
 *
 * Files come in the order of their paths, and of too many matches the first ones, so that the same search gives the same
 * answer.
 */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import type * as ChildProcessSpawner from "effect/process/ChildProcessSpawner"
import * as Schema from "effect/Schema"
import * as Tool from "../Tool.ts"
import * as Lines from "./internal/lines.ts"
import { enter, find, kind } from "./internal/paths.ts"
import * as Ripgrep from "./internal/ripgrep.ts"
import { failure, plural, result, showName } from "./internal/text.ts"
import { Workspace } from "./Workspace.ts"

/** How many matching lines one call gives: by default, and at most. */
export const DEFAULT_LIMIT = 100
export const MAX_LIMIT = 1000
/** How many lines around a match can be asked for. */
export const MAX_CONTEXT = 20
/** How many bytes of text one call gives at most. */
export const MAX_BYTES = 50 * 1024
/** How long a line may be, in bytes; of a longer one as many characters are given. */
export const MAX_LINE_BYTES = 500

const Parameters = Schema.Struct({
  pattern: Schema.String.check(Schema.isNonEmpty()).annotate({
    description: "A regular expression (Rust syntax: no look-around or references back), or a text if `literal` is true"
  }),
  path: Schema.optionalKey(
    Schema.String.annotate({
      description: "The folder or file to search, relative to the working directory or absolute (default: .)"
    })
  ),
  glob: Schema.optionalKey(
    Schema.String.check(Schema.isNonEmpty()).annotate({
      description:
        "Which files to search: names as *.{ts,tsx}, paths from `path` as src/**/*.md, or !*.test.ts for all others"
    })
  ),
  literal: Schema.optionalKey(Schema.Boolean.annotate({ description: "Take the pattern as it is (default false)" })),
  ignoreCase: Schema.optionalKey(Schema.Boolean.annotate({ description: "Ignore case (default false)" })),
  context: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: MAX_CONTEXT })).annotate({
      description: `How many lines to show before and after each match (default 0, most ${MAX_CONTEXT})`
    })
  ),
  limit: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: MAX_LIMIT })).annotate({
      description: `How many matching lines to give (default ${DEFAULT_LIMIT}, most ${MAX_LIMIT})`
    })
  )
})
type Parameters = typeof Parameters.Type

type Services = ChildProcessSpawner.ChildProcessSpawner | FileSystem.FileSystem | Path.Path | Workspace

export const tool: Tool.Tool<Parameters, Services> = Tool.make({
  name: "grep",
  description:
    "Search the contents of files with ripgrep. Gives path:line:text for each matching line, and path-line-text for lines of " +
    "context, sorted by path. Dotfiles are searched; what .gitignore names, .git and binary files are not. Links are not " +
    `followed, and a match never goes beyond its line. At most ${DEFAULT_LIMIT} matching lines (or \`limit\`, up to ` +
    `${MAX_LIMIT}) and ${MAX_BYTES / 1024} KB are given; of lines longer than ${MAX_LINE_BYTES} bytes only the start is.`,
  parameters: Parameters,
  execute: Effect.fnUntraced(function* (params) {
    const { glob, limit = DEFAULT_LIMIT, path = "." } = params
    const { allows } = yield* Workspace
    const { basename, dirname, join } = yield* Path.Path
    const found = yield* find(path)
    const isFile = found.info.type === "File"
    if (!isFile && found.info.type !== "Directory") {
      return yield* failure(`${showName(path)} is ${kind(found.info)}: only folders and files can be searched.`)
    }
    if (!isFile) yield* enter(found, "search")
    const cwd = isFile ? dirname(found.path) : found.path
    const selection = yield* Ripgrep.select(glob)
    const accepts = (name: string) => selection.accepts(name) && allows(join(cwd, name), "read")
    const show = (name: string) => showName(isFile ? join(path) : join(path, name))
    const target = isFile ? `./${basename(found.path)}` : "./"

    const search = Effect.fnUntraced(function* (order: ReadonlyArray<string>) {
      const hits = makeHits(limit, accepts, show)
      const args = [...order, ...selection.args, ...argumentsOf(params), "--", target]
      const ended = yield* Ripgrep.run(args, cwd, hits.push)
      if (ended !== undefined) hits.end()
      return { hits, ended }
    })
    // Without an order ripgrep uses all processors. Where there is too much, it is asked for what comes first.
    const all = yield* search([])
    const { ended, hits } = all.hits.full() === undefined ? all : yield* search(["--sort=path"])
    if (ended?.hasErrors === true && hits.count() === 0) {
      if (ended.said !== "") return yield* failure(ended.said)
      if (isFile) return yield* failure(`Cannot search ${showName(path)}: it could not be read.`)
    }
    return render(hits, ended?.hasErrors === true)
  }, Effect.scoped)
})

const argumentsOf = ({ context, ignoreCase, literal, pattern }: Parameters): ReadonlyArray<string> => [
  "--no-heading",
  "--with-filename",
  "--line-number",
  "--no-context-separator",
  // As lines are given, without their CR: `$` is in front of it. Only a pattern that names it meets it.
  ...(/\r|\\r|\\x0d/i.test(pattern) ? [] : ["--crlf"]),
  `--max-columns=${MAX_LINE_BYTES}`,
  "--max-columns-preview",
  ...(literal === true ? ["--fixed-strings"] : []),
  ...(ignoreCase === true ? ["--ignore-case"] : []),
  ...(context === undefined ? [] : [`--context=${context}`]),
  `--regexp=${pattern}`
]

// ---------------------------------------------------------------------------------------------------------------------
// Reading what ripgrep prints
// ---------------------------------------------------------------------------------------------------------------------

interface Hits {
  /** Takes what was printed; true while there is room for more. */
  readonly push: (chunk: Uint8Array) => boolean
  readonly end: () => void
  /** Why no more is taken, in words. */
  readonly full: () => string | undefined
  /** How many lines there are to show. */
  readonly count: () => number
  /** They, sorted by path. */
  readonly lines: () => ReadonlyArray<string>
  readonly matches: () => number
  readonly files: () => number
}

/** Each line is a path, NUL, a line number, `:` for a match or `-` for context, and the text. */
const makeHits = (limit: number, accepts: (path: string) => boolean, show: (path: string) => string): Hits => {
  // Room for the longest path beside the text. A character of ripgrep's count is one with all its accents, without end.
  const splitter = Lines.make(MAX_LINE_BYTES + 8 * 1024)
  const lines: Array<{ readonly path: string; readonly shown: string }> = []
  const files = new Set<string>()
  let matches = 0
  let bytes = 0
  let full: string | undefined
  // The beginning of a path that has a line break in it.
  let begun = ""
  let last = { path: "", isAccepted: accepts("") }

  const isAccepted = (path: string) => {
    if (path !== last.path) last = { path, isAccepted: accepts(path) }
    return last.isAccepted
  }

  const take = (path: string, shown: string, size: number, isMatch: boolean) => {
    bytes += size
    if (isMatch && matches === limit) full = `There are more than ${plural(limit, "matching line")}.`
    else if (bytes > MAX_BYTES) full = `There is more than ${MAX_BYTES / 1024} KB.`
    if (full !== undefined) return
    if (isMatch) matches++
    files.add(path)
    lines.push({ path, shown })
  }

  const add = ({ bytes: size, isCut, text }: Lines.Line) => {
    if (full !== undefined) return
    const whole = begun + text
    const hit = /^(?:\.\/)?([^\0]*)\0(\d+)([:-])(.*)$/su.exec(whole)
    const note = hit === null ? BINARY.exec(whole) : null
    begun = hit === null && note === null ? `${whole}\n` : ""
    if (hit !== null) {
      const [, path = "", line, mark, rest] = hit
      if (!isAccepted(path)) return
      take(path, `${show(path)}${mark}${line}${mark}${rest}${isCut ? "…" : ""}`, size + 1, mark === ":")
    } else if (note !== null) {
      const [, path = "", rest = ""] = note
      if (isAccepted(path)) take(path, `${show(path)}: ${rest}`, size + 1, rest.startsWith("binary file matches"))
    }
  }

  return {
    push: (chunk) => {
      splitter.push(chunk).forEach(add)
      return full === undefined
    },
    end: () => {
      const rest = splitter.end()
      if (rest !== undefined) add(rest)
    },
    full: () => full,
    count: () => lines.length,
    lines: () => lines.toSorted((a, b) => Ripgrep.comparePaths(a.path, b.path)).map(({ shown }) => shown),
    matches: () => matches,
    files: () => files.size
  }
}

/** What ripgrep says of a file where it comes upon a NUL: that it matches, or that the rest was not searched. */
const BINARY =
  /^(?:\.\/)?([^]*?): ((?:WARNING: stopped searching )?binary file [^:]*\(found "\\0" byte around offset \d+\))$/

const render = (hits: Hits, hasErrors: boolean): Tool.ToolResult => {
  const full = hits.full()
  const notes = [
    ...(full === undefined ? [] : [full, "Narrow the pattern, path or glob to see the rest."]),
    ...(hasErrors ? ["Some files could not be read."] : [])
  ]
  const text = hits.count() === 0 ? "(no matches)" : hits.lines().join("\n")
  const details = { matches: hits.matches(), files: hits.files(), truncated: full !== undefined, hasErrors }
  return result(notes.length === 0 ? text : `${text}\n\n[${notes.join(" ")}]`, details)
}
