import { describe, expect, layer } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FileSystem from "effect/FileSystem"
import * as PlatformError from "effect/PlatformError"
import * as ChildProcess from "effect/process/ChildProcess"
import * as ChildProcessSpawner from "effect/process/ChildProcessSpawner"
import { spawnSync } from "node:child_process"
import type * as Tool from "../../src/Tool.ts"
import * as Bash from "../../src/tools/Bash.ts"
import * as Find from "../../src/tools/Find.ts"
import * as Grep from "../../src/tools/Grep.ts"
import { execute, failureOf, folder, services, textOf, within } from "./support.ts"

type Params = Parameters<typeof Grep.tool.execute>[0]

const grep = (params: Params) => execute(Grep.tool, params)
const linesOf = (result: Tool.ToolResult) => textOf(result).split("\n")

/** Starts other commands in the place of ripgrep, and tells which processes were started. */
const spawning = Effect.fnUntraced(function* (change: (command: ChildProcess.Command) => ChildProcess.Command) {
  const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
  const started = yield* Deferred.make<number>()
  const spawn: typeof spawner.spawn = (command) =>
    Effect.tap(spawner.spawn(change(command)), (handle) => Deferred.succeed(started, handle.pid))
  return { started, spawner: ChildProcessSpawner.ChildProcessSpawner.of({ ...spawner, spawn }) }
})

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

layer(services, { excludeTestServices: true })("grep", (it) => {
  it.effect("matching lines come as path:line:text in the order of the paths, context as path-line-text", () =>
    Effect.gen(function* () {
      const path = yield* folder({ "b.txt": "one\ntwo\nthree\n", "a/c.txt": "two\r\n", ".dot": "two", "z.md": "Two" })
      const result = yield* within(path)(grep({ pattern: "two" }))
      expect(linesOf(result)).toEqual([".dot:1:two", "a/c.txt:1:two", "b.txt:2:two"])
      expect(result.details).toEqual({ matches: 3, files: 3, truncated: false, hasErrors: false })

      const around = yield* within(path)(grep({ pattern: "two", path: "b.txt", context: 1 }))
      expect(linesOf(around)).toEqual(["b.txt-1-one", "b.txt:2:two", "b.txt-3-three"])
      expect(around.details).toMatchObject({ matches: 1, files: 1 })
      const apart = yield* within(yield* folder({ a: "x\n.\n.\n.\nx\n", b: "x\n" }))(grep({ pattern: "x", context: 1 }))
      expect(linesOf(apart)).toEqual(["a:1:x", "a-2-.", "a-4-.", "a:5:x", "b:1:x"])

      expect(linesOf(yield* within(path)(grep({ pattern: "two", ignoreCase: true, glob: "*.md" })))).toEqual([
        "z.md:1:Two"
      ])
      expect(linesOf(yield* within(path)(grep({ pattern: "two", path: "./a" })))).toEqual(["a/c.txt:1:two"])
      expect(linesOf(yield* grep({ pattern: "two", path: `${path}/a` }))).toEqual([`${path}/a/c.txt:1:two`])
    })
  )

  it.effect("the CR before an LF is not of its line, unless a pattern names it", () =>
    Effect.gen(function* () {
      const path = yield* folder({ a: "one\r\n\r\ntwo;\r\nthree", b: "one\n\ntwo;\nthree" })
      const found = (params: Params) => Effect.map(within(path)(grep(params)), linesOf)
      expect(yield* found({ pattern: "^one$" })).toEqual(["a:1:one", "b:1:one"])
      expect(yield* found({ pattern: "^$" })).toEqual(["a:2:", "b:2:"])
      expect(yield* found({ pattern: ";$", context: 1 })).toEqual(
        ["a", "b"].flatMap((name) => [`${name}-2-`, `${name}:3:two;`, `${name}-4-three`])
      )
      expect(yield* found({ pattern: "e[^x]" })).toEqual(["a:4:three", "b:4:three"])
      for (const pattern of ["one\\r$", "one\\x0D", "one\r"]) expect(yield* found({ pattern })).toEqual(["a:1:one"])
      expect(yield* found({ pattern: "one\r", literal: true })).toEqual(["a:1:one"])
    })
  )

  it.effect("no match is a plain result", () =>
    Effect.gen(function* () {
      const result = yield* within(yield* folder({ a: "x" }))(grep({ pattern: "y" }))
      expect(textOf(result)).toBe("(no matches)")
      expect(result.details).toEqual({ matches: 0, files: 0, truncated: false, hasErrors: false })
    })
  )

  it.effect("a pattern, glob or path that looks like an option is none", () =>
    Effect.gen(function* () {
      const path = yield* folder({ a: "--files\n-e x\n", "-v": "dash\n", "--help": "dash\n" })
      expect(linesOf(yield* within(path)(grep({ pattern: "--files" })))).toEqual(["a:1:--files"])
      expect(linesOf(yield* within(path)(grep({ pattern: "-e", literal: true })))).toEqual(["a:2:-e x"])
      expect(linesOf(yield* within(path)(grep({ pattern: "dash", path: "-v" })))).toEqual(["-v:1:dash"])
      expect(linesOf(yield* within(path)(grep({ pattern: "dash", glob: "--help" })))).toEqual(["--help:1:dash"])
    })
  )

  it.effect("a literal pattern is no expression; a bad expression or glob gives ripgrep's own message", () =>
    Effect.gen(function* () {
      const path = yield* folder({ a: "f(x)\nfx\n" })
      expect(linesOf(yield* within(path)(grep({ pattern: "f(x)", literal: true })))).toEqual(["a:1:f(x)"])
      expect(linesOf(yield* within(path)(grep({ pattern: "f(x)" })))).toEqual(["a:2:fx"])
      const failed = (params: Params) => within(path)(failureOf(Grep.tool, params))
      expect(yield* failed({ pattern: "f(" })).toMatch(/^rg: regex parse error:[^]*unclosed group$/)
      expect(yield* failed({ pattern: "f", glob: "[" })).toContain("unclosed character class")
      expect(yield* failed({ pattern: "a\nb" })).toBe(
        'rg: the literal "\\n" is not allowed in a regex: a match never goes beyond its line.'
      )
      expect(yield* failed({ pattern: "a(?=b)" })).toMatch(/look-around, [^\n]* is not supported\.$/)
      expect(yield* failed({ pattern: "a\0b" })).toBe(
        "The pattern has a NUL character: a regular expression can say \\x00."
      )
      expect(yield* failed({ pattern: "x".repeat(1_000_000) })).toBe(
        "The pattern is longer than the system takes: use a shorter one."
      )
    })
  )

  it.effect("what .gitignore names is skipped, and so is .git, whatever the glob", () =>
    Effect.gen(function* () {
      const path = yield* folder({ ".gitignore": "out\n[\n", "out/a": "x", ".git/b": "x", "src/c": "x" })
      for (const glob of ["**/*", "**"]) {
        const result = yield* within(path)(grep({ pattern: "x", glob }))
        expect(linesOf(result).filter((line) => line.endsWith(":x"))).toEqual(
          expect.not.arrayContaining([".git/b:1:x"])
        )
      }
      const result = yield* within(path)(grep({ pattern: "x" }))
      expect(linesOf(result)).toEqual(["src/c:1:x"])
      const noRepository = yield* folder({ ".gitignore": "out\n", "out/a": "x", b: "x" })
      expect(linesOf(yield* within(noRepository)(grep({ pattern: "x" })))).toEqual(["b:1:x"])
      expect(linesOf(yield* within(path)(grep({ pattern: "x", path: "out" })))).toEqual(["out/a:1:x"])
    })
  )

  it.effect("what tools may not read is not searched, whatever the path or glob", () =>
    Effect.gen(function* () {
      const path = yield* folder({ ".env": "key=x\n", ".ssh/id_rsa": "x\n", "a/.env": "x\0\n", "a/b": "x\n" })
      expect(linesOf(yield* within(path)(grep({ pattern: "x" })))).toEqual(["a/b:1:x"])
      expect(linesOf(yield* within(path)(grep({ pattern: "x", glob: ".env" })))).toEqual(["(no matches)"])
      const failed = (name: string) => within(path)(failureOf(Grep.tool, { pattern: "x", path: name }))
      expect(yield* failed(".env")).toBe(".env is closed to tools (by the pattern .env).")
      expect(yield* failed("/etc")).toMatch(/^\/etc is outside the folders that tools may use/)
      yield* Effect.flatMap(FileSystem.FileSystem, (fs) => fs.symlink("/etc", `${path}/link`))
      expect(yield* failed("link/passwd")).toMatch(/leads to \/etc\/passwd, which is outside/)
    })
  )

  it.effect("a glob narrows a search, and brings nothing back that an ignore file leaves out", () =>
    Effect.gen(function* () {
      const path = yield* folder({
        ".gitignore": "node_modules\n*.log\n!keep.log\n",
        "node_modules/a.ts": "x",
        "src/node_modules/a.ts": "x",
        "src/a.ts": "x",
        "src/b/c.ts": "x",
        "src/debug.log": "x",
        "keep.log": "x"
      })
      const found = (glob: string, where = ".") =>
        Effect.map(within(path)(grep({ pattern: "x", glob, path: where })), (result) =>
          linesOf(result).map((line) => line.replace(":1:x", ""))
        )
      expect(yield* found("**")).toEqual(["keep.log", "src/a.ts", "src/b/c.ts"])
      expect(yield* found("src/**")).toEqual(["src/a.ts", "src/b/c.ts"])
      expect(yield* found("*.{log,md}")).toEqual(["keep.log"])
      // The ignore file lets keep.log in by its name; the glob still does not.
      expect(yield* found("*.ts")).toEqual(["src/a.ts", "src/b/c.ts"])
      expect(yield* found("!b")).toEqual(["keep.log", "src/a.ts"])
      expect(yield* found("b/*", "src")).toEqual(["src/b/c.ts"])
      expect(yield* found("*.ts", "src/a.ts")).toEqual(["src/a.ts"])
      expect(yield* found("#x")).toEqual(["(no matches)"])
      expect(yield* found("!#x")).toEqual(["keep.log", "src/a.ts", "src/b/c.ts"])
    })
  )

  it.effect("a configuration file of the user does not change the search", () =>
    Effect.gen(function* () {
      const path = yield* folder({ config: "--files-with-matches\n", a: "x" })
      const { spawner } = yield* spawning(ChildProcess.setEnv({ RIPGREP_CONFIG_PATH: `${path}/config` }))
      const found = within(path)(grep({ pattern: "x" }))
      const result = yield* Effect.provideService(found, ChildProcessSpawner.ChildProcessSpawner, spawner)
      expect(linesOf(result)).toEqual(["a:1:x"])
    })
  )

  describe("limits", () => {
    it.effect("the limit counts matching lines, and exactly as many as the limit are not called too many", () =>
      Effect.gen(function* () {
        const path = yield* folder({ a: "x\n".repeat(3), b: "x\n" })
        const exactly = yield* within(path)(grep({ pattern: "x", limit: 4 }))
        expect(exactly.details).toMatchObject({ matches: 4, truncated: false })
        const fewer = yield* within(path)(grep({ pattern: "x", limit: 2 }))
        expect(textOf(fewer)).toBe(
          "a:1:x\na:2:x\n\n[There are more than 2 matching lines. Narrow the pattern, path or glob to see the rest.]"
        )
        expect(fewer.details).toEqual({ matches: 2, files: 1, truncated: true, hasErrors: false })
      })
    )

    it.effect("of too many matches the first by path are given, each time the same", () =>
      Effect.gen(function* () {
        const names = Array.from({ length: 400 }, (_, i) => `${(i * 7) % 20}/${i}`)
        const path = yield* folder(Object.fromEntries(names.map((name) => [name, `x\n${"y\n".repeat(100)}x\n`])))
        const expected = names
          .toSorted((a, b) => (a.replace("/", "\0") < b.replace("/", "\0") ? -1 : 1))
          .flatMap((name) => [`${name}:1:x`, `${name}:102:x`])
        const all = yield* within(path)(grep({ pattern: "x", limit: 800 }))
        expect(linesOf(all)).toEqual(expected)
        expect(all.details).toMatchObject({ matches: 800, files: 400, truncated: false })
        for (let i = 0; i < 3; i++) {
          const some = yield* within(path)(grep({ pattern: "x", limit: 17 }))
          expect(textOf(some).split("\n\n")[0]!.split("\n")).toEqual(expected.slice(0, 17))
          expect(some.details).toMatchObject({ matches: 17, files: 9, truncated: true })
        }
      })
    )

    it.effect("a line of 5 MB is cut, between characters", () =>
      Effect.gen(function* () {
        const path = yield* folder({ long: `${"€".repeat(1_700_000)}\nend €\n` })
        const result = yield* within(path)(grep({ pattern: "€" }))
        const [long, end] = linesOf(result)
        expect(long).toMatch(/^long:1:€{500} \[\.\.\. omitted end of long line\]$/)
        expect(end).toBe("long:2:end €")

        // One letter with 5 MB of accents is one character for ripgrep.
        const accents = yield* folder({ long: `e${"\u0301".repeat(2_500_000)}\n` })
        const letter = textOf(yield* within(accents)(grep({ pattern: "^e" })))
        expect(letter).toMatch(/^long:1:e\u0301+…$/)
        expect(letter.length).toBeLessThan(10_000)
      })
    )

    it.effect("more than the bytes of one answer is cut, and ripgrep is stopped at once", () =>
      Effect.gen(function* () {
        const path = yield* folder({ a: `${"y".repeat(400)}\n`.repeat(200_000) })
        const { spawner, started } = yield* spawning((command) => command)
        const result = yield* within(path)(grep({ pattern: "y", limit: 1000 })).pipe(
          Effect.provideService(ChildProcessSpawner.ChildProcessSpawner, spawner)
        )
        expect(Buffer.byteLength(textOf(result))).toBeLessThan(Grep.MAX_BYTES + 200)
        expect(textOf(result)).toContain("[There is more than 50 KB.")
        expect(result.details).toMatchObject({ matches: 125, truncated: true })
        expect(isAlive(yield* Deferred.await(started))).toBe(false)
      })
    )

    it.effect("an output without end is read no further than the limit", () =>
      Effect.gen(function* () {
        const endless = ChildProcess.make("sh", ["-c", "while :; do printf 'a\\0001:x\\n'; done"])
        const { spawner } = yield* spawning(() => endless)
        const result = yield* Effect.provideService(
          grep({ pattern: "x" }),
          ChildProcessSpawner.ChildProcessSpawner,
          spawner
        )
        expect(result.details).toMatchObject({ matches: Grep.DEFAULT_LIMIT, truncated: true })
      })
    )
  })

  describe("what is in the way", () => {
    it.effect("broken links, pipes, files without permission and binary files do no harm", () =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const path = yield* folder({
          "a.txt": "needle\n",
          denied: "needle\n",
          binary: "needle\0",
          late: `${"needle\n".repeat(100_000)}\0`,
          "new\nline": "needle\n"
        })
        yield* fs.symlink("nowhere", `${path}/broken`)
        yield* fs.symlink("a.txt", `${path}/link`)
        spawnSync("mkfifo", [`${path}/pipe`])
        yield* fs.chmod(`${path}/denied`, 0)
        yield* fs.chmod(path, 0o755)
        // Nothing is denied to root: then ripgrep runs as another user.
        const asNobody = ["--reuid", "65534", "--clear-groups", "--"]
        const { spawner } = yield* spawning(
          process.getuid?.() === 0 ? ChildProcess.prefix("setpriv", asNobody) : (_) => _
        )
        const search = (params: Params) =>
          within(path)(grep(params)).pipe(Effect.provideService(ChildProcessSpawner.ChildProcessSpawner, spawner))

        const result = yield* search({ pattern: "needle", glob: "!late" })
        expect(textOf(result)).toBe('a.txt:1:needle\n"new\\nline":1:needle\n\n[Some files could not be read.]')
        expect(result.details).toEqual({ matches: 2, files: 2, truncated: false, hasErrors: true })

        const denied = yield* Effect.flip(search({ pattern: "needle", path: "denied" }))
        expect(denied.message).toBe("Cannot search denied: it could not be read.")

        yield* fs.writeFileString(`${path}/.gitignore`, "[\n")
        const none = yield* search({ pattern: "no such text" })
        expect(textOf(none)).toBe("(no matches)\n\n[Some files could not be read.]")

        const late = yield* search({ pattern: "^", glob: "{late,new*}", limit: 1000 })
        expect(late.details).toMatchObject({ truncated: true })
        const rest = yield* search({ pattern: "needle", path: "binary" })
        expect(textOf(rest)).toMatch(/^binary: binary file matches/)
        expect(rest.details).toMatchObject({ matches: 1 })
      })
    )

    it.effect("a NUL far into a file is told, and the next file keeps its own lines", () =>
      Effect.gen(function* () {
        const filler = "hay\n".repeat(100_000)
        const path = yield* folder({ "a.bin": `needle\n${filler}\0`, "b.txt": "needle\n" })
        const result = yield* within(path)(grep({ pattern: "needle" }))
        expect(linesOf(result)).toEqual([
          "a.bin:1:needle",
          expect.stringMatching(/^a\.bin: WARNING: stopped searching binary file/),
          "b.txt:1:needle"
        ])
        expect(result.details).toMatchObject({ matches: 2, files: 2 })
      })
    )

    it.effect("a pipe, a device and a missing path are refused", () =>
      Effect.gen(function* () {
        const path = yield* folder()
        spawnSync("mkfifo", [`${path}/pipe`])
        const search = (name: string) => failureOf(Grep.tool, { pattern: "x", path: name })
        const failed = (name: string) => within(path, { extraFolders: ["/dev"] })(search(name))
        expect(yield* failed("pipe")).toBe("pipe is a named pipe: only folders and files can be searched.")
        expect(yield* failed("/dev/zero")).toBe("/dev/zero is a device: only folders and files can be searched.")
        expect(yield* failed("none")).toBe("Cannot look at none: there is no such file or folder.")
      })
    )

    it.effect("a missing ripgrep, one that cannot start and one that is killed say so", () =>
      Effect.gen(function* () {
        const path = yield* folder({ a: "x" })
        const failing = (change: (command: ChildProcess.Command) => ChildProcess.Command) =>
          Effect.flatMap(spawning(change), ({ spawner }) =>
            within(path)(failureOf(Grep.tool, { pattern: "x" })).pipe(
              Effect.provideService(ChildProcessSpawner.ChildProcessSpawner, spawner)
            )
          )
        expect(yield* failing(() => ChildProcess.make("/nowhere/rg"))).toMatch(
          /^ripgrep is missing: .*\/rg was not found/
        )
        expect(yield* failing(() => ChildProcess.make(`${path}/a`))).toMatch(/^ripgrep failed: spawn .* EACCES/)
        expect(yield* failing(() => ChildProcess.make("sh", ["-c", "kill -9 $$"]))).toMatch(
          /^ripgrep failed: .*SIGKILL/
        )
        expect(yield* failing(() => ChildProcess.make("sh", ["-c", "echo no disk >&2; exit 2"]))).toBe("no disk")
      })
    )

    it.effect("an interrupt ends the process", () =>
      Effect.gen(function* () {
        const path = yield* folder()
        const { spawner, started } = yield* spawning(() => ChildProcess.make("sleep", ["60"]))
        const fiber = yield* grep({ pattern: "x", path }).pipe(
          Effect.provideService(ChildProcessSpawner.ChildProcessSpawner, spawner),
          Effect.forkChild
        )
        const pid = yield* Deferred.await(started)
        expect(isAlive(pid)).toBe(true)
        yield* Fiber.interrupt(fiber)
        expect(isAlive(pid)).toBe(false)
      })
    )
  })

  it.effect("a platform without permission to look is told as such", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const lstat = () =>
        Effect.fail(PlatformError.systemError({ _tag: "PermissionDenied", module: "FileSystem", method: "lstat" }))
      const search = within(".")(failureOf(Grep.tool, { pattern: "x" }))
      const message = yield* Effect.provideService(search, FileSystem.FileSystem, { ...fs, lstat, stat: lstat })
      expect(message).toBe("Cannot look at .: permission denied.")
    })
  )

  it.effect("a folder that no process may be started in is told as such, and not as a fault of the program", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const path = yield* folder({ "locked/a": "" })
      // What the system says where a folder may be seen but not entered. Root may enter all.
      const access: typeof fs.access = (name, options) =>
        name === `${path}/locked/.`
          ? Effect.fail(PlatformError.systemError({ _tag: "PermissionDenied", module: "FileSystem", method: "access" }))
          : fs.access(name, options)
      const messages = yield* Effect.all([
        within(path)(failureOf(Grep.tool, { pattern: "x", path: "locked" })),
        within(path)(failureOf(Find.tool, { pattern: "*", path: "locked" })),
        within(`${path}/locked`)(failureOf(Bash.tool, { command: "true" }))
      ]).pipe(Effect.provideService(FileSystem.FileSystem, { ...fs, access }))
      expect(messages).toEqual([
        "Cannot search locked: permission denied.",
        "Cannot search locked: permission denied.",
        `Cannot run commands in ${path}/locked: permission denied.`
      ])
    })
  )
})
