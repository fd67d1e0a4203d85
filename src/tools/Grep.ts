/**
 * The tool that searches files with ripgrep, which is read as it prints and stopped as soon as there is enough.
 *
 * ripgrep gets no configuration file and each argument in the form that cannot be taken for an option. Files come in the
 * order of their paths, so that the same search gives the same answer.
 */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as PlatformError from "effect/PlatformError"
import * as ChildProcess from "effect/process/ChildProcess"
import type * as ChildProcessSpawner from "effect/process/ChildProcessSpawner"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Tool from "../Tool.ts"
import * as Lines from "./internal/lines.ts"
import * as Output from "./internal/output.ts"
import { find, kind, systemMessage, workingDirectory } from "./internal/paths.ts"
import { failure, plural, result, showName } from "./internal/text.ts"
import type { Workspace } from "./Workspace.ts"

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
  pattern: Schema.String.annotate({
    description: "A regular expression (Rust syntax), or a text if `literal` is true"
  }),
  path: Schema.optionalKey(
    Schema.String.annotate({
      description: "The folder or file to search, relative to the working directory or absolute (default: .)"
    })
  ),
  glob: Schema.optionalKey(Schema.String.annotate({ description: "Which files to search, as *.ts or src/**/*.md" })),
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

type Services = ChildProcessSpawner.ChildProcessSpawner | Workspace

export const tool: Tool.Tool<Parameters, Services> = Tool.make({
  name: "grep",
  description:
    "Search the contents of files with ripgrep. Gives path:line:text for each matching line, and path-line-text for lines of " +
    "context. Dotfiles are searched; what .gitignore names, .git and binary files are not. Links are not followed. " +
    `At most ${DEFAULT_LIMIT} matching lines (or \`limit\`, up to ${MAX_LIMIT}) and ${MAX_BYTES / 1024} KB are given; ` +
    `of lines longer than ${MAX_LINE_BYTES} bytes only the start is.`,
  parameters: Parameters,
  execute: Effect.fnUntraced(
    function* (params) {
      const { path = ".", limit = DEFAULT_LIMIT } = params
      const { info } = yield* find(path)
      if (info.type !== "Directory" && info.type !== "File") {
        return yield* failure(`${showName(path)} is ${kind(info)}: only folders and files can be searched.`)
      }
      const handle = yield* start(params, yield* workingDirectory)
      const messages = yield* Effect.forkScoped(collect(handle.stderr), { startImmediately: true })
      const hits = makeHits(limit)
      yield* Stream.runForEachWhile(handle.stdout, (chunk) => Effect.sync(() => hits.push(chunk)))
      if (hits.full() !== undefined) return render(hits, false)
      hits.end()

      const code = yield* handle.exitCode
      const said = yield* Fiber.join(messages)
      if (code > 1 && said !== "" && hits.lines.length === 0) return yield* failure(said)
      return render(hits, code > 1)
    },
    Effect.scoped,
    Effect.catchTag("PlatformError", (error) => Effect.fail(broken(error)))
  )
})

const broken = (error: PlatformError.PlatformError): Tool.ToolFailure =>
  failure(`ripgrep failed: ${systemMessage(error)}.`, error)

const start = Effect.fnUntraced(function* (params: Parameters, cwd: string) {
  const rg = yield* executable
  const command = ChildProcess.make(rg, args(params), { cwd, stdin: "ignore", forceKillAfter: "1 second" })
  return yield* command.pipe(
    Effect.mapError((error) =>
      error.reason._tag === "NotFound"
        ? failure(`ripgrep is missing: ${rg} was not found. Reinstall the package, or search with bash.`, error)
        : broken(error)
    )
  )
})

/** The package has one binary for each system, and cannot be loaded where it has none: then there may be one on the PATH. */
const executable = Effect.tryPromise(() => import("@vscode/ripgrep")).pipe(
  Effect.map(({ rgPath }) => rgPath),
  Effect.orElseSucceed(() => "rg")
)

const args = ({ context, glob, ignoreCase, literal, path = ".", pattern }: Parameters): ReadonlyArray<string> => [
  "--no-config",
  "--no-messages",
  "--no-require-git",
  "--hidden",
  "--sort=path",
  "--color=never",
  "--no-heading",
  "--with-filename",
  "--line-number",
  "--null",
  "--no-context-separator",
  `--max-columns=${MAX_LINE_BYTES}`,
  "--max-columns-preview",
  ...(literal === true ? ["--fixed-strings"] : []),
  ...(ignoreCase === true ? ["--ignore-case"] : []),
  ...(context === undefined ? [] : [`--context=${context}`]),
  ...(glob === undefined ? [] : [`--glob=${glob}`]),
  "--glob=!.git",
  `--regexp=${pattern}`,
  "--",
  path
]

/** What ripgrep says is wrong. */
const collect = Effect.fnUntraced(function* (stderr: Stream.Stream<Uint8Array, PlatformError.PlatformError>) {
  const output = Output.make()
  yield* Stream.runForEach(stderr, (chunk) => Effect.sync(() => output.add(chunk)))
  return output.tail(4 * 1024).trim()
})

// ---------------------------------------------------------------------------------------------------------------------
// Reading what ripgrep prints
// ---------------------------------------------------------------------------------------------------------------------

interface Hits {
  /** Takes what was printed; true while there is room for more. */
  readonly push: (chunk: Uint8Array) => boolean
  readonly end: () => void
  /** Why no more is taken, in words. */
  readonly full: () => string | undefined
  readonly lines: ReadonlyArray<string>
  readonly matches: () => number
  readonly files: () => number
}

/** Each line is a path, NUL, a line number, `:` for a match or `-` for context, and the text. */
const makeHits = (limit: number): Hits => {
  // Room for the longest path beside the text. A character of ripgrep's count is one with all its accents, without end.
  const splitter = Lines.make(MAX_LINE_BYTES + 8 * 1024)
  const lines: Array<string> = []
  const files = new Set<string>()
  let matches = 0
  let bytes = 0
  let full: string | undefined
  // The beginning of a path that has a line break in it.
  let begun = ""

  const add = ({ bytes: lineBytes, isCut, text }: Lines.Line) => {
    if (full !== undefined) return
    const hit = /^(?:\.\/)?([^\0]*)\0(\d+)([:-])(.*)$/su.exec(begun + text)
    if (hit === null) {
      if (BINARY.test(text)) {
        matches += text.includes("binary file matches") ? 1 : 0
        lines.push(showName((begun + text).replace(/^\.\//, "")))
        begun = ""
      } else begun += `${text}\n`
      return
    }
    begun = ""
    const [, path = "", line, mark, rest] = hit
    const shown = `${showName(path)}${mark}${line}${mark}${rest}${isCut ? "…" : ""}`
    bytes += lineBytes + 1
    if (mark === ":" && matches === limit) full = `There are more than ${plural(limit, "matching line")}.`
    else if (bytes > MAX_BYTES) full = `There is more than ${MAX_BYTES / 1024} KB.`
    if (full !== undefined) return
    if (mark === ":") matches++
    files.add(path)
    lines.push(shown)
  }

  return {
    push: (chunk) => {
      splitter.push(chunk).forEach(add)
      return full === undefined
    },
    end: () => {
      const last = splitter.end()
      if (last !== undefined) add(last)
    },
    full: () => full,
    lines,
    matches: () => matches,
    files: () => files.size
  }
}

/** What ripgrep says of a file where it comes upon a NUL: that it matches, or that the rest was not searched. */
const BINARY = / \(found "\\0" byte around offset \d+\)$/

const render = (hits: Hits, hasErrors: boolean): Tool.ToolResult => {
  const full = hits.full()
  const notes = [
    ...(full === undefined ? [] : [full, "Narrow the pattern, path or glob to see the rest."]),
    ...(hasErrors ? ["Some files could not be read."] : [])
  ]
  const text = hits.lines.length === 0 ? "(no matches)" : hits.lines.join("\n")
  const details = { matches: hits.matches(), files: hits.files(), truncated: full !== undefined, hasErrors }
  return result(notes.length === 0 ? text : `${text}\n\n[${notes.join(" ")}]`, details)
}
