// Where tools may go: what a path leads to is what counts, however it is written.
import { describe, expect, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { existsSync, mkdirSync, readlinkSync, realpathSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { type Access, type Options, Workspace } from "../../src/tools/Workspace.ts"
import { folder, services, within } from "./support.ts"

/** A root beside a folder that is not to be touched; links lead to and fro. */
const place = Effect.fnUntraced(function* () {
  const base = yield* folder({ "root/a.txt": "a", "root/sub/b.txt": "b", "outside/secret": "s", "root2/c": "c" })
  const root = `${base}/root`
  symlinkSync("../outside", `${root}/out`)
  symlinkSync("../outside/secret", `${root}/leak`)
  symlinkSync(`${base}/outside/new`, `${root}/dangling`)
  symlinkSync("dangling", `${root}/chain`)
  symlinkSync("circle2", `${root}/circle1`)
  symlinkSync("circle1", `${root}/circle2`)
  symlinkSync("sub/b.txt", `${root}/inner`)
  symlinkSync("sub/later", `${root}/innerNew`)
  symlinkSync(root, `${base}/alias`)
  return { base, root }
})

const locate = (given: string, access: Access = "read") =>
  Effect.flatMap(Workspace, (workspace) => workspace.locate(given, access))

const located = (given: string, access?: Access) => Effect.map(locate(given, access), ({ path }) => path)

const refused = (given: string, access?: Access) =>
  Effect.map(Effect.flip(locate(given, access)), ({ message }) => message)

layer(services, { excludeTestServices: true })("the workspace", (it) => {
  describe("the folders", () => {
    it.effect("a path in the root is located by its real path, whether or not something is there", () =>
      Effect.gen(function* () {
        const { base, root } = yield* place()
        yield* within(root)(
          Effect.gen(function* () {
            expect(yield* locate("a.txt")).toMatchObject({
              given: "a.txt",
              path: `${root}/a.txt`,
              info: { type: "File" }
            })
            expect(yield* locate("x/y")).toEqual({ given: "x/y", path: `${root}/x/y`, info: undefined })
            const same = { ".": "", "sub/../a.txt": "/a.txt", inner: "/sub/b.txt", innerNew: "/sub/later" }
            for (const [given, path] of Object.entries(same)) expect(yield* located(given)).toBe(root + path)
            expect(yield* located(`${base}/alias/sub`)).toBe(`${root}/sub`)
            expect(yield* located(`${root}/a.txt`, "change")).toBe(`${root}/a.txt`)
            expect(yield* located("...")).toBe(`${root}/...`)
          })
        )
        expect(yield* within(`${base}/alias`)(located("a.txt"))).toBe(`${root}/a.txt`)
      })
    )

    it.effect("what leads out of it is refused in one sentence, also through links and where nothing is yet", () =>
      Effect.gen(function* () {
        const { base, root } = yield* place()
        const rest = `is outside the folders that tools may use (${root}).`
        yield* within(root)(
          Effect.gen(function* () {
            const outright = [
              "..",
              "../outside/secret",
              "/etc/passwd",
              "/",
              `${base}/root2/c`,
              "sub/../../x",
              "/no/such"
            ]
            for (const given of outright) expect(yield* refused(given)).toBe(`${given} ${rest}`)
            const { allows } = yield* Workspace
            const paths = [
              root,
              `${root}/a..b/..c`,
              `${root}/../root/c`,
              `${root}/../c`,
              `${root}/sub/../../c`,
              `${root}2`
            ]
            expect(paths.map((path) => allows(path, "read"))).toEqual([true, true, true, false, false, false])
            const links = { leak: "secret", "out/secret": "secret", "out/x/y": "x/y", dangling: "new", chain: "new" }
            for (const [given, target] of Object.entries(links)) {
              expect(yield* refused(given, "change")).toBe(`${given} leads to ${base}/outside/${target}, which ${rest}`)
            }
            // Nothing is told of what is there: not whether it is, nor whether it may be looked at.
            expect(yield* refused("/root/x/y/z")).toBe(`/root/x/y/z ${rest}`)
            expect(yield* refused("/proc/1/fd/0/x")).toBe(`/proc/1/fd/0/x ${rest}`)
          })
        )
      })
    )

    it.effect("what is no path at all is told as such", () =>
      Effect.gen(function* () {
        const { root } = yield* place()
        yield* within(root)(
          Effect.gen(function* () {
            expect(yield* refused("")).toBe("The path is empty: give the path of a file or folder.")
            expect(yield* refused("a\0b")).toBe('"a\\u0000b" is no path: it has a NUL character.')
            expect(yield* refused("~/x")).toBe('~/x is not expanded: give the path without "~".')
            expect(yield* refused("circle1")).toBe("Cannot look at circle1: its symbolic links go round in a circle.")
            expect(yield* refused("a.txt/x")).toBe(
              "Cannot look at a.txt/x: a part of the path is a file, not a folder."
            )
            expect(yield* refused("x".repeat(300))).toBe(`Cannot look at ${"x".repeat(300)}: the name is too long.`)
            for (const part of ["x", "x/", "../", "\0"]) {
              expect(yield* refused(part.repeat(1_000_000 / part.length))).toMatch(/^The path is too long: [\d,]+ char/)
            }
          })
        )
      })
    )

    it.effect("further folders are open as well, relative paths stay against the root", () =>
      Effect.gen(function* () {
        const { base, root } = yield* place()
        yield* within(root, { extraFolders: [`${base}/outside`] })(
          Effect.gen(function* () {
            expect(yield* located("leak", "change")).toBe(`${base}/outside/secret`)
            expect(yield* located("secret")).toBe(`${root}/secret`)
            expect(yield* refused("../root2")).toBe(
              `../root2 is outside the folders that tools may use (${root}, ${base}/outside).`
            )
          })
        )
        expect(yield* within(root, { extraFolders: ["/"] })(located("/etc/passwd"))).toBe(realpathSync("/etc/passwd"))
      })
    )

    it.effect("a folder that is read-only is read and not changed, in the root and out of it", () =>
      Effect.gen(function* () {
        const { base, root } = yield* place()
        yield* within(root, { readOnlyFolders: [`${root}/sub`, `${base}/outside`] })(
          Effect.gen(function* () {
            for (const given of ["sub/b.txt", "leak", "inner"]) {
              yield* locate(given)
              expect(yield* refused(given, "change")).toMatch(/may be read but not changed: its folder is read-only\.$/)
            }
            yield* locate("a.txt", "change")
          })
        )
        yield* within(root, { readOnly: true })(
          Effect.gen(function* () {
            yield* locate("a.txt")
            expect(yield* refused("a.txt", "change")).toBe(
              "a.txt may be read but not changed: its folder is read-only."
            )
          })
        )
      })
    )

    it.effect("a file that a tool has made elsewhere can be read, and only that", () =>
      Effect.gen(function* () {
        const { base, root } = yield* place()
        yield* within(root)(
          Effect.gen(function* () {
            const { admit, allows } = yield* Workspace
            admit(`${base}/outside/secret`)
            expect(yield* located("leak")).toBe(`${base}/outside/secret`)
            expect(yield* refused("leak", "change")).toContain("is outside")
            expect(yield* refused("../outside")).toContain("is outside")
            expect(allows(`${base}/outside/secret`, "read")).toBe(true)
            expect(allows(`${base}/outside`, "read")).toBe(false)
          })
        )
      })
    )

    it.effect("a root that is not there is told when it is used", () =>
      Effect.gen(function* () {
        const { base } = yield* place()
        expect(yield* within(`${base}/none`)(locate("."))).toMatchObject({ path: `${base}/none`, info: undefined })
      })
    )
  })

  describe("patterns", () => {
    const closed = [
      ".env",
      ".ENV",
      ".env.local",
      "sub/.env",
      ".Env.",
      ".e\u200bnv",
      "key.pem",
      "a/server.KEY",
      "id_rsa",
      ".ssh/config",
      "a/.aws/credentials",
      ".netrc",
      ".env/x/y"
    ]
    const open = [
      ".envrc",
      "env",
      ".env.example",
      "a/.env.sample",
      "id_rsa.pub",
      "keys.txt",
      "pem",
      "sshd",
      ".github/x"
    ]

    it.effect("secrets are neither read nor changed, and the .git folder is not changed", () =>
      Effect.gen(function* () {
        const { root } = yield* place()
        writeFileSync(`${root}/.env`, "KEY=1")
        symlinkSync(".env", `${root}/harmless`)
        symlinkSync("a.txt", `${root}/.env.link`)
        yield* within(root)(
          Effect.gen(function* () {
            for (const given of closed) {
              for (const access of ["read", "change"] as const) {
                expect([given, yield* refused(given, access)]).toEqual([
                  given,
                  expect.stringMatching(/ is closed to tools \(by the pattern [^\n]+\)\.$/)
                ])
              }
            }
            for (const given of open) yield* locate(given, "change")
            expect(yield* refused("harmless")).toBe(
              `harmless leads to ${root}/.env, which is closed to tools (by the pattern .env).`
            )
            expect(yield* refused(".env.link")).toBe(".env.link is closed to tools (by the pattern .env.*).")
            for (const given of [".git", ".git/config", "sub/.GIT/hooks/x"]) {
              yield* locate(given)
              expect(yield* refused(given, "change")).toBe(
                `${given} may be read but not changed with tools (by the pattern .git).`
              )
            }
          })
        )
      })
    )

    it.effect("patterns are those of ignore files", () =>
      Effect.gen(function* () {
        const { base } = yield* place()
        const cases: ReadonlyArray<readonly [ReadonlyArray<string>, string, boolean]> = [
          [["x"], "x", false],
          [["x"], "a/b/x/c", false],
          [["x"], "xy", true],
          [["x/"], "a/x", false],
          [["/x"], "x", false],
          [["/x"], "a/x", true],
          [["a/x"], "a/x/y", false],
          [["a/x"], "b/a/x", true],
          [["**/a/x"], "b/a/x", false],
          [["./a/x", "//b"], "a/x", false],
          [["./a/x", "//b"], "b", false],
          [["{a,b}x"], "c/bx", false],
          [["x[!a]"], "xb", false],
          [["x[!a]"], "xa", true],
          [["\\*x"], "*x", false],
          [["\\*x"], "ax", true],
          [["Éa*"], "e\u0301AB", false],
          [["ab"], "A\u200bB. .", false],
          [["a/**"], "a/b/c", false],
          [["*.log"], ".log", false],
          [["*.log", "!keep.log"], "a/keep.log", true],
          [["!keep.log", "*.log"], "a/keep.log", false],
          // A folder that is closed cannot be opened in part.
          [["a", "!keep.log"], "a/keep.log", false],
          [["a/*", "!a/keep.log"], "a/keep.log", true],
          [["[ab]?.txt"], "b1.txt", false],
          [["[ab]?.txt"], "c1.txt", true],
          [[], ".env", true]
        ]
        for (const [deny, path, isOpen] of cases) {
          const allowed = yield* within(base, { deny })(
            Effect.map(Workspace, ({ allows, root }) => allows(`${root}/${path}`, "read"))
          )
          expect([deny, path, allowed]).toEqual([deny, path, isOpen])
        }
      })
    )
  })

  it.effect("whatever a path is made of, what it is located at is in a folder, and is where the system goes", () =>
    Effect.gen(function* () {
      const { base, root } = yield* place()
      mkdirSync(`${root}/deep/er`, { recursive: true })
      const links = {
        up: "..",
        "deep/up2": "../..",
        "deep/er/abs": root,
        "deep/er/away": `${base}/outside/x`,
        "sub/s": "."
      }
      for (const [name, target] of Object.entries(links)) symlinkSync(target, `${root}/${name}`)
      const names =
        ".. . a.txt sub b.txt out secret leak dangling chain inner innerNew new up deep er up2 abs away s root root2"
      const parts = ["", "outside", base, root, `${base}/alias`, ...names.split(" ")]
      const options: Options = { deny: [] }
      let state = 1
      const random = (below: number) => {
        state = (state * 48_271) % 0x7fffffff
        return state % below
      }
      const counts = { inside: 0, outside: 0, failed: 0 }
      yield* within(
        root,
        options
      )(
        Effect.gen(function* () {
          for (let i = 0; i < 1500; i++) {
            const given = Array.from({ length: 1 + random(5) }, () => parts[random(parts.length)]!).join("/") || "."
            const result = yield* Effect.result(locate(given, "change"))
            const real = realOf(resolve(root, given))
            if (result._tag === "Success") {
              counts.inside++
              expect([given, result.success.path]).toEqual([given, real])
              expect(`${result.success.path}/`.startsWith(`${root}/`)).toBe(true)
            } else if (real === undefined || `${real}/`.startsWith(`${root}/`)) {
              counts.failed++
              expect([given, result.failure.message]).toEqual([given, expect.stringMatching(/Cannot look at|outside/)])
              expect([given, real]).toEqual([given, undefined])
            } else {
              counts.outside++
              expect([given, result.failure.message]).toEqual([given, expect.stringContaining("is outside")])
            }
          }
        })
      )
      for (const count of Object.values(counts)) expect(count).toBeGreaterThan(50)
    })
  )
})

/** Where the system goes: step by step, as POSIX describes it. Nothing if it goes in circles or below a file. */
const realOf = (path: string, links = 0): string | undefined => {
  if (existsSync(path)) return realpathSync.native(path)
  if (links > 40) return undefined
  let at = "/"
  const names = path.split("/").filter((name) => name !== "")
  for (const [index, name] of names.entries()) {
    const next = join(at, name)
    const target = linkOf(next)
    if (target !== undefined) {
      return realOf(resolve(dirname(next), target, ...names.slice(index + 1)), links + 1)
    }
    if (existsSync(at) && !isFolder(at)) return undefined
    at = next
  }
  return at
}

const linkOf = (path: string): string | undefined => {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}

const isFolder = (path: string): boolean => statSync(path).isDirectory()
