/** Bash with an output of 1 GB, and Grep over 100,000 files beside ripgrep by hand: time, and memory above the start. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { rgPath } from "@vscode/ripgrep"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { spawn, spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type * as Tool from "../src/Tool.ts"
import * as Bash from "../src/tools/Bash.ts"
import * as Find from "../src/tools/Find.ts"
import * as Grep from "../src/tools/Grep.ts"
import { KeptOutput } from "../src/tools/KeptOutput.ts"
import { Workspace } from "../src/tools/Workspace.ts"
import { compareByClock, print, type Variant } from "./harness.ts"

const BYTES = 1_000_000_000
const FOLDERS = 100
const FILES = 1_000
const MAX_MB = 150

const root = mkdtempSync(join(tmpdir(), "effect-agent-bench-"))
process.on("exit", () => rmSync(root, { recursive: true, force: true }))

const services = Layer.mergeAll(Workspace.layer({ root }), KeptOutput.layer).pipe(
  Layer.provideMerge(NodeServices.layer)
)

const details = <P>(tool: Tool.Tool<P, Layer.Success<typeof services>>, params: P): Promise<unknown> =>
  tool.execute(params, { id: "call_1", update: () => Effect.void }).pipe(
    Effect.map((result) => (typeof result === "string" ? undefined : result.details)),
    Effect.provide(services),
    Effect.runPromise
  )

/** Runs something, and gives the greatest memory of this process meanwhile above that at the start. */
const peakMB = async (run: () => Promise<unknown>): Promise<number> => {
  globalThis.gc?.()
  const before = process.memoryUsage().rss
  let peak = before
  const timer = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 5)
  await run()
  clearInterval(timer)
  return (Math.max(peak, process.memoryUsage().rss) - before) / 1024 / 1024
}

const memory = async (name: string, run: () => Promise<unknown>) => {
  const value = await peakMB(run)
  return { name, value, unit: "MB", ratio: 1, bound: { of: "value", atMost: MAX_MB } } as const
}

/** What a person would type, read to its end. */
const byHand = (args: ReadonlyArray<string>, separator: number): Promise<number> =>
  new Promise((resolve) => {
    let count = 0
    const child = spawn(rgPath, args, { cwd: root, stdio: ["ignore", "pipe", "inherit"] })
    child.stdout.on("data", (chunk: Buffer) => {
      for (const byte of chunk) if (byte === separator) count++
    })
    child.on("close", () => resolve(count))
  })

const countOf = async (result: Promise<unknown>, field: string): Promise<number> =>
  Number(((await result) as Record<string, unknown>)[field])

// ---------------------------------------------------------------------------------------------------------------------

const started = performance.now()
const bash = await memory("bash: memory above the start", () =>
  details(Bash.tool, { command: `yes "a line of a long output" | head -c ${BYTES}`, timeout: 600 })
)
const took = performance.now() - started
const piped = performance.now()
spawnSync("sh", ["-c", `yes "a line of a long output" | head -c ${BYTES} | cat >/dev/null`])
print(`bash, an output of ${BYTES / 1e9} GB`, [
  bash,
  { name: "bash: time, beside a pipe to cat", value: took, unit: "ms", ratio: took / (performance.now() - piped) }
])

for (let i = 0; i < FOLDERS; i++) {
  mkdirSync(join(root, `folder${i}`))
  for (let j = 0; j < FILES; j++) {
    const line = j % FILES === i ? "a needle\n" : ""
    writeFileSync(join(root, `folder${i}`, `file${j}.txt`), `some text\n${line}${"hay and more hay\n".repeat(20)}`)
  }
}

const common = ["--no-config", "--hidden", "--no-require-git", "--glob=!.git"]
const search: ReadonlyArray<Variant> = [
  { name: "ripgrep by hand", run: () => byHand([...common, "-n", "needle", "./"], 10), count: FOLDERS },
  {
    name: "grep",
    run: () => countOf(details(Grep.tool, { pattern: "needle", limit: 1000 }), "matches"),
    count: FOLDERS,
    atMost: 1.2
  },
  {
    name: "grep, with a glob",
    run: () => countOf(details(Grep.tool, { pattern: "needle", limit: 1000, glob: "**/*.txt" }), "matches"),
    count: FOLDERS
  }
]
const total = FOLDERS * FILES
await compareByClock(`grep over ${total} files, ${FOLDERS} matches`, search)
await compareByClock(`find among ${total} files`, [
  { name: "ripgrep --files by hand", run: () => byHand([...common, "--files", "./"], 10), count: total },
  { name: "find", run: () => countOf(details(Find.tool, { pattern: "*.txt", limit: 1000 }), "total"), count: total }
])
print(`memory over ${total} files`, [
  await memory("grep, few matches", () => details(Grep.tool, { pattern: "needle", limit: 1000 })),
  await memory("grep, a match in every line", () => details(Grep.tool, { pattern: "hay|text", limit: 1000 })),
  await memory("find, all files", () => details(Find.tool, { pattern: "*", limit: 1000 }))
])
