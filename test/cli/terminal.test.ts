// The program on a real terminal, played by a model of one: what is seen on the screen, and what else is done to it.
import { spawn } from "@lydell/node-pty"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { fileURLToPath } from "node:url"
import type * as Scripted from "../../src/providers/Scripted.ts"
import { folder, playing } from "./harness.ts"
import { attacks, showOn } from "./screen.ts"

const main = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url))
const COLUMNS = 250

const start = (args: ReadonlyArray<string>, env: Readonly<Record<string, string>> = {}) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const terminal = spawn(process.execPath, [main, ...args], {
        cols: COLUMNS,
        rows: 50,
        env: { PATH: process.env["PATH"], TERM: "xterm-256color", ...env }
      })
      let written = ""
      const listeners = new Set<() => void>()
      terminal.onData((text) => {
        written += text
        for (const listener of listeners) listener()
      })
      const ended = new Promise<number>((resolve) => terminal.onExit(({ exitCode }) => resolve(exitCode)))
      return {
        terminal,
        has: (text: string) =>
          Effect.callback<void>((resume) => {
            const listener = () => {
              if (written.includes(text)) resume(Effect.void)
            }
            listeners.add(listener)
            listener()
          }),
        ended: Effect.map(
          Effect.promise(() => ended),
          (code) => ({ code, written })
        )
      }
    }),
    ({ terminal }) => Effect.sync(() => terminal.kill("SIGKILL"))
  )

const run = (args: ReadonlyArray<string>, env?: Readonly<Record<string, string>>) =>
  Effect.flatMap(start(args, env), ({ ended }) => ended)

const hostile = Object.values(attacks).join(" ")

/** Says and does hostile things in every place that a model, a tool or a provider has words for. */
const hostileTurns: Scripted.Script["turns"] = [
  [
    { type: "thinking", text: `think ${hostile}`, chunk: 1 },
    { type: "text", text: `say ${hostile}`, chunk: 1 },
    { type: "toolCall", id: "1", name: `name${hostile}`, arguments: { [`key${hostile}`]: `value${hostile}` } },
    { type: "toolCall", id: "2", name: "bash", arguments: { command: "cat hostile" } },
    { type: "toolCall", id: "3", name: "read", arguments: { path: `path${hostile}` } }
  ],
  [
    { type: "text", text: "almost done" },
    { type: "error", reason: "unknown", message: `fail ${hostile}` }
  ]
]

describe("on a terminal", () => {
  it.live.each(["text", "json"])("hostile text is shown and does nothing in %s mode", (mode) =>
    Effect.gen(function* () {
      const cwd = yield* folder({ hostile: `out ${hostile}` })
      const { code, written } = yield* run(yield* playing(hostileTurns, "--cwd", cwd, "--mode", mode, "hi"))
      expect(code).toBe(1)
      const { effects, lines } = yield* showOn(COLUMNS, written)
      expect(effects).toEqual([])
      // Nothing that was shown is gone again: the lines are there, from the first to the last.
      const screen = lines.join("\n")
      const places = ["think", "say", "name", "key", "path", "out", "almost done", "fail"].map((word) =>
        screen.indexOf(word)
      )
      expect(places).not.toContain(-1)
      if (mode === "text") {
        expect(screen.startsWith("thinking: think ␛[2J␛[H ␛[1A␛[2Ksafe")).toBe(true)
        expect(screen).toContain("say ␛[2J␛[H")
        expect(screen).toContain("✗ fail ␛[2J␛[H")
        expect(places).toEqual(places.toSorted((left, right) => left - right))
      }
    })
  )

  it.live("a hostile mistake on the command line is shown and does nothing", () =>
    Effect.gen(function* () {
      const { code, written } = yield* run([`--${hostile}`, "hi"])
      expect(code).toBe(2)
      const { effects, lines } = yield* showOn(COLUMNS, written)
      expect(effects).toEqual([])
      expect(lines.join("")).toContain("effect-agent: There is no option --␛[2J␛[H")
    })
  )

  const hello: Scripted.Turn = [
    { type: "thinking", text: "hm" },
    { type: "text", text: "Hello" }
  ]

  it.live("the answer has lines of its own between dimmed thinking and coloured tool calls", () =>
    Effect.gen(function* () {
      const turn: Scripted.Turn = [
        ...hello,
        { type: "toolCall", id: "1", name: "bash", arguments: { command: "echo x" } }
      ]
      const { code, written } = yield* run(yield* playing([turn, hello], "hi"))
      expect(code).toBe(0)
      expect(written).toContain("\x1b[2mthinking: hm\x1b[0m")
      expect((yield* showOn(COLUMNS, written)).lines).toEqual([
        "thinking: hm",
        "Hello",
        '▸ bash {"command":"echo x"}',
        "  ✓ x",
        "thinking: hm",
        "Hello"
      ])
    })
  )

  it.live("NO_COLOR is heeded", () =>
    Effect.gen(function* () {
      const { written } = yield* run(yield* playing([hello], "hi"), { NO_COLOR: "1" })
      expect(written).toBe("thinking: hm\r\nHello\r\n")
    })
  )

  it.live("without a prompt nothing is read from the keyboard", () =>
    Effect.gen(function* () {
      const { code, written } = yield* run([])
      expect(code).toBe(2)
      expect(written).toContain("There is no prompt")
    })
  )

  it.live("Ctrl-C aborts the run", () =>
    Effect.gen(function* () {
      const turn: Scripted.Turn = [
        { type: "start" },
        { type: "text_start", contentIndex: 0 },
        { type: "text_delta", contentIndex: 0, delta: "Hello, wor" },
        { type: "stall" }
      ]
      const { ended, has, terminal } = yield* start(yield* playing([turn], "hi"))
      yield* has("wor")
      terminal.write("\x03")
      const { code, written } = yield* ended
      expect(code).toBe(130)
      expect((yield* showOn(COLUMNS, written)).lines.map((line) => line.replace("^C", ""))).toEqual([
        "Hello, wor",
        "! aborted"
      ])
    })
  )
})
