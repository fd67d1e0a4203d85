// What a model might send by mistake or by malice. Each call ends at once, in one clear message or in a plain result, and
// nothing outside the folder is seen or touched.
import { expect, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Schema from "effect/Schema"
import { spawnSync } from "node:child_process"
import type * as Tool from "../../src/Tool.ts"
import * as Bash from "../../src/tools/Bash.ts"
import * as Find from "../../src/tools/Find.ts"
import * as Grep from "../../src/tools/Grep.ts"
import * as Ls from "../../src/tools/Ls.ts"
import { execute, folder, services, textOf, within } from "./support.ts"

/** A call, whether it fails, and what its message or result says. */
type Case = readonly [tool: string, args: Schema.Json, outcome: "fails" | "gives", says: RegExp]

const MB = 1_000_000
const long = (text: string, length = MB) => text.repeat(Math.ceil(length / text.length)).slice(0, length)

const outside = /outside the folders that tools may use/
const missing = /^Cannot look at .*: there is no such file or folder\.$/

const paths: ReadonlyArray<readonly [string, RegExp]> = [
  ["..", outside],
  ["a/../../..", outside],
  ["/", outside],
  ["/etc", outside],
  ["/dev/zero", outside],
  ["/proc/self/root/etc", outside],
  ["out", outside],
  ["out/../out/secret", outside],
  ["chain", outside],
  ["a/up/secret", outside],
  ["loop", /go round in a circle/],
  ["loop/x", /go round in a circle/],
  ["broken", missing],
  ["", /^The path is empty/],
  ["~", /is not expanded/],
  ["~/x", /is not expanded/],
  ["a\0b", /NUL character/],
  [long("x"), /^The path is too long/],
  [long("a/"), /^The path is too long/],
  [long("x", 300), /name is too long/],
  ["file/x", /is a file, not a folder/],
  ["none", missing],
  ["-rf", missing],
  ["--help", missing],
  ["\x1b[2J", missing],
  ["new\nliner", missing],
  ["\ud800", missing],
  ["C:\\x", missing],
  ["pipe", /is a named pipe/],
  [".env", /is closed to tools/],
  [".ENV", /is closed to tools/],
  ["a/../.env", /is closed to tools/]
]

const patterns: ReadonlyArray<readonly [string, "fails" | "gives", RegExp]> = [
  ["-e", "gives", /^\(no matches\)$/],
  ["--", "gives", /^\(no matches\)$/],
  ["--pre=touch", "gives", /^\(no matches\)$/],
  ["--files", "gives", /^\(no matches\)$/],
  ["-fpipe", "gives", /^\(no matches\)$/],
  ["(a+)+$", "gives", /^\(no matches\)$/],
  ["(x+x+)+y|needle$", "gives", /^a\/b:1:needle\n/],
  ["\ud800", "gives", /^\(no matches\)$/],
  [long("(x|", 300) + long(")", 100), "gives", /^a\/b:1:needle\n/],
  ["", "fails", /length of at least 1/],
  ["[", "fails", /unclosed character class$/],
  ["(", "fails", /unclosed group$/],
  ["*", "fails", /repetition operator missing expression$/],
  ["\\", "fails", /error: /],
  ["(?i", "fails", /error: /],
  ["\\p{Foo}", "fails", /Unicode property not found$/],
  ["(?=x)", "fails", /look-around.* is not supported\.$/],
  ["(x)\\1", "fails", /backreferences are not supported\.$/],
  ["a{999999999}", "fails", /exceeds size limit/],
  ["(((a{100}){100}){100}){100}", "fails", /exceeds size limit/],
  [long("(", 50_000), "fails", /error: /],
  ["a\nb", "fails", /a match never goes beyond its line\.$/],
  ["a\0b", "fails", /NUL character/],
  [long("x"), "fails", /longer than the system takes/]
]

const globs: ReadonlyArray<readonly [string, "fails" | "gives", RegExp]> = [
  ["", "fails", /length of at least 1/],
  ["[", "fails", /unclosed character class/],
  ["[z-a]", "fails", /invalid range/],
  ["{a,b", "fails", /unclosed alternate group/],
  ["\\", "fails", /dangling/],
  ["a\nb", "fails", /line breaks or NUL/],
  ["a\0b", "fails", /line breaks or NUL/],
  ["../*", "fails", /cannot lead out/],
  ["a/../../*", "fails", /cannot lead out/],
  [long("x"), "fails", /too long/],
  [long("{"), "fails", /too long/],
  [long("{", 900), "fails", /unclosed alternate group/],
  ["-g", "gives", /^\(no \w+\)$/],
  ["--files", "gives", /^\(no \w+\)$/],
  ["/etc/*", "gives", /^\(no \w+\)$/],
  ["\ud800", "gives", /^\(no \w+\)$/],
  [".env", "gives", /^\(no \w+\)$/],
  ["out/*", "gives", /^\(no \w+\)$/],
  [long("**", 900), "gives", /^a\/b/],
  ["***", "gives", /^a\/b/],
  ["!!", "gives", /^a\/b/],
  ["./", "gives", /^a\/b/]
]

const commands: ReadonlyArray<readonly [string, "fails" | "gives", RegExp]> = [
  ["", "fails", /length of at least 1/],
  ["a\0b", "fails", /NUL character/],
  [`: ${long("x")}`, "fails", /longer than the system takes/],
  [" ", "gives", /^\(no output\)$/],
  ["#", "gives", /^\(no output\)$/],
  ["-c", "gives", /\[Exit code 127\]$/],
  ["--version", "gives", /\[Exit code 127\]$/],
  ["'", "gives", /\[Exit code 2\]$/],
  ["if", "gives", /\[Exit code 2\]$/],
  ["}; echo out", "gives", /\[Exit code 2\]$/],
  ["exit 300", "gives", /\[Exit code 44\]$/],
  ["kill -9 $$", "gives", /\[Exit code 137\]$/],
  ["kill -9 0", "gives", /\[Exit code 137: killed by SIGKILL\]$/],
  ["kill -9 $PPID", "gives", /\[Killed: its exit code is not known\]$/],
  ["trap '' HUP INT TERM; exit 3", "gives", /\[Exit code 3\]$/],
  ["exec >&-; echo x", "gives", /\[Exit code 1\]$/],
  ["exec >&- 2>&-; sleep 0; exit 4", "gives", /^\(no output\)\n\n\[Exit code 4\]$/],
  ["cat; read x; head -c 1; echo end", "gives", /^end\n$/],
  ["echo \ud800", "gives", /^\ufffd\n$/],
  ["printf '\\036'", "gives", /^\p{Cc}$/u],
  ["printf '\\0361:2 0\\036'", "gives", /^\p{Cc}1:2 0\p{Cc}$/u],
  ["printf 'a\\0b\\377\\n'", "gives", /^a\u2400b\ufffd\n$/],
  ["ulimit -f 0; yes | head -c 3000000 | tail -c 2", "gives", /^y\n$/]
]

const cases: ReadonlyArray<Case> = [
  ...paths.flatMap(([path, says]): ReadonlyArray<Case> => [
    ["grep", { pattern: "needle", path }, "fails", says],
    ["find", { pattern: "*", path }, "fails", says],
    ["ls", { path }, "fails", says]
  ]),
  ...patterns.map(([pattern, outcome, says]): Case => ["grep", { pattern }, outcome, says]),
  ...globs.flatMap(([glob, ...expected]): ReadonlyArray<Case> => [
    ["grep", { pattern: "needle", glob }, ...expected],
    ["find", { pattern: glob }, ...expected]
  ]),
  ...commands.map(([command, outcome, says]): Case => ["bash", { command }, outcome, says]),
  ["grep", { pattern: "x", context: -1 }, "fails", /context/],
  ["grep", { pattern: "x", limit: 1e9 }, "fails", /limit/],
  ["find", { pattern: "x", limit: 0.5 }, "fails", /limit/],
  ["bash", { command: "x", timeout: 1e9 }, "fails", /timeout/],
  ["bash", { command: "x", timeout: -1 }, "fails", /timeout/]
]

const tools: Record<string, Tool.Any> = { grep: Grep.tool, find: Find.tool, ls: Ls.tool, bash: Bash.tool }

const outcomeOf = (name: string, args: Schema.Json) => {
  const tool = tools[name]!
  return Schema.decodeEffect(tool.schema)(args).pipe(
    Effect.flatMap((params) => execute(tool, params)),
    Effect.match({
      onFailure: (error) => ["fails", (error as Error).message] as const,
      onSuccess: (result) => ["gives", textOf(result)] as const
    })
  )
}

/** Everything that could have been touched: names, contents and times of change. */
const stateOf = (path: string) =>
  spawnSync("sh", [
    "-c",
    'cd "$1" && find . -printf "%p %y %s %T@\\n" | sort && cat secret',
    "sh",
    path
  ]).stdout.toString()

layer(services, { excludeTestServices: true })("hostile input", (it) => {
  it.effect(`each of ${cases.length} calls has a clear end, and nothing outside is touched`, () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const outer = yield* folder({ secret: "needle of others\n", ".gitignore": "" })
      const path = yield* folder({ file: "needle\n", "a/b": "needle\n", ".env": "needle", "new\nline": "needle\n" })
      yield* fs.symlink(outer, `${path}/out`)
      yield* fs.symlink("out", `${path}/chain`)
      yield* fs.symlink(`../../${outer.slice(outer.lastIndexOf("/") + 1)}`, `${path}/a/up`)
      yield* fs.symlink("loop", `${path}/loop`)
      yield* fs.symlink("nowhere", `${path}/broken`)
      spawnSync("mkfifo", [`${path}/pipe`])
      const before = stateOf(outer)
      const inner = stateOf(path)
      const outcomes = { fails: 0, gives: 0 }
      yield* within(path)(
        Effect.forEach(
          cases,
          Effect.fnUntraced(function* ([tool, args, outcome, says]) {
            const [how, text] = yield* outcomeOf(tool, args)
            const sent = JSON.stringify(args).slice(0, 200)
            expect({ tool, sent, how, text }).toEqual({ tool, sent, how: outcome, text: expect.stringMatching(says) })
            expect(text).not.toContain("of others")
            if (how === "fails") {
              // Short, and with nothing in it that a terminal or a reader would stumble over.
              expect(text.length).toBeLessThan(1200)
              expect(text.replaceAll("\n", "")).not.toMatch(/\p{Cc}|\bat .*:\d+:\d+|undefined|\[object/u)
            }
            outcomes[how]++
          }),
          { discard: true }
        )
      )
      expect(outcomes.fails + outcomes.gives).toBe(cases.length)
      expect(stateOf(outer)).toBe(before)
      expect(stateOf(path)).toBe(inner)
    })
  )
})
