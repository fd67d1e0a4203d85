/** Runs all benchmarks, each in a process of its own, into one table. The exit code is 1 if a bound is missed. */
import { spawnSync } from "node:child_process"
import { join } from "node:path"

const benchmarks = [
  "deltas",
  "arguments",
  "transcript",
  "concurrency",
  "tools",
  "agent",
  "anthropic",
  "files",
  "processes"
]

const failed = benchmarks.filter(
  (name) =>
    spawnSync(process.execPath, ["--expose-gc", join(import.meta.dirname, `${name}.ts`)], { stdio: "inherit" })
      .status !== 0
)
console.log(failed.length === 0 ? "\nEvery bound is kept." : `\nMissed a bound, or failed: ${failed.join(", ")}.`)
if (failed.length > 0) process.exitCode = 1
