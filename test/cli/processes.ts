// The program as a process of its own: started, read and, when the test is over, killed.
import * as Effect from "effect/Effect"
import { spawn, type StdioOptions } from "node:child_process"
import { fileURLToPath } from "node:url"

const main = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url))

export interface Options {
  readonly command?: string
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  readonly stdio?: StdioOptions
  /** How standard output is read: as it comes (unless given), with a rest after each piece, or never. */
  readonly reading?: "slow" | "never"
}

/** Starts a process. It is killed when the test is over. */
export const start = (args: ReadonlyArray<string>, options: Options = {}) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const child = spawn(options.command ?? process.execPath, args, {
        cwd: options.cwd,
        env: { ...process.env, ...options.env },
        stdio: options.stdio ?? ["ignore", "pipe", "pipe"]
      })
      const written = { stdout: "", stderr: "" }
      const listeners = new Set<() => void>()
      const add = (name: "stdout" | "stderr", text: string) => {
        written[name] += text
        for (const listener of listeners) listener()
      }
      child.stdout?.setEncoding("utf8")
      child.stderr?.setEncoding("utf8").on("data", (text: string) => add("stderr", text))
      if (options.reading !== "never") {
        child.stdout?.on("data", (text: string) => {
          add("stdout", text)
          if (options.reading === undefined) return
          child.stdout!.pause()
          setTimeout(() => child.stdout!.resume(), 1)
        })
      }
      const code = (event: "exit" | "close") =>
        Effect.callback<number | null>((resume) => void child.once(event, (code) => resume(Effect.succeed(code))))
      return {
        child,
        written,
        /** Waits until an output has a text. */
        has: (name: "stdout" | "stderr", text: RegExp) =>
          Effect.callback<void>((resume) => {
            const listener = () => {
              if (!text.test(written[name])) return
              listeners.delete(listener)
              resume(Effect.void)
            }
            listeners.add(listener)
            listener()
          }),
        /** Waits until there is something on standard output, which stays there. */
        hasBegun: Effect.callback<void>((resume) => void child.stdout!.once("readable", () => resume(Effect.void))),
        exitCode: code("exit"),
        /** How it ended, once all that it wrote has been read. */
        ended: Effect.map(code("close"), (code) => ({ code, ...written }))
      }
    }),
    ({ child }) => Effect.sync(() => child.kill("SIGKILL"))
  )

export const startMain = (args: ReadonlyArray<string>, options?: Options) => start([main, ...args], options)

export const runMain = (args: ReadonlyArray<string>, options?: Options) =>
  Effect.flatMap(startMain(args, options), ({ ended }) => ended)

/** Runs a line of a shell, in which `$0` is Node and `$@` the program with its arguments. */
export const runShell = (line: string, args: ReadonlyArray<string>, options?: Options) =>
  Effect.flatMap(
    start(["-c", line, process.execPath, main, ...args], { ...options, command: "bash" }),
    ({ ended }) => ended
  )
