import { describe, expect, layer } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as ChildProcess from "effect/process/ChildProcess"
import * as ChildProcessSpawner from "effect/process/ChildProcessSpawner"
import * as Schema from "effect/Schema"
import { execFileSync, spawnSync } from "node:child_process"
import * as Find from "../../src/tools/Find.ts"
import * as Grep from "../../src/tools/Grep.ts"
import * as Write from "../../src/tools/Write.ts"
import { execute, failureOf, folder, services, textOf, within } from "./support.ts"

type Params = Parameters<typeof Find.tool.execute>[0]

const find = (params: Params) => execute(Find.tool, params)
const findIn = (path: string, params: Params) =>
  Effect.map(within(path)(find(params)), (result) => textOf(result).split("\n"))

/** Trees of few names with ignore files of few rules, so that they meet. */
const Name = Schema.Literals(["a", "b", "c.ts", "d.log", ".e", "keep.log"])
const Rule = Schema.Literals([
  "a",
  "a/",
  "/b",
  "*.log",
  "!keep.log",
  "c.*",
  "a/b",
  "**/c.ts",
  ".e",
  "!.e",
  "# a",
  "",
  "/*",
  "!/a"
])
const trees = Arbitrary.schema(
  Schema.Struct({
    files: Schema.NonEmptyArray(Schema.NonEmptyArray(Name)),
    rules: Schema.Array(Rule),
    inner: Schema.Array(Rule)
  })
)

layer(services, { excludeTestServices: true })("find", (it) => {
  it.effect("files are found by a glob, in any depth, sorted by path", () =>
    Effect.gen(function* () {
      const path = yield* folder({ "b.ts": "", "a/c.ts": "", "a/d/e.tsx": "", ".x/f.ts": "", "a.ts": "", "g.md": "" })
      expect(yield* findIn(path, { pattern: "*.ts" })).toEqual([".x/f.ts", "a/c.ts", "a.ts", "b.ts"])
      expect(yield* findIn(path, { pattern: "*.{ts,tsx}", path: "a" })).toEqual(["a/c.ts", "a/d/e.tsx"])
      expect(yield* findIn(path, { pattern: "a/**" })).toEqual(["a/c.ts", "a/d/e.tsx"])
      expect(yield* findIn(path, { pattern: "a/" })).toEqual(["a/c.ts", "a/d/e.tsx"])
      expect(yield* findIn(path, { pattern: "./a/*" })).toEqual(["a/c.ts"])
      expect(yield* findIn(path, { pattern: "/*.ts" })).toEqual(["a.ts", "b.ts"])
      expect(yield* findIn(path, { pattern: "d/*" })).toEqual(["(no files)"])
      expect(yield* findIn(path, { pattern: "!*.ts" })).toEqual(["a/d/e.tsx", "g.md"])
      expect(yield* findIn(path, { pattern: "?.[tm]s", path: "./a/" })).toEqual(["a/c.ts"])
      const result = yield* within(path)(find({ pattern: "g*" }))
      expect(result.details).toEqual({ files: ["g.md"], total: 1, truncated: false, hasErrors: false })
      expect(yield* findIn(path, { pattern: "*", path: `${path}/a/d` })).toEqual([`${path}/a/d/e.tsx`])
    })
  )

  it.effect("the newest come first where that is asked for, also of more than are given", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const names = ["b", "c/d", "a", "e"]
      const path = yield* folder(Object.fromEntries(names.map((name) => [name, ""])))
      for (const [index, name] of names.entries()) yield* fs.utimes(`${path}/${name}`, 1000 + index, 1000 + index)
      expect(yield* findIn(path, { pattern: "*", newestFirst: true })).toEqual(["e", "a", "c/d", "b"])
      const some = yield* within(path)(find({ pattern: "*", newestFirst: true, limit: 2 }))
      expect(textOf(some)).toBe("e\na\n\n[2 of 4 files are shown. Narrow the pattern or path.]")
      expect(some.details).toEqual({ files: ["e", "a"], total: 4, truncated: true, hasErrors: false })
    })
  )

  it.effect.prop(
    "what is found is what git does not ignore, whatever the glob is; grep searches the same files",
    [trees],
    ([{ files, inner, rules }]) =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const path = yield* folder({ ".gitignore": `${rules.join("\n")}\n`, "a/.gitignore": `${inner.join("\n")}\n` })
        for (const names of files) {
          // A name can only be a folder or a file: the first one counts.
          const file = `${path}/${names.join("/")}`
          const folders = fs.makeDirectory(file.slice(0, file.lastIndexOf("/")), { recursive: true })
          yield* Effect.ignore(Effect.andThen(folders, fs.writeFileString(file, "x\n")))
        }
        execFileSync("git", ["init", "--quiet", path])
        const git = execFileSync("git", ["-C", path, "ls-files", "-z", "--others", "--exclude-standard"])
        const expected = git
          .toString()
          .split("\0")
          .filter((name) => name !== "")
          .toSorted()
        for (const pattern of ["*", "**", "**/*"]) {
          expect({ pattern, files: (yield* filesOf(path, { pattern })).toSorted() }).toEqual({
            pattern,
            files: expected
          })
        }
        const logs = expected.filter((name) => name.endsWith(".log"))
        expect((yield* filesOf(path, { pattern: "*.log" })).toSorted()).toEqual(logs)
        expect((yield* filesOf(path, { pattern: "!*.log" })).toSorted()).toEqual(
          // As in ignore files, a folder is left out with all that is in it.
          expected.filter((name) => name.split("/").every((part) => !part.endsWith(".log")))
        )
        const found = yield* within(path)(execute(Grep.tool, { pattern: "^x$", glob: "*.log" }))
        const lines = textOf(found)
          .split("\n")
          .filter((line) => line !== "(no matches)")
        expect(lines.toSorted()).toEqual(logs.map((name) => `${name}:1:x`))
      }).pipe(Effect.scoped),
    { arbitrary: { runs: 12 } }
  )

  it.effect("of many files the first are given, and all are counted", () =>
    Effect.gen(function* () {
      const names = Array.from({ length: 3000 }, (_, i) => `${(i * 7919) % 3000}`.padStart(4, "0"))
      const path = yield* folder(Object.fromEntries(names.map((name) => [name, ""])))
      const result = yield* within(path)(find({ pattern: "*", limit: 3 }))
      expect(textOf(result)).toBe("0000\n0001\n0002\n\n[3 of 3,000 files are shown. Narrow the pattern or path.]")
      expect(result.details).toMatchObject({ total: 3000, truncated: true })
      const most = yield* within(path)(find({ pattern: "*", limit: Find.MAX_LIMIT }))
      expect(textOf(most).split("\n\n")[0]!.split("\n")).toEqual(names.toSorted().slice(0, Find.MAX_LIMIT))
      const exactly = yield* within(path)(find({ pattern: "00[0-4]?", limit: 50 }))
      expect(exactly.details).toMatchObject({ total: 50, truncated: false })

      const long = yield* folder(
        Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`${i}`.padEnd(200, "x"), ""]))
      )
      const cut = textOf(yield* within(long)(find({ pattern: "*", limit: 1000 })))
      expect(cut.length).toBeGreaterThan(Find.MAX_BYTES - 300)
      expect(cut.length).toBeLessThan(Find.MAX_BYTES + 100)
      expect(cut).toMatch(/\n\n\[254 of 300 files are shown\. /)
    })
  )

  describe("what is in the way", () => {
    it.effect("closed files are not named, links and pipes do no harm, and names stay on their lines", () =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const path = yield* folder({ ".env": "", ".ssh/config": "", "a\nb": "", "\x1b[2Jc": "", "-v": "", "é 👩‍👧": "" })
        yield* fs.symlink("/", `${path}/root`)
        yield* fs.symlink("nowhere", `${path}/broken`)
        spawnSync("mkfifo", [`${path}/pipe`])
        expect(yield* findIn(path, { pattern: "*" })).toEqual(['"\\u001b[2Jc"', "-v", '"a\\nb"', "é 👩‍👧"])
        expect(yield* findIn(path, { pattern: "a?b" })).toEqual(['"a\\nb"'])
        expect(yield* findIn(path, { pattern: "-v" })).toEqual(["-v"])
      })
    )

    it.effect("what another tool is writing at the moment is not found or searched", () =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const path = yield* folder({ a: "needle\n" })
        let seen: ReadonlyArray<string> = []
        yield* Effect.gen(function* () {
          const services = yield* Effect.context<Effect.Services<ReturnType<typeof find>>>()
          const rename: typeof fs.rename = (from, to) =>
            Effect.gen(function* () {
              expect(yield* fs.exists(from)).toBe(true)
              const found = yield* find({ pattern: "*" })
              const searched = yield* execute(Grep.tool, { pattern: "needle" })
              seen = [textOf(found), textOf(searched)]
            }).pipe(Effect.orDie, Effect.provideContext(services), Effect.andThen(fs.rename(from, to)))
          const writing = execute(Write.tool, { path: "a", content: "needle and more\n" })
          yield* Effect.provideService(writing, FileSystem.FileSystem, { ...fs, rename })
        }).pipe(within(path))
        expect(seen).toEqual(["a", "a:1:needle"])
      })
    )

    it.effect("a folder that cannot be read is told", () =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const path = yield* folder({ "closed/a": "", b: "" })
        yield* fs.chmod(`${path}/closed`, 0)
        yield* fs.chmod(path, 0o755)
        const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
        // Nothing is denied to root: then ripgrep runs as another user.
        const asNobody = ["--reuid", "65534", "--clear-groups", "--"]
        const spawn: typeof spawner.spawn = (command) =>
          spawner.spawn(process.getuid?.() === 0 ? ChildProcess.prefix("setpriv", asNobody)(command) : command)
        const result = yield* within(path)(find({ pattern: "?" })).pipe(
          Effect.provideService(ChildProcessSpawner.ChildProcessSpawner, { ...spawner, spawn })
        )
        expect(textOf(result)).toBe("b\n\n[Some folders could not be read.]")
        expect(result.details).toMatchObject({ hasErrors: true })
        yield* fs.chmod(`${path}/closed`, 0o755)
      })
    )

    it.effect("a bad glob, a file, a missing folder and a way out are refused in one sentence", () =>
      Effect.gen(function* () {
        const path = yield* folder({ file: "" })
        const failed = (params: Params) => within(path)(failureOf(Find.tool, params))
        expect(yield* failed({ pattern: "[" })).toMatch(/^rg: error parsing glob '\['/)
        expect(yield* failed({ pattern: "a\nb" })).toBe("A glob cannot have line breaks or NUL characters in it.")
        expect(yield* failed({ pattern: "a\0b" })).toBe("A glob cannot have line breaks or NUL characters in it.")
        expect(yield* failed({ pattern: "x".repeat(1_000_000) })).toBe(
          "The glob is too long: at most 1,000 characters."
        )
        expect(yield* failed({ pattern: "*", path: "file" })).toBe(
          "file is a file: only in folders can files be found."
        )
        expect(yield* failed({ pattern: "*", path: "none" })).toBe(
          "Cannot look at none: there is no such file or folder."
        )
        expect(yield* failed({ pattern: "*", path: ".." })).toMatch(/^\.\. is outside the folders that tools may use/)
      })
    )
  })
})

const filesOf = (path: string, params: Params) =>
  Effect.map(within(path)(find(params)), ({ details }) => (details as { files: ReadonlyArray<string> }).files)
