import { afterEach, describe, expect, it as plain, layer, vi } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as PlatformError from "effect/PlatformError"
import * as ChildProcess from "effect/process/ChildProcess"
import * as ChildProcessSpawner from "effect/process/ChildProcessSpawner"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { spawnSync } from "node:child_process"
import { readdirSync, readFileSync, statSync } from "node:fs"
import { dirname } from "node:path"
import type * as Tool from "../../src/Tool.ts"
import * as Bash from "../../src/tools/Bash.ts"
import { Environment } from "../../src/tools/Environment.ts"
import { KeptOutput } from "../../src/tools/KeptOutput.ts"
import * as Read from "../../src/tools/Read.ts"
import { execute, failureOf, folder, services, textOf, within } from "./support.ts"

const bash = (command: string, timeout?: number, update?: Tool.Call["update"]) =>
  execute(Bash.tool, timeout === undefined ? { command } : { command, timeout }, update)

interface Details {
  readonly exitCode: number | null
  readonly timedOut: boolean
  readonly bytes: number
  readonly lines: number
  readonly truncated: boolean
  readonly fullOutputPath?: string
  readonly fullOutputIsWhole?: boolean
}

afterEach(() => {
  vi.unstubAllEnvs()
})

const detailsOf = (result: Tool.ToolResult): Details => result.details as unknown as Details

/** Whether a process runs. One that has ended may stay listed until somebody collects it. */
const isRunning = (pid: number) =>
  /^[^Z\s]/.test(spawnSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" }).stdout)

/** Runs a command that prints its process id, interrupts it then, and gives the id. */
const interrupted = Effect.fnUntraced(function* (command: string) {
  const started = yield* Deferred.make<number>()
  const update: Tool.Call["update"] = (partial) =>
    Effect.asVoid(Deferred.succeed(started, Number.parseInt(partial as string, 10)))
  const fiber = yield* Effect.forkChild(bash(command, 60, update))
  const pid = yield* Deferred.await(started)
  expect(isRunning(pid)).toBe(true)
  yield* Fiber.interrupt(fiber)
  return pid
})

/** Waits, in a shell, until what was started last leads a session of its own. */
const hasLeft = "until [ $(ps -o sid= -p $!) = $! ]; do :; done"

/** A named pipe, and the wait until nobody holds it open any more: until all who inherited it are dead. */
const deathWatch = Effect.fnUntraced(function* () {
  const path = `${yield* folder()}/pipe`
  spawnSync("mkfifo", [path])
  // A process of its own waits: opening the pipe here would take one of this process's few threads for files.
  const watcher = yield* ChildProcess.make("cat", [path])
  return { path, dead: watcher.exitCode }
})

layer(Layer.provideMerge(KeptOutput.layer, services), { excludeTestServices: true })("bash", (it) => {
  describe("results", () => {
    it.effect("a command gives what it prints, in the working directory", () =>
      Effect.gen(function* () {
        const path = yield* folder({ file: "content\n" })
        const result = yield* within(path)(bash("cat file; pwd"))
        expect(textOf(result)).toBe(`content\n${path}\n`)
        expect(result.details).toEqual({
          exitCode: 0,
          timedOut: false,
          bytes: Buffer.byteLength(`content\n${path}\n`),
          lines: 2,
          truncated: false
        })
      })
    )

    it.effect("stdout and stderr come in the order in which they were printed", () =>
      Effect.gen(function* () {
        const result = yield* bash("for i in $(seq 300); do echo out $i; echo err $i >&2; done")
        const expected = Array.from({ length: 300 }, (_, i) => `out ${i + 1}\nerr ${i + 1}\n`).join("")
        expect(textOf(result)).toBe(expected)
      })
    )

    it.effect("it is bash, and sh where there is no bash", () =>
      Effect.gen(function* () {
        const which = 'if [ -n "$BASH_VERSION" ]; then echo "bash $0"; else echo sh; fi'
        expect(textOf(yield* bash(which))).toBe("bash bash\n")
        const path = yield* folder()
        // dash or a like, by the name of sh; on a system where sh is bash too there is nothing to tell them apart by.
        const sh =
          ["/bin/dash", "/bin/busybox"].find((file) => spawnSync("test", ["-x", file]).status === 0) ?? "/bin/sh"
        yield* Effect.flatMap(FileSystem.FileSystem, (fs) => fs.symlink(sh, `${path}/sh`))
        const alone = yield* Effect.provideService(bash(which), Environment, { PATH: path })
        expect(textOf(alone)).toBe(sh === "/bin/sh" ? "bash sh\n" : "sh\n")

        // Where sh is a bash, it would tell of the death of its child in its own words.
        const other = yield* folder()
        yield* Effect.flatMap(FileSystem.FileSystem, (fs) => fs.symlink("/bin/bash", `${other}/sh`))
        const killed = yield* Effect.provideService(bash("kill -KILL $$"), Environment, { PATH: other })
        expect(textOf(killed)).toBe("(no output)\n\n[Exit code 137]")
      })
    )

    it.effect("a code that is not 0 is a result that ends with it; death by signal n is 128 + n", () =>
      Effect.gen(function* () {
        const cases = {
          "echo no; exit 3": ["no\n\n[Exit code 3]", 3],
          false: ["(no output)\n\n[Exit code 1]", 1],
          "kill -KILL $$": ["(no output)\n\n[Exit code 137]", 137],
          "kill -TERM $$": ["(no output)\n\n[Exit code 143]", 143],
          "kill -40 $$": [expect.stringMatching(/\[Exit code 168\]$/), 168],
          "sh -c 'kill -SEGV $$'": [expect.stringMatching(/\[Exit code 139\]$/), 139],
          "echo SIGHUP; kill -s TERM 0": ["SIGHUP\n\n[Exit code 143]", 143],
          "kill -9 0": ["(no output)\n\n[Exit code 137: killed by SIGKILL]", 137],
          nonesuch: [expect.stringMatching(/nonesuch: command not found\n\n\[Exit code 127\]$/), 127],
          if: [expect.stringMatching(/syntax error[^]*\[Exit code 2\]$/), 2]
        }
        for (const [command, [text, exitCode]] of Object.entries(cases)) {
          const result = yield* bash(command)
          expect({ command, text: textOf(result) }).toEqual({ command, text })
          expect({ command, ...detailsOf(result) }).toMatchObject({ command, exitCode, timedOut: false })
        }
      })
    )

    it.effect("no output, and one of blanks only, is told in words", () =>
      Effect.gen(function* () {
        for (const command of ["true", "echo", "printf ' \\n\\t\\n'"]) {
          expect({ command, text: textOf(yield* bash(command)) }).toEqual({ command, text: "(no output)" })
        }
      })
    )

    it.effect("bytes that are no text, and NUL, are shown by a sign", () =>
      Effect.gen(function* () {
        expect(textOf(yield* bash("printf 'a\\000b\\377c'"))).toBe("a\u2400b\ufffdc")
      })
    )

    it.effect("a shell that cannot be started is a failure that says why", () =>
      Effect.gen(function* () {
        const failed = (command: string) => failureOf(Bash.tool, { command })
        expect(yield* failed("echo a\0b")).toBe("A command cannot have a NUL character: printf can print one.")
        expect(yield* failed(`: ${"x".repeat(200_000)}`)).toBe(
          "The command is longer than the system takes. Write it to a file, and run that."
        )
        const path = yield* folder({ file: "" })
        expect(yield* Effect.provideService(failed("true"), Environment, { PATH: path })).toBe(
          "The command could not be started: spawn sh ENOENT"
        )
        expect(yield* within(`${path}/none`)(failed("true"))).toBe(
          `Cannot look at ${path}/none: there is no such file or folder.`
        )
        expect(yield* within(`${path}/file`)(failed("true"))).toBe(`The working directory ${path}/file is a file.`)
      })
    )
  })

  describe("processes", () => {
    it.effect("a command that reads its input finds it empty", () =>
      Effect.gen(function* () {
        expect(textOf(yield* bash("cat; read line; echo $?"))).toBe("1\n")
      })
    )

    it.effect("what stays in the background does not hold the result, and is ended", () =>
      Effect.gen(function* () {
        for (const [end, exitCode] of [
          ["", 0],
          ["; exit 4", 4]
        ] as const) {
          const { dead, path } = yield* deathWatch()
          const [time, result] = yield* Effect.timed(bash(`exec 3>${path}; sleep 30 & echo ok${end}`))
          expect(textOf(result)).toMatch(/^ok\n/)
          expect(detailsOf(result)).toMatchObject({ exitCode })
          expect(Duration.toSeconds(time)).toBeLessThan(10)
          yield* dead
        }
      })
    )

    it.effect("the result does not wait until killed processes have been collected", () =>
      Effect.gen(function* () {
        const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
        const collected = yield* Deferred.make<void>()
        const slow = ChildProcessSpawner.make((command) =>
          Effect.andThen(
            Effect.addFinalizer(() => Deferred.await(collected)),
            spawner.spawn(command)
          )
        )
        const result = yield* Effect.provideService(bash("echo ok"), ChildProcessSpawner.ChildProcessSpawner, slow)
        expect(textOf(result)).toBe("ok\n")
        yield* Deferred.succeed(collected, undefined)
      })
    )

    it.effect("what left the session stays, and holds neither the result nor this process", () =>
      Effect.gen(function* () {
        const { dead, path } = yield* deathWatch()
        const command = `exec 3>${path}; setsid sleep 60 & ${hasLeft}; echo $!`
        const alone = spawnSync(process.execPath, ["test/tools/alone.ts", command], {
          encoding: "utf8",
          timeout: 15_000
        })
        expect(alone).toMatchObject({ status: 0, signal: null, stderr: "" })
        const pid = Number.parseInt(alone.stdout, 10)
        expect(isRunning(pid)).toBe(true)
        process.kill(pid)
        yield* dead
      })
    )

    it.effect("no file stays open for what is left in the background", () =>
      Effect.gen(function* () {
        const file = `${yield* folder()}/pids`
        const open = () => readdirSync("/proc/self/fd").length
        yield* bash("true")
        const before = open()
        for (const command of ["sleep 60", "while :; do echo noise; done", "yes"]) {
          const start = (redirect: string) => `setsid sh -c '${command}' ${redirect} & ${hasLeft}; echo $! >>${file}`
          yield* bash(`${start(">/dev/null")}; ${start("")}`)
        }
        // They are closed while the groups end, in the background.
        while (open() > before) yield* Effect.sleep("10 millis")
        const pids = readFileSync(file, "utf8").trim().split("\n")
        expect(pids.length).toBe(6)
        for (const pid of pids) spawnSync("kill", ["-9", "--", `-${pid}`])
      })
    )

    it.effect("a background process that never stops printing does not hold the result", () =>
      Effect.gen(function* () {
        const result = yield* bash("while :; do echo noise; done & echo ok")
        expect(textOf(result)).toMatch(/(^|\n)ok\n/)
      })
    )

    it.effect("all that was printed before the end is there, however much is still on its way", () =>
      Effect.gen(function* () {
        for (let i = 0; i < 10; i++) {
          const result = yield* bash("head -c 300000 /dev/zero | tr '\\0' x; echo END")
          expect(detailsOf(result).bytes).toBe(300_004)
          expect(textOf(result)).toMatch(/xEND\n$/)
        }
      })
    )

    it.effect("keys of the agent are not in the environment, all else is", () =>
      Effect.gen(function* () {
        vi.stubEnv("ANTHROPIC_API_KEY", "sk-secret")
        vi.stubEnv("SOME_TOKEN", "secret")
        vi.stubEnv("HARMLESS", "kept")
        const text = textOf(yield* bash("env"))
        expect(text).not.toContain("secret")
        expect(text).toContain("HARMLESS=kept\n")
        expect(text).toContain(`PATH=${process.env["PATH"]}\n`)
      })
    )
  })

  // At once: each waits for the system to collect the dead.
  describe.concurrent("processes that are stopped", () => {
    it.effect("a command that is not done in time is stopped, and what it had printed is given", () =>
      Effect.gen(function* () {
        const { dead, path } = yield* deathWatch()
        const result = yield* bash(`exec 3>${path}; trap 'echo bye; exit' TERM; echo begun; sleep 30 & wait`, 0.3)
        expect(textOf(result)).toBe("begun\nbye\n\n[Stopped: it had not ended after 0.3 seconds.]")
        expect(detailsOf(result)).toMatchObject({ exitCode: null, timedOut: true })
        yield* dead
      })
    )

    it.effect("a command that ignores TERM is killed with its children", () =>
      Effect.gen(function* () {
        const { dead, path } = yield* deathWatch()
        const result = yield* bash(`exec 3>${path}; trap '' TERM; echo begun; sleep 30; sleep 30`, 0.3)
        expect(textOf(result)).toMatch(/^begun\n/)
        yield* dead
      })
    )

    it.effect("an interrupt ends the command and its children before it is done", () =>
      Effect.gen(function* () {
        const { dead, path } = yield* deathWatch()
        const pid = yield* interrupted(`exec 3>${path}; echo $$; sleep 30; sleep 30`)
        expect(isRunning(pid)).toBe(false)
        yield* dead
      })
    )

    it.effect("what ends when told so is not killed, and what nobody collects is not waited for", () =>
      Effect.gen(function* () {
        const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
        const signals: Array<unknown> = []
        const spawn: typeof spawner.spawn = (command) =>
          Effect.map(spawner.spawn(command), (handle) => ({
            ...handle,
            kill: (options) =>
              Effect.andThen(
                Effect.sync(() => signals.push(options?.killSignal)),
                handle.kill(options)
              )
          }))
        // The children of a shell that has died are nobody's: in some containers they stay listed for ever.
        yield* Effect.provideService(
          interrupted("sleep 30 & sleep 30 & echo $$; wait"),
          ChildProcessSpawner.ChildProcessSpawner,
          { ...spawner, spawn }
        )
        expect(signals).toEqual(["SIGTERM"])
      })
    )

    it.effect("what made a process group of its own is ended as well", () =>
      Effect.gen(function* () {
        for (const command of ["set -m; sleep 30 & echo $$; wait", "echo $$; timeout 30 sh -c 'sleep 30; sleep 30'"]) {
          const { dead, path } = yield* deathWatch()
          yield* interrupted(`exec 3>${path}; ${command}`)
          yield* dead
        }
        const { dead, path } = yield* deathWatch()
        const stubborn = "trap '' TERM; sleep 30; sleep 30"
        yield* interrupted(`exec 3>${path}; echo $$; timeout 30 sh -c "${stubborn}" & sh -c "${stubborn}"`)
        yield* dead
      })
    )

    it.effect("an interrupt also ends a command that ignores TERM", () =>
      Effect.gen(function* () {
        const { dead, path } = yield* deathWatch()
        const pid = yield* interrupted(`exec 3>${path}; trap '' TERM; echo $$; sleep 30; sleep 30`)
        expect(isRunning(pid)).toBe(false)
        yield* dead
      })
    )
  })

  describe("long output", () => {
    it.effect("100 MB are shown by their beginning and end, kept whole in a file, in bounded memory", () =>
      Effect.gen(function* () {
        const before = process.memoryUsage().rss
        let peak = before
        const update = () =>
          Effect.sync(() => {
            peak = Math.max(peak, process.memoryUsage().rss)
          })
        const command = `echo FIRST; head -c 100000000 /dev/zero | tr '\\0' x | fold -w 99; echo; echo LAST`
        const result = yield* bash(command, 60, update)
        const text = textOf(result)
        const details = detailsOf(result)
        expect(text).toMatch(/^FIRST\nx{99}\n/)
        expect(text).toMatch(/\nx{99}\nx+\nLAST\n$/)
        expect(text).toContain(
          `[The middle is left out of 101,010,113 bytes, 1,010,104 lines. All of it is in ${details.fullOutputPath}.]`
        )
        expect(Buffer.byteLength(text)).toBeLessThan(Bash.MAX_BYTES + 300)
        expect(details).toMatchObject({
          bytes: 101_010_113,
          lines: 1_010_104,
          truncated: true,
          fullOutputIsWhole: true
        })
        expect(peak - before).toBeLessThan(100_000_000)

        const again = spawnSync("sh", ["-c", `(${command}) | cmp - ${details.fullOutputPath}`], { encoding: "utf8" })
        expect(again).toMatchObject({ status: 0, stdout: "", stderr: "" })
        expect(statSync(dirname(details.fullOutputPath!)).mode & 0o777).toBe(0o700)
      })
    )

    it.effect("what is left out can be read with the tool that reads files, wherever it is kept", () =>
      Effect.gen(function* () {
        const root = yield* folder()
        const lines = yield* within(root)(
          Effect.gen(function* () {
            const { fullOutputPath } = detailsOf(yield* bash("seq 3000"))
            return yield* execute(Read.tool, { path: fullOutputPath!, offset: 1000, limit: 1 })
          })
        )
        expect(textOf(lines)).toMatch(/^1000\n/)
      })
    )

    it.effect("one line of 5 MB still shows its end", () =>
      Effect.gen(function* () {
        const result = yield* bash("printf 'START '; head -c 5000000 /dev/zero | tr '\\0' x; printf ' THE END'")
        const text = textOf(result)
        expect(text).toMatch(/^START x+…\n\n\[The middle is left out of 5,000,014 bytes, 1 line\./)
        expect(text).toMatch(/\]\n\n…x+ THE END$/)

        const followed = yield* bash("head -c 5000000 /dev/zero | tr '\\0' x; echo ' THE END'; echo done")
        expect(textOf(followed)).toMatch(/\]\n\n…x+ THE END\ndone\n$/)
      })
    )

    it.effect("many short lines are shown by the first and the last", () =>
      Effect.gen(function* () {
        const result = yield* bash("seq 3000")
        const text = textOf(result)
        const details = detailsOf(result)
        const [head, , tail] = text.split("\n\n")
        expect(head!.split("\n")).toEqual(Array.from({ length: 400 }, (_, i) => String(i + 1)))
        expect(tail!.trim().split("\n")).toEqual(Array.from({ length: 1600 }, (_, i) => String(i + 1401)))
        expect(details).toMatchObject({ lines: 3000, truncated: true, fullOutputIsWhole: true })
        const fs = yield* FileSystem.FileSystem
        expect(yield* fs.readFileString(details.fullOutputPath!)).toBe(
          Array.from({ length: 3000 }, (_, i) => `${i + 1}\n`).join("")
        )

        const exactly = yield* bash(`seq ${Bash.MAX_LINES}`)
        expect(detailsOf(exactly)).toMatchObject({ lines: Bash.MAX_LINES, truncated: false })
        expect(detailsOf(exactly).fullOutputPath).toBeUndefined()
      })
    )

    it.effect("a disk that cannot be written does not stop the command, and the text says what is kept", () =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const full = PlatformError.systemError({ _tag: "Unknown", module: "FileSystem", method: "writeAll" })
        const run = (some: Partial<FileSystem.FileSystem>) =>
          Effect.provideService(bash("seq 100000"), FileSystem.FileSystem, { ...fs, ...some })

        const none = yield* run({ makeTempFile: () => Effect.fail(full) })
        expect(detailsOf(none)).toMatchObject({ exitCode: 0, lines: 100_000, truncated: true })
        expect(textOf(none)).toContain("[The middle is left out of 588,895 bytes, 100,000 lines.]")

        let writes = 0
        const open: FileSystem.FileSystem["open"] = (...args) =>
          Effect.map(fs.open(...args), (file) => ({
            ...file,
            writeAll: (bytes: Uint8Array) => (writes++ === 0 ? file.writeAll(bytes) : Effect.fail(full))
          }))
        const some = yield* run({ open })
        expect(detailsOf(some)).toMatchObject({ exitCode: 0, lines: 100_000, fullOutputIsWhole: false })
        expect(textOf(some)).toMatch(/lines\. The start of it is in \//)
        expect(writes).toBe(2)
      })
    )
  })
})

/** A process whose output and end the test decides. */
const scripted = Effect.gen(function* () {
  const output = yield* Queue.unbounded<Uint8Array>()
  const exit = yield* Deferred.make<ChildProcessSpawner.ExitCode>()
  const handle = ChildProcessSpawner.makeHandle({
    // One that no process has: what runs under the number of a fake is not to be touched.
    pid: ChildProcessSpawner.ProcessId(2 ** 31),
    exitCode: Deferred.await(exit),
    isRunning: Effect.succeed(true),
    kill: () => Effect.void,
    stdin: undefined as never,
    stdout: Stream.fromQueue(output),
    stderr: Stream.empty,
    all: Stream.fromQueue(output),
    getInputFd: () => undefined as never,
    getOutputFd: () => Stream.empty,
    unref: Effect.succeed(Effect.void)
  })
  const spawner = ChildProcessSpawner.make(() => Effect.succeed(handle))
  return { spawner, print: (text: string) => Queue.offer(output, Buffer.from(text)), exit }
})

const running = Effect.fnUntraced(function* (timeout?: number) {
  const { exit, print, spawner } = yield* scripted
  const updates: Array<string> = []
  const first = yield* Deferred.make<void>()
  const update: Tool.Call["update"] = (partial) => {
    updates.push(partial as string)
    return Effect.asVoid(Deferred.succeed(first, undefined))
  }
  const fiber = yield* bash("command", timeout, update).pipe(
    Effect.provideService(ChildProcessSpawner.ChildProcessSpawner, spawner),
    Effect.provide(services),
    Effect.forkChild
  )
  yield* print("begin\n")
  yield* Deferred.await(first)
  return { exit, print, updates, fiber }
})

describe("bash, on a virtual clock", () => {
  plain.effect("updates come at once, and then at most ten a second with the end of the output", () =>
    Effect.gen(function* () {
      const { exit, fiber, print, updates } = yield* running()
      expect(updates).toEqual(["begin\n"])
      for (let i = 0; i < 1000; i++) {
        yield* print(`line ${i}\n`)
        yield* TestClock.adjust("1 millis")
      }
      expect(updates.length).toBeGreaterThanOrEqual(10)
      expect(updates.length).toBeLessThanOrEqual(11)
      for (const text of updates) expect(Buffer.byteLength(text)).toBeLessThanOrEqual(Bash.UPDATE_BYTES + 3)
      yield* TestClock.adjust("100 millis")
      expect(updates.at(-1)).toMatch(/^….*\nline 998\nline 999\n$/s)

      const told = updates.length
      yield* TestClock.adjust("10 seconds")
      expect(updates.length).toBe(told)

      yield* Deferred.succeed(exit, ChildProcessSpawner.ExitCode(0))
      yield* TestClock.adjust("1 seconds")
      expect(textOf(yield* Fiber.join(fiber))).toMatch(/^begin\nline 0\n/)
    })
  )

  plain.effect(`the timeout is ${Bash.DEFAULT_TIMEOUT} seconds, or what the call says`, () =>
    Effect.gen(function* () {
      for (const [timeout, seconds] of [
        [undefined, Bash.DEFAULT_TIMEOUT],
        [500, 500]
      ] as const) {
        const { fiber } = yield* running(timeout)
        yield* TestClock.adjust(`${seconds * 1000 - 1} millis`)
        expect(Option.fromNullishOr(fiber.pollUnsafe())).toEqual(Option.none())
        yield* TestClock.adjust("3 seconds")
        expect(textOf(yield* Fiber.join(fiber))).toBe(`begin\n\n[Stopped: it had not ended after ${seconds} seconds.]`)
      }
    })
  )
})
