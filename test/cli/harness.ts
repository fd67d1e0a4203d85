// Runs the program inside the test: its outputs are texts that can be waited for, the files are real ones in a folder of
// the test's own.
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import * as PlatformError from "effect/PlatformError"
import * as Sink from "effect/Sink"
import * as Stdio from "effect/Stdio"
import * as Stream from "effect/Stream"
import type { AgentEvent } from "../../src/AgentEvent.ts"
import { program } from "../../src/cli/program.ts"
import type * as Scripted from "../../src/providers/Scripted.ts"

export interface World {
  readonly stdin?: Stream.Stream<Uint8Array, PlatformError.PlatformError>
  readonly terminals?: ReadonlyArray<"stdin" | "stdout" | "stderr">
  readonly env?: Readonly<Record<string, string>>
  /** What happens before a text for an output counts as written. */
  readonly beforeWrite?: (to: "stdout" | "stderr", text: string) => Effect.Effect<void, PlatformError.PlatformError>
}

/** The program with the world that it runs in, and what it has written so far. */
export const prepare = (args: ReadonlyArray<string>, world: World = {}) => {
  const written = { stdout: "", stderr: "" }
  const changed = Latch.makeUnsafe(false)
  const sink = (to: "stdout" | "stderr") =>
    Sink.forEach((chunk: string | Uint8Array) => {
      const text = String(chunk)
      return Effect.andThen(
        world.beforeWrite?.(to, text) ?? Effect.void,
        Effect.suspend(() => {
          written[to] += text
          return changed.open
        })
      )
    })
  const isTerminal = (name: "stdin" | "stdout" | "stderr") => Effect.succeed(world.terminals?.includes(name) ?? false)
  const stdio = Stdio.layerTest({
    stdin: world.stdin ?? Stream.empty,
    stdout: () => sink("stdout"),
    stderr: () => sink("stderr"),
    stdinIsTerminal: isTerminal("stdin"),
    stdoutIsTerminal: isTerminal("stdout"),
    stderrIsTerminal: isTerminal("stderr")
  })
  const config = ConfigProvider.layer(ConfigProvider.fromEnv({ env: world.env ?? {} }))
  return {
    written,
    /** Waits until an output has a text. */
    has: (to: "stdout" | "stderr", text: string) =>
      Effect.gen(function* () {
        while (!written[to].includes(text)) {
          yield* changed.close
          yield* changed.await
        }
      }),
    exitCode: program(args).pipe(Effect.provide(Layer.mergeAll(Layer.provideMerge(stdio, NodeServices.layer), config)))
  }
}

export const run = Effect.fnUntraced(function* (args: ReadonlyArray<string>, world?: World) {
  const { exitCode, written } = prepare(args, world)
  const code = yield* exitCode
  return { code, ...written }
})

/** Some files in a folder that is gone after the test. */
export const folder = (files: Readonly<Record<string, string>> = {}) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const root = yield* fs.makeTempDirectoryScoped({ prefix: "effect-agent-" })
    yield* Effect.forEach(Object.entries(files), ([name, text]) => fs.writeFileString(path.join(root, name), text))
    return root
  }).pipe(Effect.provide(NodeServices.layer))

/** The arguments that play a script, in front of others. */
export const playing = Effect.fnUntraced(function* (turns: Scripted.Script["turns"], ...args: ReadonlyArray<string>) {
  const root = yield* folder({ "script.json": JSON.stringify({ turns }) })
  return ["--script", `${root}/script.json`, ...args]
})

export const linesOf = (text: string): ReadonlyArray<AgentEvent> =>
  text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as AgentEvent)

export const bytes = (...texts: ReadonlyArray<string>) =>
  Stream.fromIterable(texts.map((text) => new TextEncoder().encode(text)))

/** How the system refuses a read or write. */
export const refusal = (code: string, message: string) =>
  PlatformError.systemError({
    module: "Stdio",
    method: "test",
    _tag: "Unknown",
    cause: Object.assign(new Error(message), { code })
  })
