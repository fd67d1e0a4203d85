/**
 * Where the tools of an agent may go: a root folder, which relative paths are against and commands run in, and further
 * folders. What a pattern closes is not read, or not changed. One workspace is for one agent: it remembers what the agent
 * has seen of files, so that an edit does not overwrite what somebody else has changed since.
 *
 * A path is checked where it leads to, with all symbolic links followed, and tools work on that real path from then on. A
 * tool that opens files looks again at what it has opened (`internal/open.ts`). This holds the tools, not the commands
 * that `bash` runs: only a sandbox does.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import type * as PlatformError from "effect/PlatformError"
import * as Result from "effect/Result"
import type * as Tool from "../Tool.ts"
import { cannot, isMissing, isNoFolder } from "./internal/errors.ts"
import * as Patterns from "./internal/patterns.ts"
import * as Seen from "./internal/seen.ts"
import { count, failure, showName } from "./internal/text.ts"

// ---------------------------------------------------------------------------------------------------------------------
// Options
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Patterns are those of ignore files: one without a slash is a name at any depth, one with a slash a path from the folder;
 * `*`, `?`, `[a-z]`, `{a,b}` and `**` are wildcards, `!` lifts what an earlier pattern closes, and a closed folder closes
 * all that is in it. Upper and lower case are the same, since they are on many disks.
 */
export interface Options {
  /** The folder that relative paths are against and commands run in. Default: the current folder when the layer is built. */
  readonly root?: string | undefined
  /** Further folders that tools may use. `["/"]` lets them go anywhere. */
  readonly extraFolders?: ReadonlyArray<string> | undefined
  /** Folders, in the others or not, where tools change nothing. */
  readonly readOnlyFolders?: ReadonlyArray<string> | undefined
  /** Tools change nothing anywhere. */
  readonly readOnly?: boolean | undefined
  /** What tools neither read nor change. Default: `SECRETS`. */
  readonly deny?: ReadonlyArray<string> | undefined
  /** What tools may read but not change. Default: `[".git"]`. */
  readonly denyChanges?: ReadonlyArray<string> | undefined
  /** Whether tools refuse to overwrite what somebody else has changed since they last saw it. Default: true. */
  readonly checkChanges?: boolean | undefined
}

/** Files that usually hold passwords and keys. */
export const SECRETS: ReadonlyArray<string> = [
  ".env",
  ".env.*",
  "!.env.{example,sample,template,dist}",
  "*.{pem,key,p12,pfx,jks,keystore,kdbx}",
  "id_{rsa,dsa,ecdsa,ed25519,ecdsa_sk,ed25519_sk}",
  ".ssh",
  ".gnupg",
  ".aws",
  ".netrc",
  ".pgpass",
  ".git-credentials"
]

// ---------------------------------------------------------------------------------------------------------------------
// Service
// ---------------------------------------------------------------------------------------------------------------------

export type Access = "read" | "change"

/** A path that tools may use. */
export interface Location {
  /** As the model gave it. */
  readonly given: string
  /** The real path: absolute, without symbolic links. Of what is not there yet, the one that it will have. */
  readonly path: string
  /** What is there, if something is. */
  readonly info: FileSystem.File.Info | undefined
}

export class Workspace extends Context.Service<
  Workspace,
  {
    /** The real path of the root folder. */
    readonly root: string
    /** Follows a path to where it leads. Fails, in one sentence, if that may not be read or changed; it need not exist. */
    readonly locate: (given: string, access: Access) => Effect.Effect<Location, Tool.ToolFailure>
    /** Whether a real path may be read or changed: for what tools come across in a folder. Looks at nothing on disk. */
    readonly allows: (path: string, access: Access) => boolean
    /** Lets tools read a file outside the folders, by its real path: one that a tool itself has made, such as a kept output. */
    readonly admit: (path: string) => void
    /** Where a path leads to that may not exist, without a check: what calls of a batch that mean one file have in common. */
    readonly realPath: (given: string) => Effect.Effect<string>
    /** Whether none of the folders on a real path has been exchanged for a link. It does not look at the last name. */
    readonly isReal: (path: string) => Effect.Effect<boolean, PlatformError.PlatformError>
    /** What tools last saw of files. */
    readonly seen: Seen.Seen
  }
>()("effect-agent/tools/Workspace") {
  static readonly layer = (options: Options = {}): Layer.Layer<Workspace, never, FileSystem.FileSystem | Path.Path> =>
    Layer.effect(Workspace, make(options))
}

const make = Effect.fnUntraced(function* (options: Options) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const { resolve } = path

  const folder = (given: string) => Effect.orElseSucceed(fs.realPath(resolve(given)), () => resolve(given))
  const root = yield* folder(options.root ?? ".")
  const readOnlyFolders = yield* Effect.forEach(options.readOnlyFolders ?? [], folder)
  const folders = [root, ...(yield* Effect.forEach(options.extraFolders ?? [], folder)), ...readOnlyFolders]
  const closed = Patterns.make(options.deny ?? SECRETS)
  const unchangeable = Patterns.make(options.denyChanges ?? [".git"])
  const admitted = new Set<string>()

  const inside = (container: string, name: string): string | undefined => {
    // As the platform sees it, which takes longer: `..` in a name, or upper and lower case that are the same.
    if (name.startsWith(container + path.sep) && !name.includes("..")) return name.slice(container.length + 1)
    const relative = path.relative(container, name)
    return relative === ".." || relative.startsWith(`..${path.sep}`) || path.isAbsolute(relative) ? undefined : relative
  }

  /** Why a path, absolute and without links, may not be used: the rest of a sentence that begins with the path. */
  const refusal = (name: string, access: Access): string | undefined => {
    if (access === "read" && admitted.has(name)) return undefined
    const container = folders.find((one) => inside(one, name) !== undefined)
    if (container === undefined) return OUTSIDE
    const names = inside(container, name)!.split(path.sep)
    const pattern = closed(names)
    if (pattern !== undefined) return `is closed to tools (by the pattern ${pattern})`
    if (access === "read") return undefined
    const kept = unchangeable(names)
    if (kept !== undefined) return `may be read but not changed with tools (by the pattern ${kept})`
    const isReadOnly = options.readOnly === true || readOnlyFolders.some((one) => inside(one, name) !== undefined)
    return isReadOnly ? "may be read but not changed: its folder is read-only" : undefined
  }

  const OUTSIDE = `is outside the folders that tools may use (${folders.map(showName).join(", ")})`

  const locate = Effect.fnUntraced(function* (given: string, access: Access) {
    const mistake = mistakeIn(given)
    if (mistake !== undefined) return yield* failure(mistake)
    const asked = resolve(root, given)
    const { look, name } = yield* Effect.mapError(follow(asked), (error) => {
      // What is outside does not even tell why it cannot be looked at.
      const outside = folders.every((one) => inside(one, asked) === undefined)
      return outside ? failure(`${showName(given)} ${OUTSIDE}.`) : cannot("look at", given)(error)
    })
    const refused = refusal(name, access)
    if (refused !== undefined) {
      const who = name === asked ? showName(given) : `${showName(given)} leads to ${showName(name)}, which`
      return yield* failure(`${who} ${refused}.`)
    }
    // The name by which it was asked for may be closed as well: `.env` that is a link.
    const asNamed = refusal(asked, access)
    if (name !== asked && asNamed !== undefined && asNamed !== OUTSIDE) {
      return yield* failure(`${showName(given)} ${asNamed}.`)
    }
    return { given, path: name, info: yield* Effect.mapError(look, cannot("look at", given)) }
  })

  /** Where a path leads to, and a look at what is there. */
  const follow = Effect.fnUntraced(function* (asked: string) {
    const straight = yield* Effect.result(walk(asked, "below"))
    if (Result.isSuccess(straight) && straight.success !== LINK) {
      return { name: asked, look: Effect.succeed(straight.success) }
    }
    const name = yield* canonical(asked)
    return { name, look: Effect.catchIf(fs.stat(name), isMissing, () => Effect.undefined) }
  })

  /**
   * What is at a path, if no name below the folder (or from it on) is a link. The folder's own path has none, so that this
   * is as good as asking for the real path, which would look at each name from the top of the disk.
   */
  const walk = Effect.fnUntraced(function* (name: string, from: "below" | "folder") {
    const container = folders.find((one) => inside(one, name) !== undefined)
    if (container === undefined) return LINK
    const names = inside(container, name)!.split(path.sep)
    const paths = from === "folder" || names[0] === "" ? [container] : []
    for (const next of names) if (next !== "") paths.push(path.join(paths.at(-1) ?? container, next))
    let info: FileSystem.File.Info | undefined
    for (const at of paths) {
      info = yield* lookAt(at)
      if (info === undefined || info.type === "SymbolicLink") break
    }
    return info?.type === "SymbolicLink" ? LINK : info
  })

  const lookAt = (name: string) => Effect.catchIf(fs.lstat(name), isMissing, () => Effect.undefined)

  /** The real path of what may not exist: that of the folders that do, and the rest as it is named. */
  const canonical = Effect.fnUntraced(function* (asked: string): Effect.fn.Return<string, PlatformError.PlatformError> {
    let name = asked
    let rest: Array<string> = []
    for (let links = 0; ;) {
      const real = yield* Effect.result(fs.realPath(name))
      if (Result.isSuccess(real)) return path.join(real.success, ...rest)
      if (!isMissing(real.failure) && !isNoFolder(real.failure)) return yield* real.failure
      const link = yield* Effect.result(fs.readLink(name))
      const parent = path.dirname(name)
      if (Result.isSuccess(link)) {
        // A link to nowhere: what is written through it is made where it points.
        if (++links > MAX_LINKS) return yield* real.failure
        name = path.resolve(yield* fs.realPath(parent), link.success)
      } else {
        if (parent === name) return yield* real.failure
        rest = [path.basename(name), ...rest]
        name = parent
      }
    }
  })

  return {
    root,
    locate,
    allows: (name: string, access: Access) => refusal(name, access) === undefined,
    admit: (name: string) => void admitted.add(name),
    isReal: (name: string) =>
      Effect.flatMap(walk(path.dirname(name), "folder"), (found) =>
        found === LINK ? Effect.map(canonical(name), (real) => real === name) : Effect.succeed(true)
      ),
    realPath: (given: string) => Effect.orElseSucceed(canonical(resolve(root, given)), () => resolve(root, given)),
    seen: options.checkChanges === false ? Seen.nothing : Seen.make()
  }
})

/** There may be a link in the path. */
const LINK = "link"

/** As many as Linux follows. */
const MAX_LINKS = 40
/** As long as Linux takes. */
const MAX_PATH = 4096

const mistakeIn = (given: string): string | undefined => {
  if (given === "") return "The path is empty: give the path of a file or folder."
  if (given.length > MAX_PATH)
    return `The path is too long: ${count(given.length)} characters, at most ${count(MAX_PATH)}.`
  if (given.includes("\0")) return `${showName(given)} is no path: it has a NUL character.`
  if (/^~(\/|$)/.test(given)) return `${showName(given)} is not expanded: give the path without "~".`
  return undefined
}
