import { expect, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as PlatformError from "effect/PlatformError"
import { spawnSync } from "node:child_process"
import * as Ls from "../../src/tools/Ls.ts"
import { execute, failureOf, folder, services, textOf, within } from "./support.ts"

const ls = (path?: string) => execute(Ls.tool, path === undefined ? {} : { path })

layer(services, { excludeTestServices: true })("ls", (it) => {
  it.effect("entries are sorted by name, with marks for what they are and the sizes of files", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const path = yield* folder({ "b.txt": "12345", "a/inner": "", ".dot": "", Z: "x".repeat(1234) })
      yield* fs.symlink("a", `${path}/link`)
      yield* fs.symlink("nowhere", `${path}/broken`)
      spawnSync("mkfifo", [`${path}/pipe`])
      const result = yield* within(path)(ls())
      expect(textOf(result).split("\n")).toEqual([
        ".dot  0",
        "Z  1,234",
        "a/",
        "b.txt  5",
        "broken@ -> nowhere",
        "link@ -> a",
        "pipe|"
      ])
      expect(result.details).toEqual({
        entries: [
          { name: ".dot", type: "File", size: 0 },
          { name: "Z", type: "File", size: 1234 },
          { name: "a", type: "Directory" },
          { name: "b.txt", type: "File", size: 5 },
          { name: "broken", type: "SymbolicLink", target: "nowhere" },
          { name: "link", type: "SymbolicLink", target: "a" },
          { name: "pipe", type: "FIFO" }
        ],
        total: 7,
        truncated: false
      })
      expect(textOf(yield* within(path)(ls("link")))).toBe("inner  0")
    })
  )

  it.effect("devices have a mark of their own", () =>
    Effect.gen(function* () {
      const result = yield* within("/dev")(ls())
      expect(textOf(result).split("\n")).toEqual(expect.arrayContaining(["null%", "zero%"]))
    })
  )

  it.effect("a name stays on its line: control characters are shown escaped, others are left alone", () =>
    Effect.gen(function* () {
      const path = yield* folder({
        "a\nb": "",
        "c\x1b[2J": "",
        "d\u202ee": "",
        'f"g\\': "",
        "h\x9b": "",
        "é 👨‍👩‍👧 name": ""
      })
      expect(textOf(yield* ls(path)).split("\n")).toEqual([
        '"a\\nb"  0',
        '"c\\u001b[2J"  0',
        '"d\\u202ee"  0',
        'f"g\\  0',
        '"h\\u009b"  0',
        "é 👨‍👩‍👧 name  0"
      ])
    })
  )

  it.effect(`of a large folder the first ${Ls.MAX_ENTRIES} entries are given, and how many there are`, () =>
    Effect.gen(function* () {
      const names = Array.from({ length: Ls.MAX_ENTRIES + 1 }, (_, i) => String(1000 + i))
      const path = yield* folder(Object.fromEntries(names.map((name) => [name, ""])))
      const result = yield* ls(path)
      const [list, note] = textOf(result).split("\n\n")
      expect(list!.split("\n")).toEqual(names.slice(0, Ls.MAX_ENTRIES).map((name) => `${name}  0`))
      expect(note).toBe("[500 of 501 entries are shown. Use find to see the others.]")
      expect(result.details).toMatchObject({ total: 501, truncated: true })
    })
  )

  it.effect("an entry that is gone, or cannot be looked at, does not fail the list", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const path = yield* folder({ kept: "1", gone: "2" })
      yield* fs.symlink("kept", `${path}/link`)
      const denied = PlatformError.systemError({ _tag: "PermissionDenied", module: "FileSystem", method: "lstat" })
      const some: FileSystem.FileSystem = {
        ...fs,
        lstat: (file) => (file.endsWith("gone") ? Effect.fail(denied) : fs.lstat(file)),
        readLink: () => Effect.fail(denied)
      }
      const result = yield* Effect.provideService(ls(path), FileSystem.FileSystem, some)
      expect(textOf(result).split("\n")).toEqual(["gone", "kept  1", "link@ -> ?"])
    })
  )

  it.effect("an empty folder says so; a file and a missing folder are failures", () =>
    Effect.gen(function* () {
      const path = yield* folder({ file: "" })
      expect(textOf(yield* ls(yield* folder()))).toBe("(empty folder)")
      const failed = (name: string) => within(path)(failureOf(Ls.tool, { path: name }))
      expect(yield* failed("file")).toBe("file is a file, not a folder. Use read for files.")
      expect(yield* failed("none")).toBe("Cannot look at none: there is no such file or folder.")
      expect(yield* failed("file/none")).toContain("a part of the path is a file")
    })
  )
})
