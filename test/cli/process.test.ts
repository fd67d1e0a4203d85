// The program as a process of its own, the way a person, a shell or another program starts it.
import { describe, expect, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { spawnSync, type StdioOptions } from "node:child_process"
import { closeSync, openSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import type * as Scripted from "../../src/providers/Scripted.ts"
import { LAST_WORDS } from "../../src/cli/process.ts"
import { folder, linesOf, playing } from "./harness.ts"
import { runMain, runShell, start, startMain } from "./processes.ts"

const hello: Scripted.Turn = [{ type: "text", text: "Hello", chunk: 2 }]
const bash = (command: string): Scripted.Turn => [{ type: "toolCall", id: "1", name: "bash", arguments: { command } }]
const stalled: Scripted.Turn = [
  { type: "start" },
  { type: "text_start", contentIndex: 0 },
  { type: "text_delta", contentIndex: 0, delta: "Hello, wor" },
  { type: "stall" }
]

describe("a run", () => {
  it.live("answers on standard output, with all else on standard error", () =>
    Effect.gen(function* () {
      const cwd = yield* folder({ "a.txt": "one line" })
      const turn: Scripted.Turn = [{ type: "toolCall", id: "1", name: "read", arguments: { path: "a.txt" } }]
      expect(yield* runMain(yield* playing([turn, hello], "read", "a.txt"), { cwd })).toEqual({
        code: 0,
        stdout: "Hello\n",
        stderr: '▸ read {"path":"a.txt"}\n  ✓ one line\n'
      })
    })
  )

  it.live("ends although its standard input stays open", () =>
    Effect.gen(function* () {
      const stdio: StdioOptions = ["pipe", "pipe", "pipe"]
      expect(yield* runMain(yield* playing([hello], "hi"), { stdio })).toMatchObject({ code: 0, stdout: "Hello\n" })
    })
  )

  it.live("takes its prompt from a pipe", () =>
    Effect.gen(function* () {
      const { code, stdout } = yield* runShell(
        `printf 'from a pipe' | "$0" "$@"`,
        yield* playing([hello], "--mode", "json")
      )
      expect(code).toBe(0)
      expect(stdout).toContain('"text":"from a pipe"')
    })
  )

  it.live("keeps its two outputs in step where both are one pipe", () =>
    Effect.gen(function* () {
      // More than a pipe holds, so that the reader stays behind.
      const long = "x".repeat(300_000)
      const turns: Scripted.Script["turns"] = [[{ type: "text", text: long }, ...bash("echo out")], hello]
      const args = yield* playing(turns, "hi")
      const { stdout } = yield* runShell(`exec "$0" "$@" 2>&1`, args, { reading: "slow" })
      expect(stdout).toBe(`${long}\n▸ bash {"command":"echo out"}\n  ✓ out\nHello\n`)
    })
  )
})

describe("a pipe that is full", () => {
  // With its newline, exactly what a pipe holds: whatever comes next has to wait for a reader.
  const fill: Scripted.Turn = [{ type: "text", text: "x".repeat(65_535) }, ...bash("touch full")]
  const isFull = "until test -e full; do sleep 0.01; done; sleep 0.3"

  it.live("keeps the program until its last word is read", () =>
    Effect.gen(function* () {
      const cwd = yield* folder()
      const line = `"$0" "$@" 2>/dev/null | { ${isFull}; tail -c 8; }; echo "\${PIPESTATUS[0]}"`
      expect(yield* runShell(line, yield* playing([fill, hello], "hi"), { cwd })).toMatchObject({
        stdout: "x\nHello\n0\n"
      })
    })
  )

  it.live("lets the program go when its reader does", () =>
    Effect.gen(function* () {
      const cwd = yield* folder()
      const line = `"$0" "$@" | { ${isFull}; }; echo "\${PIPESTATUS[0]}"`
      const { stderr, stdout } = yield* runShell(line, yield* playing([fill, hello], "hi"), { cwd })
      expect(stdout).toBe("141\n")
      expect(stderr).not.toContain("effect-agent")
    })
  )
})

describe("json mode", () => {
  const MB = 1024 * 1024

  it.live("a slow reader of a record of 2 MB gets complete lines, in order", () =>
    Effect.gen(function* () {
      const big = "é😀\n\u2028".repeat((2 * MB) / 8)
      const args = yield* playing([[{ type: "text", text: big, chunk: MB / 8 }]], "--mode", "json", "hi")
      const { code, stderr, stdout } = yield* runMain(args, { reading: "slow" })
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
      const events = linesOf(stdout)
      const deltas = events.flatMap((event) =>
        event.type === "message_update" && event.assistantMessageEvent.type === "text_delta"
          ? [event.assistantMessageEvent.delta]
          : []
      )
      expect(deltas.join("") === big).toBe(true)
      expect(events.at(-1)).toMatchObject({ type: "agent_end", messages: [{}, { content: [{ text: big }] }] })
    })
  )

  it.live("a reader that takes a line and goes ends the program quietly", () =>
    Effect.gen(function* () {
      const big: Scripted.Turn = [{ type: "text", text: "x".repeat(MB), chunk: 1000 }]
      const args = yield* playing([big, ...Array.from({ length: 9 }, () => bash("true"))], "--mode", "json", "hi")
      expect(yield* runShell(`"$0" "$@" | head -1; echo "\${PIPESTATUS[0]}"`, args)).toEqual({
        code: 0,
        stdout: '{"type":"agent_start"}\n141\n',
        stderr: ""
      })
    })
  )

  it.live("a reader that goes while the program waits is noticed at the next event", () =>
    Effect.gen(function* () {
      const cwd = yield* folder()
      const { child, ended, has } = yield* startMain(
        yield* playing([bash("until test -e go; do sleep 0.01; done"), bash("touch after")], "--mode", "json", "hi"),
        { cwd }
      )
      yield* has("stdout", /tool_execution_start/)
      child.stdout!.destroy()
      closeSync(openSync(`${cwd}/go`, "w"))
      expect(yield* ended).toMatchObject({ code: 141, stderr: "" })
      expect(() => readFileSync(`${cwd}/after`)).toThrow("ENOENT")
    })
  )
})

describe("signals", () => {
  const codes: ReadonlyArray<[NodeJS.Signals, number]> = [
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGHUP", 129]
  ]

  it.live.each(codes)("%s aborts the run, shows what is there and exits with %i", ([signal, code]) =>
    Effect.gen(function* () {
      const { child, ended, has } = yield* startMain(yield* playing([stalled], "hi"))
      yield* has("stdout", /wor/)
      child.kill(signal)
      expect(yield* ended).toEqual({ code, stdout: "Hello, wor\n", stderr: "! aborted\n" })
    })
  )

  it.live("in json mode the run is told to its end", () =>
    Effect.gen(function* () {
      const { child, ended, has } = yield* startMain(yield* playing([stalled], "--mode", "json", "hi"))
      yield* has("stdout", /wor/)
      child.kill("SIGINT")
      const { code, stderr, stdout } = yield* ended
      expect({ code, stderr }).toEqual({ code: 130, stderr: "" })
      expect(linesOf(stdout).at(-1)).toMatchObject({ type: "agent_end", reason: "aborted" })
    })
  )

  it.live("a signal ends the commands that tools run", () =>
    Effect.gen(function* () {
      const args = yield* playing([bash("sleep 1000 & echo pid=$!=; wait"), hello], "--mode", "json", "hi")
      const { child, ended, has, written } = yield* startMain(args)
      yield* has("stdout", /pid=\d+=/)
      const pid = Number(/pid=(\d+)=/.exec(written.stdout)![1])
      // One that has ended may stay listed, as Z, until somebody collects it.
      const state = () => spawnSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" }).stdout
      expect(state()).toMatch(/^[SR]/)
      child.kill("SIGINT")
      expect((yield* ended).code).toBe(130)
      expect(state()).toMatch(/^(Z|$)/)
    })
  )

  // More than the pipe and its reader hold: the program waits for a reader that does not come.
  const tooMuch: Scripted.Turn = [{ type: "text", text: "x".repeat(1_000_000) }]

  it.live("the second one ends the program at once, even where it is stuck", () =>
    Effect.gen(function* () {
      const { child, exitCode, hasBegun } = yield* startMain(yield* playing([tooMuch], "hi"), { reading: "never" })
      yield* hasBegun
      const begun = performance.now()
      // Two of the same kind could arrive as one.
      child.kill("SIGINT")
      child.kill("SIGTERM")
      expect([130, 143]).toContain(yield* exitCode)
      expect(performance.now() - begun).toBeLessThan(Duration.toMillis(LAST_WORDS) / 2)
    })
  )

  it.live("one alone ends a program that is stuck, after its last words", () =>
    Effect.gen(function* () {
      const { child, exitCode, hasBegun } = yield* startMain(yield* playing([tooMuch], "hi"), { reading: "never" })
      yield* hasBegun
      child.kill("SIGTERM")
      expect(yield* exitCode).toBe(143)
    })
  )
})

describe("mistakes", () => {
  const cases: ReadonlyArray<[string, string, RegExp]> = [
    ["an unknown option", `"$0" "$@" --frobnicate hi`, /^effect-agent: There is no option --frobnicate/],
    ["a standard input for writing only", `"$0" "$@" - 0> file`, /^effect-agent: Cannot read the prompt .*EBADF/],
    ["a standard input that is a folder", `"$0" "$@" - < .`, /^effect-agent: /],
    ["a standard input that is closed", `"$0" "$@" - <&-`, /^effect-agent: The prompt is empty/],
    ["an empty standard input", `"$0" "$@" < /dev/null`, /^effect-agent: The prompt is empty/]
  ]

  it.live.each(cases)("%s gives one sentence and exit code 2", ([, line, message]) =>
    Effect.gen(function* () {
      const { code, stderr, stdout } = yield* runShell(line, [], { cwd: yield* folder() })
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" })
      expect(stderr).toMatch(message)
      expect(stderr.indexOf("\n")).toBe(stderr.length - 1)
    })
  )

  it.live("a full disk gives one sentence and exit code 1", () =>
    Effect.gen(function* () {
      expect(yield* runShell(`"$0" "$@" > /dev/full`, yield* playing([hello], "hi"))).toEqual({
        code: 1,
        stdout: "",
        stderr: "effect-agent: Cannot write to standard output: ENOSPC: no space left on device, write.\n"
      })
    })
  )

  it.live("a closed standard error changes nothing", () =>
    Effect.gen(function* () {
      const args = yield* playing([bash("true"), hello], "hi")
      expect(yield* runShell(`"$0" "$@" 2>&-`, args)).toEqual({ code: 0, stdout: "Hello\n", stderr: "" })
    })
  )

  /** A program of one's own, run as the command line runs its own. */
  const runProgram = (program: string, env?: Readonly<Record<string, string>>) =>
    Effect.flatMap(
      start(
        [
          "--input-type=module",
          "--eval",
          `import * as Effect from "effect/Effect"
           import { layer, runMain } from ${JSON.stringify(fileURLToPath(new URL("../../src/cli/process.ts", import.meta.url)))}
           import { tell } from ${JSON.stringify(fileURLToPath(new URL("../../src/cli/program.ts", import.meta.url)))}
           runMain(Effect.provide(${program}, layer), (cause) => Effect.provide(tell(cause), layer))`
        ],
        { cwd: fileURLToPath(new URL("../..", import.meta.url)), ...(env && { env }) }
      ),
      ({ ended }) => ended
    )

  it.live("what is left behind in the process does not keep it", () =>
    Effect.gen(function* () {
      expect(yield* runProgram(`Effect.as(Effect.sync(() => setInterval(() => {}, 1000)), 7)`)).toMatchObject({
        code: 7
      })
    })
  )

  it.live.each([
    ["thrown", `setTimeout(() => { throw new Error("lost\\x1b[2J") })`],
    ["rejected", `Promise.reject(new Error("lost\\x1b[2J"))`]
  ])("an error that is %s where nobody sees it gives one sentence and exit code 1", ([, code]) =>
    Effect.gen(function* () {
      const program = `Effect.andThen(Effect.sync(() => { ${code} }), Effect.never)`
      const { stderr, ...rest } = yield* runProgram(program)
      expect(rest).toEqual({ code: 1, stdout: "" })
      expect(stderr).toMatch(/^effect-agent: .*: lost␛\[2J\n$/)
      expect((yield* runProgram(program, { EFFECT_AGENT_DEBUG: "1" })).stderr).toMatch(/lost.*\n +at /)
    })
  )

  it.live("what is logged goes to standard error, and does nothing to a terminal", () =>
    Effect.gen(function* () {
      const { code, stderr, stdout } = yield* runProgram(`Effect.as(Effect.logWarning("look\\x1b[2J"), 0)`)
      expect({ code, stdout }).toEqual({ code: 0, stdout: "" })
      expect(stderr).toMatch(/level=WARN .*look␛\[2J\n$/)
    })
  )
})
