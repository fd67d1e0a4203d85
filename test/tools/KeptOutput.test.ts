import * as NodeServices from "@effect/platform-node/NodeServices"
import { describe, expect, it, layer } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import { spawnSync } from "node:child_process"
import { tmpdir } from "node:os"
import { KEPT_FOR, KeptOutput } from "../../src/tools/KeptOutput.ts"
import { folder } from "./support.ts"

/** A process that has ended. */
const deadPid = () => spawnSync("true").pid

/** The folder that a process uses by default; each call stands for another process. */
const fresh = Effect.suspend(() => KeptOutput.defaultValue().folder)

layer(NodeServices.layer, { excludeTestServices: true })("by default", (it) => {
  it.effect("there is one folder, for its owner only, made again if somebody removed it", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const { folder } = KeptOutput.defaultValue()
      const path = yield* folder
      expect(path.startsWith(`${tmpdir()}/effect-agent-output-${process.pid}-`)).toBe(true)
      expect((yield* fs.stat(path)).mode & 0o777).toBe(0o700)
      expect(yield* folder).toBe(path)
      yield* fs.remove(path, { recursive: true })
      const again = yield* folder
      expect(again).not.toBe(path)
      expect(yield* folder).toBe(again)
      yield* fs.remove(again, { recursive: true })
    })
  )
})

layer(NodeServices.layer, { excludeTestServices: true })("old folders", (it) => {
  it.effect("are removed when their process has ended and they are old; nothing else is", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const parent = yield* folder()
      const elsewhere = yield* folder({ kept: "" })
      const old = new Date(Date.now() - Duration.toMillis(KEPT_FOR) - 60_000)
      const young = new Date(Date.now() - Duration.toMillis(KEPT_FOR) + 60_000)
      const dead = deadPid()
      const names = {
        [`effect-agent-output-${dead}-old`]: old,
        [`effect-agent-output-${dead}-young`]: young,
        [`effect-agent-output-${process.pid}-old`]: old,
        [`effect-agent-output-1-old`]: old,
        [`effect-agent-output-x-old`]: old,
        "other-1-old": old
      }
      for (const [name, time] of Object.entries(names)) {
        yield* fs.makeDirectory(`${parent}/${name}/inner`, { recursive: true })
        yield* fs.utimes(`${parent}/${name}`, time, time)
      }
      yield* fs.symlink(elsewhere, `${parent}/effect-agent-output-${dead}-link`)
      yield* fs.utimes(elsewhere, old, old)

      const makeTempDirectory: FileSystem.FileSystem["makeTempDirectory"] = (options) =>
        fs.makeTempDirectory({ ...options, directory: parent })
      const made = yield* Effect.provideService(fresh, FileSystem.FileSystem, { ...fs, makeTempDirectory })
      const left = (yield* fs.readDirectory(parent)).filter((name) => `${parent}/${name}` !== made)
      expect(left.toSorted()).toEqual(
        Object.keys(names)
          .filter((name) => name !== `effect-agent-output-${dead}-old`)
          .toSorted()
      )
      expect(yield* fs.readDirectory(elsewhere)).toEqual(["kept"])
    })
  )
})

describe("as a layer", () => {
  it.live("the folder goes with the scope", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const path = yield* Effect.gen(function* () {
        const path = yield* (yield* KeptOutput).folder
        yield* fs.writeFileString(`${path}/file`, "x")
        return path
      }).pipe(Effect.provide(Layer.fresh(KeptOutput.layer)))
      expect(yield* fs.exists(path)).toBe(false)
    }).pipe(Effect.provide(NodeServices.layer))
  )
})
