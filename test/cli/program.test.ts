import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestConsole from "effect/testing/TestConsole"
import { existsSync } from "node:fs"
import { AgentEvent } from "../../src/AgentEvent.ts"
import type * as Scripted from "../../src/providers/Scripted.ts"
import * as TraceChecker from "../../src/testing/TraceChecker.ts"
import { coding } from "../../src/tools/Tools.ts"
import manifest from "../../package.json" with { type: "json" }
import { bytes, folder, linesOf, playing, prepare, refusal, run } from "./harness.ts"

const hello: Scripted.Turn = [{ type: "text", text: "Hello", chunk: 2 }]
const read = (path: string, id = "1"): Scripted.Turn => [{ type: "toolCall", id, name: "read", arguments: { path } }]

const decodeEvents = Schema.decodeUnknownEffect(Schema.Array(AgentEvent))

/** Checks that lines are a whole run in its grammar. */
const expectRun = Effect.fnUntraced(function* (stdout: string) {
  const events = yield* decodeEvents(linesOf(stdout))
  expect(TraceChecker.check(events)).toEqual(Option.none())
  return events
})

describe("text mode", () => {
  it.effect("the answer is on standard output, tool calls are on standard error", () =>
    Effect.gen(function* () {
      const cwd = yield* folder({ "a.txt": "one line" })
      const args = yield* playing([read("a.txt"), hello], "--cwd", cwd, "read", "a.txt")
      expect(yield* run(args)).toEqual({
        code: 0,
        stdout: "Hello\n",
        stderr: '▸ read {"path":"a.txt"}\n  ✓ one line\n'
      })
    })
  )

  it.effect("colours are for a terminal on standard error, unless NO_COLOR is set", () =>
    Effect.gen(function* () {
      const args = yield* playing([[{ type: "thinking", text: "hm" }, ...hello]], "hi")
      const colour = "\x1b[2m"
      expect((yield* run(args, { terminals: ["stderr"] })).stderr).toContain(colour)
      expect((yield* run(args, { terminals: ["stderr"], env: { NO_COLOR: "" } })).stderr).toContain(colour)
      expect((yield* run(args, { terminals: ["stderr"], env: { NO_COLOR: "1" } })).stderr).not.toContain(colour)
      expect((yield* run(args, { terminals: ["stdin", "stdout"] })).stderr).not.toContain(colour)
    })
  )
})

describe("json mode", () => {
  it.effect("standard output is the events of a run, one a line, and standard error is empty", () =>
    Effect.gen(function* () {
      const cwd = yield* folder({ "a.txt": "one\ntwo" })
      const args = yield* playing([read("a.txt"), hello], "--cwd", cwd, "--mode", "json", "--full-updates", "hi")
      const { code, stderr, stdout } = yield* run(args)
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
      const events = yield* expectRun(stdout)
      expect(events.at(-1)).toMatchObject({ type: "agent_end", reason: "completed" })
    })
  )

  it.effect("updates have only what was added, unless full ones are asked for", () =>
    Effect.gen(function* () {
      const args = yield* playing([hello], "--mode=json", "hi")
      const updates = linesOf((yield* run(args)).stdout).filter(({ type }) => type === "message_update")
      expect(updates[1]).toEqual({
        type: "message_update",
        assistantMessageEvent: { type: "text_delta", contentIndex: 0, delta: "He" }
      })
    })
  )

  it.effect("a reader that is slow holds the run, and misses nothing", () =>
    Effect.gen(function* () {
      const root = yield* folder()
      const touch: Scripted.Turn = [{ type: "toolCall", id: "1", name: "bash", arguments: { command: "touch done" } }]
      const args = yield* playing([touch, hello], "--cwd", root, "--mode", "json", "hi")
      const isRead = Latch.makeUnsafe(false)
      const isWriting = Latch.makeUnsafe(false)
      const slow = prepare(args, { beforeWrite: () => Effect.andThen(isWriting.open, isRead.await) })
      const fiber = yield* Effect.forkChild(slow.exitCode)
      yield* isWriting.await
      expect(slow.written.stdout).toBe("")
      expect(existsSync(`${root}/done`)).toBe(false)
      yield* isRead.open
      expect(yield* Fiber.join(fiber)).toBe(0)
      expect(existsSync(`${root}/done`)).toBe(true)
      expect(linesOf(slow.written.stdout).at(-1)).toMatchObject({ type: "agent_end", reason: "completed" })
    })
  )
})

describe("exit codes", () => {
  const cases: ReadonlyArray<[string, number, Scripted.Script["turns"], ReadonlyArray<string>]> = [
    ["completed", 0, [hello], []],
    ["error", 1, [[{ type: "error", reason: "network", message: "No network." }]], []],
    ["limit", 3, [read("a"), hello], ["--max-turns", "1"]],
    ["aborted", 130, [[{ type: "error", reason: "aborted", message: "x" }]], []]
  ]

  it.effect.each(cases)("a run that ends as %s gives %i, in both modes", ([reason, code, turns, options]) =>
    Effect.gen(function* () {
      const args = yield* playing(turns, ...options, "hi")
      expect((yield* run(args)).code).toBe(code)
      const json = yield* run([...args, "--mode", "json"])
      expect(json.code).toBe(code)
      expect(linesOf(json.stdout).at(-1)).toMatchObject({ type: "agent_end", reason })
    })
  )

  it.effect("a limit that is met exactly does no harm", () =>
    Effect.gen(function* () {
      expect((yield* run(yield* playing([read("a"), hello], "--max-turns", "2", "hi"))).code).toBe(0)
    })
  )

  it.effect("an error is told on standard error", () =>
    Effect.gen(function* () {
      const turn: Scripted.Turn = [...hello, { type: "error", reason: "network", message: "No network." }]
      expect(yield* run(yield* playing([turn], "hi"))).toEqual({
        code: 1,
        stdout: "Hello\n",
        stderr: "✗ No network.\n"
      })
    })
  )
})

describe("the prompt", () => {
  const promptOf = Effect.fnUntraced(function* (
    words: ReadonlyArray<string>,
    stdin: Parameters<typeof prepare>[1] = {}
  ) {
    const { stdout } = yield* run(yield* playing([hello], "--mode", "json", ...words), stdin)
    const message = linesOf(stdout).find((event) => event.type === "message_start")!.message
    expect(message).toMatchObject({ role: "user", timestamp: 0 })
    return "content" in message && Array.isArray(message.content) ? message.content : message
  })

  it.effect("is the words of the command line", () =>
    Effect.gen(function* () {
      expect(yield* promptOf(["what", "is this?"])).toEqual([{ type: "text", text: "what is this?" }])
      expect(yield* promptOf(["--", "--help", "-"])).toEqual([{ type: "text", text: "--help -" }])
    })
  )

  it.effect("is read from standard input for - and where there are no words", () =>
    Effect.gen(function* () {
      // The character is cut between its two bytes.
      const stdin = Stream.fromIterable([new Uint8Array([0x61, 0xc3]), new Uint8Array([0xa9, 0x0a])])
      expect(yield* promptOf(["-"], { stdin, terminals: ["stdin"] })).toEqual([{ type: "text", text: "aé\n" }])
      expect(yield* promptOf([], { stdin })).toEqual([{ type: "text", text: "aé\n" }])
    })
  )

  it.effect("of words leaves standard input alone", () =>
    Effect.gen(function* () {
      expect(yield* promptOf(["hi"], { stdin: Stream.never })).toEqual([{ type: "text", text: "hi" }])
    })
  )
})

describe("options", () => {
  it.effect("the model is named by --model", () =>
    Effect.gen(function* () {
      const modelOf = Effect.fnUntraced(function* (...options: ReadonlyArray<string>) {
        const { stdout } = yield* run(yield* playing([hello], "--mode", "json", ...options, "hi"))
        return linesOf(stdout).find((event) => event.type === "turn_end")!.message
      })
      expect(yield* modelOf("--model", "m7")).toMatchObject({ provider: "scripted", model: "m7" })
      expect(yield* modelOf()).toMatchObject({ provider: "scripted", model: "scripted" })
    })
  )

  it.effect("without a provider, the stand-in answers", () =>
    Effect.gen(function* () {
      const cwd = yield* folder({ "package.json": '{ "scripts": { "build": "make all" } }' })
      const { code, stdout } = yield* run(["--cwd", cwd, "what scripts does package.json define?"])
      expect(code).toBe(0)
      expect(stdout).toContain("make all")
    })
  )

  it.effect("--tools leaves the model with the tools it names", () =>
    Effect.gen(function* () {
      const outcomes = Effect.fnUntraced(function* (...options: ReadonlyArray<string>) {
        const cwd = yield* folder({ "a.txt": "x" })
        const turn: Scripted.Turn = [...read("a.txt"), { type: "toolCall", id: "2", name: "ls", arguments: {} }]
        const args = yield* playing([turn, hello], "--cwd", cwd, "--mode", "json", ...options, "hi")
        return linesOf((yield* run(args)).stdout)
          .flatMap((event) =>
            event.type === "message_end" && event.message.role === "toolResult" ? [event.message] : []
          )
          .map(
            ({ isError, toolName }: { isError?: boolean; toolName?: string }) =>
              `${toolName}: ${isError ? "refused" : "done"}`
          )
      })
      expect(yield* outcomes()).toEqual(["read: done", "ls: done"])
      expect(yield* outcomes("--tools", "ls, grep")).toEqual(["read: refused", "ls: done"])
      expect(yield* outcomes("--tools", "none")).toEqual(["read: refused", "ls: refused"])
    })
  )

  it.effect("--help goes to standard output and names every tool", () =>
    Effect.gen(function* () {
      expect(yield* run(["--help"])).toMatchObject({ code: 0, stderr: "" })
      const help = (yield* TestConsole.logLines).join("\n")
      for (const { name } of coding) expect(help).toMatch(new RegExp(`The tools .*\\b${name}\\b`))
      expect(help).toContain("control characters")
    })
  )

  it.effect("--version is that of the package", () =>
    Effect.gen(function* () {
      expect((yield* run(["--version"])).code).toBe(0)
      expect((yield* TestConsole.logLines).join("\n")).toContain(manifest.version)
    })
  )
})

describe("wrong usage", () => {
  const expectRefused = Effect.fnUntraced(function* (
    args: ReadonlyArray<string>,
    message: string | RegExp,
    world?: Parameters<typeof prepare>[1]
  ) {
    const { code, stderr, stdout } = yield* run(args, world)
    expect({ code, stdout, help: yield* TestConsole.logLines }).toEqual({ code: 2, stdout: "", help: [] })
    // One line, and one sentence or two.
    expect(stderr).toMatch(/^effect-agent: [^\n]{10,}\n$/)
    expect(stderr).toMatch(message)
  })

  const cases: ReadonlyArray<[ReadonlyArray<string>, string | RegExp]> = [
    [["--moed", "json", "hi"], "There is no option --moed (did you mean --mode"],
    [["-x", "hi"], "There is no option -x;"],
    [["--wizard"], "There is no option --wizard"],
    [["--log-level", "all", "hi"], "There is no option --log-level"],
    [["--mode", "xml", "hi"], /--mode cannot be "xml": expected .*json/],
    [["hi", "--mode"], /--mode needs a value: .*json/],
    [["--mode", "json", "--mode", "text", "hi"], /--mode .*at most 1/],
    [["--provider", "skynet", "hi"], /--provider cannot be "skynet": expected .*offline.*scripted/],
    [["--api-key-env", "sk-ant-SECRET", "hi"], /^((?!SECRET).)*name of an environment variable((?!SECRET).)*$/s],
    [["--api-key-env", "SECRET", "hi"], /^((?!SECRET).)*is not set((?!SECRET).)*$/s],
    [["--api-key-env", "NOT_SET", "hi"], "The environment variable that --api-key-env names is not set"],
    [
      ["--provider", "offline", "--base-url", "http://x", "hi"],
      "--base-url is for --provider anthropic, not for offline."
    ],
    [["--idle-timeout", "5", "hi"], "--idle-timeout is for --provider anthropic, not for offline."],
    [
      ["--idle-timeout", "soon", "hi"],
      '--idle-timeout cannot be "soon": expected a number of seconds from 0 to 999999.'
    ],
    [["--model", "", "hi"], "--model needs a value: a name."],
    [["--model", " ", "hi"], '--model cannot be " ": expected a name.'],
    [["--usage=maybe", "hi"], '--usage cannot be "maybe": expected "true"'],
    [["--retries", "-1", "hi"], "--retries"],
    [["--retries", "many", "hi"], '--retries cannot be "many": expected a whole number from 0.'],
    [["--provider", "scripted", "hi"], "--script"],
    [["--provider", "offline", "--script", "x.json", "hi"], "--script is for --provider scripted, not for offline."],
    [["--thinking", "deeply", "hi"], /--thinking cannot be "deeply": expected .*minimal/],
    [
      ["--tools", "read,reed", "hi"],
      'There is no tool "reed": --tools takes read, ls, grep, find, edit, write, bash, or none.'
    ],
    [["--tools", "", "hi"], "--tools needs a value"],
    [["--tools", "read,,ls", "hi"], '--tools cannot be "read,,ls"'],
    [["--max-turns", "0", "hi"], '--max-turns cannot be "0": expected a whole number from 1.'],
    [["--max-turns", "two", "hi"], '--max-turns cannot be "two"'],
    [["--max-turns", "1.5", "hi"], '--max-turns cannot be "1.5"'],
    [["--max-turns", "-1", "hi"], "--max-turns"],
    [["--cwd", "/no/such/folder", "hi"], "--cwd cannot be /no/such/folder: ENOENT"],
    [["--cwd", "/dev/null", "hi"], "--cwd cannot be /dev/null: it is not a folder."],
    [["--script", "/no/such.json", "hi"], "Cannot read the script /no/such.json: ENOENT"],
    [["--script", "/", "hi"], "Cannot read the script /: EISDIR"],
    [["--full-updates", "hi"], "--full-updates is for --mode json."],
    [["", " "], "The prompt is empty"],
    [["--tools", "\x1b[2J\u202e", "hi"], 'There is no tool "␛[2J\\u202e"'],
    [["--\x1b]0;x\x07", "hi"], "There is no option --␛]0;x␇"]
  ]

  it.effect.each(cases)("%j is refused", ([args, message]) => expectRefused(args, message))

  it.effect("a script that is no JSON is refused with the place", () =>
    Effect.gen(function* () {
      const root = yield* folder({ "script.json": '{ "turns": [[ }' })
      yield* expectRefused(["--script", `${root}/script.json`, "hi"], /script\.json cannot be played.*Not JSON: .*\}/)
    })
  )

  it.effect("a script of another shape is refused with the path of what is wrong", () =>
    Effect.gen(function* () {
      const args = yield* playing([[{ type: "text", text: 5 as unknown as string }]], "hi")
      yield* expectRefused(args, '["turns"][0][0]["text"]')
    })
  )

  it.effect("no prompt and nobody to read it from is refused", () =>
    expectRefused([], "There is no prompt", { terminals: ["stdin"] })
  )

  it.effect("an empty prompt on standard input is refused", () =>
    Effect.gen(function* () {
      yield* expectRefused(["-"], "The prompt is empty")
      yield* expectRefused([], "The prompt is empty", { stdin: bytes(" \n", "\t") })
    })
  )

  it.effect("a standard input that cannot be read is refused", () =>
    expectRefused(["-"], "Cannot read the prompt from standard input: EISDIR: is a directory.", {
      stdin: Stream.fail(refusal("EISDIR", "EISDIR: is a directory"))
    })
  )
})

describe("abort", () => {
  const stalled: Scripted.Turn = [
    { type: "start" },
    { type: "text_start", contentIndex: 0 },
    { type: "text_delta", contentIndex: 0, delta: "Hello, wor" },
    { type: "stall" }
  ]

  it.effect("in a response, the partial text stays and the end is told", () =>
    Effect.gen(function* () {
      const { exitCode, has, written } = prepare(yield* playing([stalled], "hi"))
      const fiber = yield* Effect.forkChild(exitCode)
      yield* has("stdout", "wor")
      expect(written.stderr).toBe("")
      yield* Fiber.interrupt(fiber)
      expect(written).toEqual({ stdout: "Hello, wor\n", stderr: "! aborted\n" })
    })
  )

  it.effect("in json mode, the rest of the run is told in its grammar", () =>
    Effect.gen(function* () {
      const args = yield* playing([stalled], "--mode", "json", "--full-updates", "hi")
      const { exitCode, has, written } = prepare(args)
      const fiber = yield* Effect.forkChild(exitCode)
      yield* has("stdout", "wor")
      yield* Fiber.interrupt(fiber)
      expect(Exit.hasInterrupts(yield* Fiber.await(fiber))).toBe(true)
      const events = yield* expectRun(written.stdout)
      expect(events.at(-1)).toMatchObject({ type: "agent_end", reason: "aborted" })
      expect(written.stderr).toBe("")
    })
  )

  it.effect("in a tool, its process is gone and its call has a result", () =>
    Effect.gen(function* () {
      const command = "echo $$ > pid; exec sleep 1000"
      const turn: Scripted.Turn = [{ type: "toolCall", id: "1", name: "bash", arguments: { command } }]
      const cwd = yield* folder()
      const args = yield* playing([turn, hello], "--cwd", cwd, "--mode", "json", "--full-updates", "hi")
      const { exitCode, has, written } = prepare(args)
      const fiber = yield* Effect.forkChild(exitCode)
      yield* has("stdout", '"tool_execution_start"')
      yield* Fiber.interrupt(fiber)
      const events = yield* expectRun(written.stdout)
      expect(events.at(-1)).toMatchObject({ type: "agent_end", reason: "aborted" })
      expect(events.find(({ type }) => type === "tool_execution_end")).toMatchObject({ isError: true })
    })
  )

  it.effect("while the prompt is being read, nothing is said", () =>
    Effect.gen(function* () {
      const isReading = Latch.makeUnsafe(false)
      const stdin = Stream.fromEffect(Effect.andThen(isReading.open, Effect.never))
      const { exitCode, written } = prepare(yield* playing([hello], "-"), { stdin })
      const fiber = yield* Effect.forkChild(exitCode)
      yield* isReading.await
      yield* Fiber.interrupt(fiber)
      expect(written).toEqual({ stdout: "", stderr: "" })
    })
  )
})

describe("outputs that fail", () => {
  const touch = (name: string): Scripted.Turn => [
    { type: "text", text: "Hello" },
    { type: "toolCall", id: "1", name: "bash", arguments: { command: `touch ${name}` } }
  ]

  const failing = (to: "stdout" | "stderr", code: string, message: string) =>
    Effect.gen(function* () {
      const cwd = yield* folder()
      const beforeWrite = (output: string) => (output === to ? Effect.fail(refusal(code, message)) : Effect.void)
      const result = yield* run(yield* playing([touch("done"), hello], "--cwd", cwd, "hi"), { beforeWrite })
      return { ...result, isDone: existsSync(`${cwd}/done`) }
    })

  it.effect("a reader that has gone ends the run without a word", () =>
    Effect.gen(function* () {
      expect(yield* failing("stdout", "EPIPE", "write EPIPE")).toEqual({
        code: 141,
        stdout: "",
        stderr: "",
        isDone: false
      })
    })
  )

  it.effect("a full disk ends the run with a sentence", () =>
    Effect.gen(function* () {
      expect(yield* failing("stdout", "ENOSPC", "ENOSPC: no space left on device, write")).toEqual({
        code: 1,
        stdout: "",
        stderr: "effect-agent: Cannot write to standard output: ENOSPC: no space left on device, write.\n",
        isDone: false
      })
    })
  )

  it.effect("a standard error that nobody reads does not end the run", () =>
    Effect.gen(function* () {
      expect(yield* failing("stderr", "EPIPE", "write EPIPE")).toEqual({
        code: 0,
        stdout: "Hello\nHello\n",
        stderr: "",
        isDone: true
      })
    })
  )
})

describe("faults of the program", () => {
  const stdin = Stream.die(new TypeError("x is not\n  a function \x1b[2J"))

  it.effect("are one sentence without a stack trace", () =>
    Effect.gen(function* () {
      const { code, stderr, stdout } = yield* run(["-"], { stdin })
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
      expect(stderr).toMatch(/^effect-agent: .*x is not a function ␛\[2J\n$/)
    })
  )

  it.effect("show where they are if that is asked for", () =>
    Effect.gen(function* () {
      const { code, stderr } = yield* run(["-"], { stdin, env: { EFFECT_AGENT_DEBUG: "1" } })
      expect(code).toBe(1)
      expect(stderr).toContain("program.test.ts")
    })
  )
})
