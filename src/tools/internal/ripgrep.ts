/**
 * Starts ripgrep, that of the package, without the configuration of the user. Nothing that a model gives can be taken for
 * an option, and what goes wrong is told in words that a model can act on.
 *
 * A glob only narrows what is searched: ripgrep's own `--glob` would bring back what ignore files leave out.
 */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FileSystem from "effect/FileSystem"
import * as Glob from "effect/Glob"
import type * as PlatformError from "effect/PlatformError"
import * as ChildProcess from "effect/process/ChildProcess"
import * as Stream from "effect/Stream"
import type * as Tool from "../../Tool.ts"
import { describeDefect } from "../../Tool.ts"
import { systemMessage } from "./errors.ts"
import * as Output from "./output.ts"
import { failure, plural } from "./text.ts"

/** For all searches: dotfiles but not `.git`, ignore files also where there is no repository, and links not followed. */
const COMMON = [
  "--no-config",
  "--no-messages",
  "--no-require-git",
  "--hidden",
  "--color=never",
  "--null",
  "--glob=!.git",
  // What `replace.ts` is writing at the moment.
  "--glob=!.effect-agent-*.tmp"
]

// ---------------------------------------------------------------------------------------------------------------------
// Which files
// ---------------------------------------------------------------------------------------------------------------------

export interface Selection {
  readonly args: ReadonlyArray<string>
  /** Whether a file is one of those that are meant, by its path from the folder that is searched. */
  readonly accepts: (path: string) => boolean
}

/** In UTF-16 code units. */
const MAX_GLOB = 1000

const everything: Selection = { args: [], accepts: () => true }

/**
 * The files that a glob names, those but for which an ignore file stays as it is. Without a slash it is a name at any
 * depth, with one a path from the folder that is searched; `!` before it leaves out such files, and such folders whole.
 */
export const select = Effect.fnUntraced(function* (glob: string | undefined) {
  if (glob === undefined) return everything
  if (glob.length > MAX_GLOB) return yield* failure(`The glob is too long: at most ${plural(MAX_GLOB, "character")}.`)
  if (/[\0\n\r]/.test(glob)) return yield* failure("A glob cannot have line breaks or NUL characters in it.")
  if (/(^|\/)\.\.(\/|$)/.test(glob))
    return yield* failure("A glob cannot lead out with `..`: give that folder as `path`.")
  const isNegative = glob.startsWith("!")
  const pattern = glob
    .replace(/^!/, "")
    .replace(/^(\.\/)+/, "")
    .replace(/\/$/, "/**")
  if (pattern === "") return everything
  const isName = !pattern.includes("/")
  const compiled = Glob.make(pattern.replace(/^\//, ""), { dot: true })
  const meets = (path: string) => Glob.match(compiled, isName ? path.slice(path.lastIndexOf("/") + 1) : path)
  const fs = yield* FileSystem.FileSystem
  // What an ignore file lets in by name, with `!`, comes in spite of this one: so each path is looked at once more.
  const rules = isNegative ? `\\${pattern}`.replace(/^\\([^#!])/, "$1") : `*\n!*/\n!${pattern}`
  const file = yield* fs.makeTempFileScoped({ prefix: "effect-agent-glob-" }).pipe(
    Effect.tap((path) => fs.writeFileString(path, `${rules}\n`)),
    Effect.mapError((error) => failure(`The glob cannot be used: ${systemMessage(error)}.`, error))
  )
  return {
    // Only here does ripgrep say that a glob is wrong. It is of no other effect, since there is no `--pre`.
    args: [`--ignore-file=${file}`, `--pre-glob=${pattern}`],
    accepts: (path: string) => (isNegative ? foldersOf(path).every((one) => !meets(one)) : meets(path))
  }
})

/** A path and the folders in it that lead there. */
const foldersOf = (path: string): ReadonlyArray<string> => {
  const names = path.split("/")
  return names.map((_, index) => names.slice(0, index + 1).join("/"))
}

// ---------------------------------------------------------------------------------------------------------------------
// The process
// ---------------------------------------------------------------------------------------------------------------------

export interface Ended {
  /** Whether some files could not be read. */
  readonly hasErrors: boolean
  /** What ripgrep said of it, if it said anything. */
  readonly said: string
}

/**
 * Runs ripgrep and gives what it prints to `push`, until that wants no more: then it is stopped, and there is no `Ended`.
 */
export const run = (args: ReadonlyArray<string>, cwd: string, push: (chunk: Uint8Array) => boolean) =>
  Effect.gen(function* () {
    const rg = yield* executable
    const command = ChildProcess.make(rg, [...COMMON, ...args], { cwd, stdin: "ignore", forceKillAfter: "1 second" })
    const handle = yield* command.pipe(Effect.mapError((error) => cannotStart(rg, error)))
    const messages = yield* Effect.forkScoped(collect(handle.stderr), { startImmediately: true })
    let hasRoom = true
    yield* Stream.runForEachWhile(handle.stdout, (chunk) => Effect.sync(() => (hasRoom = push(chunk))))
    if (!hasRoom) return undefined
    const code = yield* handle.exitCode
    return { hasErrors: code > 1, said: yield* Fiber.join(messages) } satisfies Ended
  }).pipe(
    Effect.scoped,
    Effect.catchTag("PlatformError", (error) => Effect.fail(broken(systemMessage(error), error))),
    // Node throws what it does not expect of the system.
    Effect.catchDefect((defect) => Effect.fail(broken(describeDefect(defect), defect)))
  )

/** The package has one binary for each system, and cannot be loaded where it has none. */
const executable = Effect.mapError(
  Effect.tryPromise(() => import("@vscode/ripgrep")),
  (error) => missing("the package @vscode/ripgrep has none for this system", error)
).pipe(Effect.map(({ rgPath }) => rgPath))

const missing = (why: string, cause: unknown): Tool.ToolFailure =>
  failure(`ripgrep is missing: ${why}. Reinstall the packages of this agent, or search with bash.`, cause)

const cannotStart = (rg: string, error: PlatformError.PlatformError): Tool.ToolFailure =>
  error.reason._tag === "NotFound" && error.reason.module === "ChildProcess"
    ? missing(`${rg} was not found`, error)
    : broken(systemMessage(error), error)

const broken = (why: string, cause: unknown): Tool.ToolFailure => {
  if (/\bE2BIG\b/.test(why)) return failure("The pattern is longer than the system takes: use a shorter one.", cause)
  if (/\bNUL\b/.test(why)) return failure("The pattern has a NUL character: a regular expression can say \\x00.", cause)
  return failure(`ripgrep failed: ${why}.`, cause)
}

/**
 * What ripgrep says is wrong, with as much of a pattern as a reader needs, and without the options that it would like to be
 * given: there is no way to give them.
 */
const collect = Effect.fnUntraced(function* (stderr: Stream.Stream<Uint8Array, PlatformError.PlatformError>) {
  const output = Output.make()
  yield* Stream.runForEach(stderr, (chunk) => Effect.sync(() => output.add(chunk)))
  const parts = output.parts()
  return (parts.isWhole ? parts.text : `${parts.head}\n${parts.tail}`)
    .replace(/\n\nConsider enabling multiline mode[^]*$/, ": a match never goes beyond its line.")
    .replace(/\n\nConsider enabling[^]*$/, ".")
    .replaceAll(/^(.{200}).+(.{200})$/gmu, "$1…$2")
    .trim()
})

// ---------------------------------------------------------------------------------------------------------------------
// Order
// ---------------------------------------------------------------------------------------------------------------------

/** Folder by folder, as ripgrep sorts paths. */
export const comparePaths = (first: string, second: string): number => {
  if (first === second) return 0
  let at = 0
  while (first[at] === second[at]) at++
  return rankAt(first, at) - rankAt(second, at)
}

const rankAt = (path: string, at: number): number =>
  at === path.length ? -2 : path[at] === "/" ? -1 : path.charCodeAt(at)
