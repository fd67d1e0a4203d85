import { describe, expect, layer } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FileSystem from "effect/FileSystem"
import * as PlatformError from "effect/PlatformError"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as Bash from "../../src/tools/Bash.ts"
import * as Read from "../../src/tools/Read.ts"
import * as Write from "../../src/tools/Write.ts"
import { execute, failureOf, folder, services, textOf, within } from "./support.ts"

const write = (path: string, content: string) => execute(Write.tool, { path, content })
const refused = (path: string, content = "new\n") => failureOf(Write.tool, { path, content })
const read = (path: string) => execute(Read.tool, { path })
const contentOf = (path: string) => fs.readFileSync(path, "utf8")

/** The file system with some of it changed; files are opened by `open`, given how it is done. */
const withFileSystem = (change: (real: FileSystem.FileSystem) => Partial<FileSystem.FileSystem>) =>
  Effect.updateService(FileSystem.FileSystem, (real) => ({ ...real, ...change(real) }))

const changed = (file: FileSystem.File, change: Partial<FileSystem.File>): FileSystem.File =>
  Object.create(file, Object.getOwnPropertyDescriptors(change))

/** Files that are written with something changed. */
const withFiles = (change: (file: FileSystem.File) => Partial<FileSystem.File>) =>
  withFileSystem((real) => ({
    open: (path, options) =>
      Effect.map(real.open(path, options), (file) => (options?.flag === "wx" ? changed(file, change(file)) : file))
  }))

layer(services, { excludeTestServices: true })("write", (it) => {
  describe("a file", () => {
    it.effect("is created with its folders, or replaced, and the result says which and how much", () =>
      Effect.gen(function* () {
        const root = yield* folder()
        yield* within(root)(
          Effect.gen(function* () {
            const created = yield* write("a/b/c.txt", "one\ntwo €")
            expect(textOf(created)).toBe("Created a/b/c.txt: 2 lines, 11 bytes.")
            expect(created.details).toEqual({ created: true, lines: 2, bytes: 11 })
            const replaced = yield* write("a/b/c.txt", "one\n2\n")
            expect(textOf(replaced)).toBe("Replaced a/b/c.txt: 2 lines, 6 bytes (was 2 lines, 11 bytes).")
            expect(replaced.details).toEqual({
              created: false,
              changed: true,
              lines: 2,
              bytes: 6,
              added: 1,
              removed: 1,
              diff: "--- a/b/c.txt\n+++ a/b/c.txt\n@@ -1,2 +1,2 @@\n one\n-two €\n\\ No newline at end of file\n+2\n"
            })
            expect(textOf(yield* write("empty", ""))).toBe("Created empty: 0 lines, 0 bytes.")
          })
        )
        expect(contentOf(`${root}/a/b/c.txt`)).toBe("one\n2\n")
        expect(fs.readdirSync(`${root}/a/b`)).toEqual(["c.txt"])
      })
    )

    it.effect("has exactly the bytes of the content, whatever was there before", () =>
      Effect.gen(function* () {
        const root = yield* folder()
        const contents = ["a\r\nb\rc\n", "\ufeffx", "x\0y", "😀\u2028", "\n".repeat(3), "a\ud800b"]
        for (const content of contents) {
          yield* within(root)(write("file", content))
          expect(fs.readFileSync(`${root}/file`)).toEqual(Buffer.from(content.toWellFormed()))
        }
      })
    )

    it.effect("keeps its permissions and owner; a new one gets those that are usual", () =>
      Effect.gen(function* () {
        const root = yield* folder({ old: "x", script: "x" })
        fs.chmodSync(`${root}/script`, 0o6751)
        fs.chmodSync(`${root}/old`, 0o600)
        const isRoot = process.getuid?.() === 0
        if (isRoot) fs.chownSync(`${root}/old`, 1234, 4321)
        for (const name of ["old", "script", "new"]) yield* within(root)(write(name, "y\n"))
        fs.writeFileSync(`${root}/usual`, "")
        const stat = (name: string) => fs.statSync(`${root}/${name}`)
        expect(stat("script").mode & 0o7777).toBe(0o6751)
        expect(stat("old").mode & 0o7777).toBe(0o600)
        if (isRoot) expect([stat("old").uid, stat("old").gid]).toEqual([1234, 4321])
        expect(stat("new").mode).toBe(stat("usual").mode)
      })
    )

    it.effect("is written through links, also to where nothing is yet, and the links stay", () =>
      Effect.gen(function* () {
        const root = yield* folder({ "real/a": "old" })
        fs.symlinkSync("real/a", `${root}/link`)
        fs.symlinkSync("link", `${root}/chain`)
        fs.symlinkSync("real/new", `${root}/dangling`)
        yield* within(root)(Effect.andThen(write("chain", "new"), write("dangling", "made")))
        expect([contentOf(`${root}/real/a`), contentOf(`${root}/real/new`)]).toEqual(["new", "made"])
        expect(fs.readlinkSync(`${root}/link`)).toBe("real/a")
        expect(fs.readlinkSync(`${root}/chain`)).toBe("link")
        expect(fs.readlinkSync(`${root}/dangling`)).toBe("real/new")
      })
    )

    it.effect("that already has the content is left alone", () =>
      Effect.gen(function* () {
        const root = yield* folder({ a: "same\n" })
        const before = fs.statSync(`${root}/a`)
        const result = yield* within(root)(write("a", "same\n"))
        expect(textOf(result)).toBe("a already has this content: nothing was written.")
        expect(result.details).toMatchObject({ created: false, changed: false })
        expect(fs.statSync(`${root}/a`)).toMatchObject({ ino: before.ino, mtimeMs: before.mtimeMs })
      })
    )

    it.effect("can be neither a folder, a pipe nor a device, nor what may not be written", () =>
      Effect.gen(function* () {
        const root = yield* folder({ "sub/a": "", denied: "x" })
        spawnSync("mkfifo", [`${root}/pipe`])
        yield* within(root, { extraFolders: ["/dev"] })(
          Effect.gen(function* () {
            expect(yield* refused("sub")).toBe("sub is a folder, not a file. Give the path of a file.")
            expect(yield* refused("pipe")).toContain("pipe is a named pipe")
            expect(yield* refused("/dev/null")).toContain("/dev/null is a device")
            expect(yield* refused("sub/a/b")).toContain("a part of the path is a file")
            expect(yield* refused("x".repeat(256))).toContain("the name is too long")
            expect(yield* refused("big", "x".repeat(Write.MAX_BYTES + 1))).toBe(
              "The content has 10,485,761 bytes; at most 10,485,760 can be written."
            )
            const error = PlatformError.systemError({
              _tag: "PermissionDenied",
              module: "FileSystem",
              method: "access"
            })
            const denied = withFileSystem(() => ({ access: () => Effect.fail(error) }))(refused("denied"))
            expect(yield* denied).toBe("Cannot change denied: permission denied.")
          })
        )
        expect(fs.readdirSync(root).toSorted()).toEqual(["denied", "pipe", "sub"])
      })
    )
  })

  describe("what somebody else has changed", () => {
    it.effect("since it was read or written is not replaced, and the failure says what; after a look it is", () =>
      Effect.gen(function* () {
        const root = yield* folder({ a: "one\ntwo\nthree\n" })
        yield* within(root)(
          Effect.gen(function* () {
            yield* read("a")
            yield* execute(Bash.tool, { command: "sed -i s/two/2/ a" })
            expect(yield* refused("a")).toBe(
              "a has changed on disk since you last read or wrote it, so it was not replaced. Read it again first. " +
                "What has changed:\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three"
            )
            expect(contentOf(`${root}/a`)).toBe("one\n2\nthree\n")
            yield* read("a")
            yield* write("a", "mine\n")
            yield* write("a", "mine again\n")
            fs.appendFileSync(`${root}/a`, "theirs\n")
            expect(yield* refused("a")).toContain("+theirs")
          })
        )
      })
    )

    it.effect("is no hindrance where it was never seen, only touched, changed back or not to be noticed", () =>
      Effect.gen(function* () {
        const root = yield* folder({ a: "old\n", b: "old\n" })
        yield* within(root)(
          Effect.gen(function* () {
            yield* read("a")
            fs.utimesSync(`${root}/a`, 1, 1)
            yield* write("a", "1\n")
            fs.writeFileSync(`${root}/a`, "x")
            fs.writeFileSync(`${root}/a`, "1\n")
            yield* write("a", "2\n")
            yield* write("b", "new\n")
            fs.rmSync(`${root}/b`)
            expect(textOf(yield* write("b", "again\n"))).toContain("Created b")
          })
        )
        yield* within(root, { checkChanges: false })(
          Effect.gen(function* () {
            yield* read("a")
            fs.writeFileSync(`${root}/a`, "changed")
            yield* write("a", "3\n")
          })
        )
        expect(contentOf(`${root}/a`)).toBe("3\n")
      })
    )

    it.effect("in a file that is too large to be kept is noticed by its size and time", () =>
      Effect.gen(function* () {
        const root = yield* folder({ a: "x".repeat(2_000_000) })
        yield* within(root)(
          Effect.gen(function* () {
            yield* read("a")
            fs.appendFileSync(`${root}/a`, "y")
            expect(yield* refused("a")).toMatch(
              /What has changed:\nIts size was 2,000,000 bytes and is 2,000,001 now\. It was last written at 20\d\d-.*Z\.$/
            )
            yield* read("a")
            fs.utimesSync(`${root}/a`, 1, 1)
            expect(yield* refused("a")).toMatch(/Its size is the same\. It was last written at 1970-01-01/)
          })
        )
      })
    )

    it.effect("in the very moment of writing is not lost", () =>
      Effect.gen(function* () {
        const root = yield* folder({ a: "old" })
        const meanwhile = (change: () => void) =>
          withFiles((file) => ({ sync: Effect.andThen(file.sync, Effect.sync(change)) }))
        const cases: ReadonlyArray<readonly [string, () => void, string | undefined]> = [
          ["a", () => fs.writeFileSync(`${root}/a`, "theirs"), "theirs"],
          ["a", () => fs.rmSync(`${root}/a`), undefined],
          ["new", () => fs.writeFileSync(`${root}/new`, "theirs"), "theirs"]
        ]
        for (const [name, change, left] of cases) {
          expect(yield* within(root)(meanwhile(change)(refused(name)))).toMatch(/it was changed at the same moment/)
          expect(fs.existsSync(`${root}/${name}`) ? contentOf(`${root}/${name}`) : undefined).toBe(left)
        }
        expect(fs.readdirSync(root)).toEqual(["new"])
      })
    )

    it.effect("a read that begins before a write and ends after it does not count as the later look", () =>
      Effect.gen(function* () {
        const root = yield* folder({ a: "old\n" })
        yield* within(root)(
          Effect.gen(function* () {
            const opened = yield* Deferred.make<void>()
            const goOn = yield* Deferred.make<void>()
            const slow = withFileSystem((real) => ({
              open: (path, options) =>
                Effect.map(real.open(path, options), (file) =>
                  changed(file, {
                    read: (buffer: Uint8Array) =>
                      Effect.andThen(
                        Deferred.succeed(opened, undefined),
                        Effect.andThen(Deferred.await(goOn), file.read(buffer))
                      )
                  })
                )
            }))
            const reading = yield* Effect.forkChild(slow(read("a")))
            yield* Deferred.await(opened)
            yield* write("a", "new\n")
            yield* Deferred.succeed(goOn, undefined)
            expect(textOf(yield* Fiber.join(reading))).toBe("old")
            yield* write("a", "newer\n")
          })
        )
        expect(contentOf(`${root}/a`)).toBe("newer\n")
      })
    )
  })

  describe("whole or not at all", () => {
    it.effect("a write that is interrupted or fails leaves the old file, and nothing beside it", () =>
      Effect.gen(function* () {
        const full = PlatformError.systemError({
          _tag: "Unknown",
          module: "FileSystem",
          method: "write",
          cause: new Error("ENOSPC: no space left on device, write")
        })
        const root = yield* folder({ a: "old" })
        for (const name of ["a", "new"]) {
          for (const step of ["stat", "chmod", "lstat"] as const) {
            const reached = yield* Deferred.make<void>()
            const stop = Effect.andThen(Deferred.succeed(reached, undefined), Effect.never)
            let stats = 0
            const stopped =
              step === "stat"
                ? withFiles((file) => ({ stat: Effect.suspend(() => (stats++ === 1 ? stop : file.stat)) }))
                : withFileSystem((real) => ({
                    chmod: (path, mode) => (step === "chmod" && name === "a" ? stop : real.chmod(path, mode)),
                    // The last look, after the file was written.
                    lstat: (path) => (path.endsWith(".tmp") || step === "chmod" ? real.lstat(path) : stop)
                  }))
            if (step === "chmod" && name === "new") continue
            const fiber = yield* Effect.forkChild(within(root)(stopped(write(name, "new"))))
            yield* Deferred.await(reached)
            expect(fs.readdirSync(root).some((entry) => entry.endsWith(".tmp"))).toBe(true)
            yield* Fiber.interrupt(fiber)
            expect(fs.readdirSync(root)).toEqual(["a"])
          }
          const failing = withFiles(() => ({ writeAll: () => Effect.fail(full) }))
          expect(yield* within(root)(failing(refused(name)))).toMatch(
            /^Cannot (write|replace) \w+: the disk is full\.$/
          )
        }
        expect(fs.readdirSync(root)).toEqual(["a"])
        expect(contentOf(`${root}/a`)).toBe("old")
      })
    )

    it.effect("a folder that is exchanged for a link meanwhile lets nothing out", () =>
      Effect.gen(function* () {
        const moments = ["before the file is made", "while it is written", "before it is moved"]
        for (const [moment, name] of moments.flatMap((one) => [[one, "a"] as const, [one, "new"] as const])) {
          const base = yield* folder({ "root/sub/a": "old", "other/a": "theirs" })
          const exchange = Effect.sync(() => {
            fs.renameSync(`${base}/root/sub`, `${base}/root/away`)
            fs.symlinkSync(`${base}/other`, `${base}/root/sub`)
          })
          const exchanging =
            moment === "before the file is made"
              ? withFileSystem((real) => ({
                  open: (path, options) =>
                    options?.flag === "wx"
                      ? Effect.andThen(exchange, real.open(path, options))
                      : real.open(path, options)
                }))
              : moment === "while it is written"
                ? withFiles((file) => ({ sync: Effect.andThen(exchange, file.sync) }))
                : withFileSystem((real) => ({ rename: (from, to) => Effect.andThen(exchange, real.rename(from, to)) }))
          yield* within(`${base}/root`)(exchanging(refused(`sub/${name}`)))
          expect([moment, fs.readdirSync(`${base}/other`), contentOf(`${base}/other/a`)]).toEqual([
            moment,
            ["a"],
            "theirs"
          ])
          expect(contentOf(`${base}/root/away/a`)).toBe("old")
        }
      })
    )
  })
})
