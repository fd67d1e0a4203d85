/**
 * Where long outputs are kept, so that what a result leaves out can still be looked up: a folder that only its owner can
 * read.
 *
 * By default it is one folder of this process in the system's folder for temporary files. It is made when it is first
 * needed, and stays for some time after the process has ended, for who reads the transcript then; each process removes
 * the old ones of others. `KeptOutput.layer` has a folder that goes with its scope, for a service with many agents.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as PlatformError from "effect/PlatformError"
import * as Tool from "../Tool.ts"

/** How long the folder of a process that has ended is kept, from the last time that a file was added. */
export const KEPT_FOR = Duration.days(1)

const PREFIX = "effect-agent-output-"

type Folder = Effect.Effect<string, PlatformError.PlatformError, FileSystem.FileSystem>

export class KeptOutput extends Context.Reference<{ readonly folder: Folder }>("effect-agent/tools/KeptOutput", {
  defaultValue: () => ({ folder: ofProcess() })
}) {
  /** A folder that is removed, with all that is in it, when the scope of the layer closes. */
  static readonly layer: Layer.Layer<never, PlatformError.PlatformError, FileSystem.FileSystem> = Layer.effect(
    KeptOutput,
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* fs.makeTempDirectoryScoped({ prefix: `${PREFIX}${process.pid}-` })
      return { folder: Effect.succeed(folder) }
    })
  )
}

const ofProcess = (): Folder => {
  let made: string | undefined
  return Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    // A system may clean its folder for temporary files at any time.
    if (made !== undefined && (yield* fs.exists(made))) return made
    const folder = yield* fs.makeTempDirectory({ prefix: `${PREFIX}${process.pid}-` })
    made = folder
    yield* removeOld(folder.slice(0, folder.lastIndexOf(PREFIX)))
    return folder
  })
}

/** Removes the folders of processes that ended long ago. What cannot be removed, as that of another user, stays. */
const removeOld = Effect.fnUntraced(function* (parent: string) {
  const fs = yield* FileSystem.FileSystem
  const names = yield* Effect.orElseSucceed(fs.readDirectory(parent), () => [])
  const oldest = (yield* Clock.currentTimeMillis) - Duration.toMillis(KEPT_FOR)
  const remove = Effect.fnUntraced(function* (name: string) {
    const pid = pattern.exec(name)?.[1]
    if (pid === undefined || (yield* isRunning(Number(pid)))) return
    const { mtime } = yield* fs.stat(`${parent}${name}`)
    if (Option.isSome(mtime) && mtime.value.getTime() < oldest)
      yield* fs.remove(`${parent}${name}`, { recursive: true })
  })
  yield* Effect.forEach(names, (name) => Effect.ignore(remove(name)), { discard: true })
})

const pattern = new RegExp(`^${PREFIX}(\\d+)-`)

/** A process of another user cannot be asked, but is there. */
const isRunning = (pid: number): Effect.Effect<boolean> =>
  Effect.try({ try: () => process.kill(pid, 0), catch: Tool.describeDefect }).pipe(
    Effect.catch((message) => Effect.succeed(message.includes("EPERM")))
  )
