import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import { KeptOutput } from "../../../src/tools/KeptOutput.ts"
import * as Keep from "../../../src/tools/internal/keep.ts"

it.effect("no more than a fixed amount is kept, and that it is not all is known", () =>
  Effect.gen(function* () {
    let written = 0
    const file = { writeAll: (bytes: Uint8Array) => Effect.sync(() => (written += bytes.length)) }
    const fs = FileSystem.layerNoop({
      makeTempFile: (options) => Effect.succeed(`${options?.directory}/file`),
      realPath: (path) => Effect.succeed(`/real${path}`),
      open: () => Effect.succeed(file as unknown as FileSystem.File)
    })
    const keep = yield* Keep.make.pipe(
      Effect.provideService(KeptOutput, { folder: Effect.succeed("/tmp") }),
      Effect.provide(fs)
    )
    expect(keep.kept()).toBeUndefined()

    const chunk = new Uint8Array(3 * 1024 * 1024)
    for (let i = 0; i < 85; i++) yield* keep.write(chunk)
    expect(keep.kept()).toEqual({ path: "/real/tmp/file", isWhole: true })
    for (let i = 0; i < 85; i++) yield* keep.write(chunk)
    yield* keep.write(new Uint8Array(1))
    expect(keep.kept()).toEqual({ path: "/real/tmp/file", isWhole: false })
    expect(written).toBe(85 * chunk.length)
    expect(written).toBeLessThanOrEqual(Keep.MAX_KEPT_BYTES)
  })
)
