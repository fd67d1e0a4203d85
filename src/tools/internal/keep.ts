/**
 * Keeps an output in a file of its own, so that what a result leaves out can still be looked up. The file is made only when
 * it is asked for. A full disk, or one that cannot be written, ends the keeping and not the command.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import type * as PlatformError from "effect/PlatformError"
import * as Scope from "effect/Scope"
import { KeptOutput } from "../KeptOutput.ts"

/** How much of an output is kept: a command that never stops printing must not fill the disk. */
export const MAX_KEPT_BYTES = 256 * 1024 * 1024

export interface Keep {
  /** Adds to the file, which is made first if there is none. */
  readonly write: (chunk: Uint8Array) => Effect.Effect<void>
  /** The file by its real path, if there is one, and whether it has everything that was written. */
  readonly kept: () => { readonly path: string; readonly isWhole: boolean } | undefined
}

export const make: Effect.Effect<Keep, never, FileSystem.FileSystem | Scope.Scope> = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const scope = yield* Effect.scope
  const folder = Effect.provideService((yield* KeptOutput).folder, FileSystem.FileSystem, fs)
  let file: { readonly path: string; readonly handle: FileSystem.File } | undefined
  let bytes = 0
  let isWhole = true

  const open = Effect.gen(function* () {
    const made = yield* fs.makeTempFile({ directory: yield* folder, prefix: "output-", suffix: ".txt" })
    const path = yield* fs.realPath(made)
    file = { path, handle: yield* Scope.provide(fs.open(path, { flag: "w" }), scope) }
    return file
  })

  const append = Effect.fnUntraced(function* (chunk: Uint8Array) {
    const { handle } = file ?? (yield* open)
    yield* handle.writeAll(chunk)
    bytes += chunk.length
  })

  return {
    write: (chunk) =>
      Effect.suspend((): Effect.Effect<void> => {
        if (!isWhole) return Effect.void
        if (bytes + chunk.length > MAX_KEPT_BYTES) {
          isWhole = false
          return Effect.void
        }
        return Effect.catch(append(chunk), (_: PlatformError.PlatformError) =>
          Effect.sync(() => {
            isWhole = false
          })
        )
      }),
    kept: () => file && { path: file.path, isWhole }
  }
})
