// Whatever paths and arguments the file tools are given: a clear error, and nothing outside the root is read or changed.
import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Result from "effect/Result"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as Edit from "../../src/tools/Edit.ts"
import * as Read from "../../src/tools/Read.ts"
import * as Write from "../../src/tools/Write.ts"
import { Workspace } from "../../src/tools/Workspace.ts"
import { execute, folder, services, textOf, within } from "./support.ts"

/** A root with traps in it, beside what must not be touched. */
const place = Effect.fnUntraced(function* () {
  const base = yield* folder({
    "root/a.txt": "inside\n",
    "root/sub/b.txt": "inside\n",
    "root/.env": "KEY=secret\n",
    "root/.git/config": "secret\n",
    "root/key.pem": "secret\n",
    "outside/secret": "secret\n",
    "rootless/secret": "secret\n"
  })
  const root = `${base}/root`
  const links = {
    leak: "../outside/secret",
    out: "../outside",
    absolute: `${base}/outside/secret`,
    dangling: "../outside/new",
    up: "..",
    env: ".env",
    circle: "circle",
    tick: "tock",
    tock: "tick",
    chain0: "../outside/secret",
    zero: "/dev/zero",
    self: "/proc/self/environ"
  }
  for (const [name, target] of Object.entries(links)) fs.symlinkSync(target, `${root}/${name}`)
  for (let n = 1; n < 60; n++) fs.symlinkSync(`chain${n - 1}`, `${root}/chain${n}`)
  fs.mkdirSync(`${root}/${"deep/".repeat(300)}`, { recursive: true })
  fs.symlinkSync(`${base}/outside`, `${root}/${"deep/".repeat(300)}out`)
  spawnSync("mkfifo", [`${root}/pipe`])
  return { base, root }
})

/** Of the machine: only looked at, since a broken tool must not destroy it. */
const ofTheSystem = [
  "/etc/passwd",
  "/",
  "//etc/passwd",
  "/proc/self/mem",
  "/dev/zero",
  "/dev/stdin",
  "/tmp",
  "/root/.ssh/id_rsa",
  "zero",
  "self",
  `${"../".repeat(100)}etc/passwd`
]
const escapes = [
  "..",
  "../outside/secret",
  "../outside/new",
  "sub/../../outside/secret",
  "./.././outside/secret",
  "../rootless/secret",
  "leak",
  "out/secret",
  "out/new/file",
  "absolute",
  "dangling",
  "up/outside/secret",
  "sub/../leak",
  "circle",
  "tick",
  "chain1",
  "chain39",
  "chain59",
  `${"deep/".repeat(300)}out/secret`,
  "up/root/../outside/secret",
  `${"sub/../".repeat(500)}../outside/secret`
]
const closed = [
  ".env",
  ".ENV",
  ".Env.local",
  "env",
  "sub/.env",
  ".e\u200bnv",
  ".env. ",
  "key.pem",
  "KEY.PEM",
  "x/id_rsa",
  ".ssh/config",
  ".aws/credentials"
]
const notToChange = [".git/config", ".GIT/config", ".git", ".git/hooks/pre-commit", "sub/.git/x", ".g\u200cit/config"]
const impossible = [
  "",
  "a\0.txt",
  "\0",
  "../outside/secret\0.txt",
  "~/x",
  "~",
  "a.txt/x",
  "pipe",
  "x".repeat(300),
  "x".repeat(5000),

  "x/".repeat(3000),
  "../".repeat(400_000),
  "\0".repeat(1_000_000),
  "a".repeat(1_000_000),
  "sub",
  ".",
  "/".repeat(2000)
]
const missing = [
  "none",
  "no\nne",
  "no\u001b[31mne\u001b]0;title\u0007",
  "no\r\u0008ne",
  "\u202ennone",
  "\ud800",
  "no\u2028ne",
  "x".repeat(250),
  "-rf",
  "--help",
  "$(touch x)",
  "`touch x`",
  "*",
  "%2e%2e/x",
  "..\\outside\\secret",
  "con",
  " "
]

const read = (path: string) => execute(Read.tool, { path })
const write = (path: string, content = "owned\n") => execute(Write.tool, { path, content })
const edit = (path: string, oldText = "secret", newText = "owned") =>
  execute(Edit.tool, { path, edits: [{ oldText, newText }] })

/** A message that a person and a model can use: short, on one line, with nothing in it that moves a cursor. */
const expectClear = (call: string, message: string) => {
  expect([call, message]).toEqual([
    call,
    expect.stringMatching(/^[^\n\p{Cc}\p{Cs}\u2028\u2029\u202a-\u202e]{10,1200}\.$/u)
  ])
  expect([call, message]).toEqual([call, expect.not.stringMatching(/ENOENT|EACCES|\bat \/|undefined|Error:/)])
}

/** All files below a folder that are not to be touched, with what tells a change. */
const stateOf = (path: string): ReadonlyArray<unknown> =>
  fs.readdirSync(path).map((name) => {
    const { ino, mode, mtimeMs, size } = fs.lstatSync(`${path}/${name}`)
    return { name, ino, mode, mtimeMs, size }
  })

it.live(
  "hostile paths: a clear error each, and nothing outside the root is opened or changed",
  () =>
    Effect.gen(function* () {
      const { base, root } = yield* place()
      const opened: Array<string> = []
      const watching = Effect.updateService(FileSystem.FileSystem, (real) => ({
        ...real,
        open: (path: string, options?: Parameters<typeof real.open>[1]) =>
          Effect.suspend(() => {
            opened.push(path)
            return real.open(path, options)
          })
      }))
      const guarded = ["outside", "rootless", "root/.git"].map((name) => `${base}/${name}`)
      const before = [base, ...guarded].map(stateOf)
      const counts = { read: 0, write: 0, edit: 0 }

      yield* within(root)(
        watching(
          Effect.gen(function* () {
            const refuses = Effect.fnUntraced(function* (name: keyof typeof counts, path: string) {
              const call = `${name} ${JSON.stringify(path).slice(0, 100)}`
              const result = yield* Effect.result({ read, write, edit }[name](path))
              expect([call, result._tag]).toEqual([call, "Failure"])
              if (Result.isFailure(result)) expectClear(call, result.failure.message)
              counts[name]++
            })
            for (const path of [...escapes, ...closed, ...impossible]) {
              for (const name of ["read", "write", "edit"] as const) yield* refuses(name, path)
            }
            for (const path of ofTheSystem) yield* refuses("read", path)
            for (const path of notToChange) {
              for (const name of ["write", "edit"] as const) yield* refuses(name, path)
            }
            for (const path of missing) {
              for (const name of ["read", "edit"] as const) yield* refuses(name, path)
            }
            const { allows } = yield* Workspace
            for (const path of opened) expect([path, allows(path, "read")]).toEqual([path, true])
          })
        )
      )
      expect([base, ...guarded].map(stateOf)).toEqual(before)
      expect(fs.readFileSync(`${root}/.env`, "utf8")).toBe("KEY=secret\n")
      expect(fs.readdirSync(root).filter((name) => name.endsWith(".tmp"))).toEqual([])
      console.log(`refused: ${JSON.stringify(counts)}`)
    }).pipe(Effect.provide(services)),
  60_000
)

it.live("names with control characters are files like others, and are shown escaped", () =>
  Effect.gen(function* () {
    const root = yield* folder()
    const names = missing.filter((name) => name.isWellFormed())
    let done = 0
    yield* within(root)(
      Effect.forEach(names, (name) =>
        Effect.gen(function* () {
          const texts = [yield* write(name, "one\n"), yield* edit(name, "one", "two"), yield* read(name)].map(textOf)
          for (const text of texts) expect([name, text]).toEqual([name, expect.not.stringMatching(/[\p{Cc}\u202e]/u)])
          expect([name, fs.readFileSync(`${root}/${name}`, "utf8")]).toEqual([name, "two\n"])
          done++
        })
      )
    )
    expect(fs.readdirSync(root, { recursive: true }).length).toBeGreaterThanOrEqual(names.length)
    console.log(`written, edited and read: ${done}`)
  }).pipe(Effect.provide(services))
)

it.live(
  "arguments of a megabyte and more are taken or refused, and no answer is as long",
  () =>
    Effect.gen(function* () {
      const root = yield* folder({ file: "one\n", same: "a".repeat(8_000_000) })
      const long = "x".repeat(1_000_000)
      yield* within(root)(
        Effect.gen(function* () {
          const messageOf = (call: ReturnType<typeof edit>) => Effect.map(Effect.flip(call), ({ message }) => message)
          const calls = [
            messageOf(edit("file", long, "y")),
            messageOf(edit("file", `${long}\n${long}`, long)),
            // What would keep a search busy for hours that starts again at each place.
            messageOf(edit("same", `${"a".repeat(500_000)}b${"a".repeat(500_000)}`, "y")),
            messageOf(edit("same", "a".repeat(1_000_000), "y")),
            messageOf(execute(Read.tool, { path: "file", offset: Number.MAX_SAFE_INTEGER })),
            Effect.map(edit("file", "one", long), textOf),
            Effect.map(write("new", long), textOf),
            Effect.map(read("new"), textOf)
          ]
          for (const call of calls) expect((yield* call).length).toBeLessThan(10_000)
        })
      )
      expect(fs.readFileSync(`${root}/file`, "utf8")).toBe(`${long}\n`)
    }).pipe(Effect.provide(services)),
  60_000
)
