// What npm would publish: publint and attw find nothing, every public module loads, the closed ones do not resolve.
// attw passes over "./*" in the exports, so it is told the public modules by name.
import { spawnSync } from "node:child_process"
import { globSync } from "node:fs"

const isClosed = (module: string) =>
  /^(cli|agent|providers\/(anthropic|offline|scripted)|testing\/(invariants|simulation))\/|(^|\/)internal\/|(^|\/)index$/.test(
    module
  )
const modules = globSync("dist/**/*.js").map((file) => file.slice("dist/".length, -".js".length))
const open = modules.filter((module) => !isClosed(module))
const closed = modules.filter(isClosed)

const run = (command: string, ...args: Array<string>) =>
  spawnSync(command, args, { stdio: ["ignore", "inherit", "inherit"] }).status === 0

const loads = (specifier: string) =>
  import(specifier).then(
    () => true,
    (error) => (console.error(`${specifier} does not load:`, error), false)
  )

const isOutOfReach = (specifier: string) => {
  try {
    console.error(`${specifier} should be closed, but is ${import.meta.resolve(specifier)}`)
    return false
  } catch {
    return true
  }
}

const attwOptions = ["--pack", ".", "--profile", "esm-only", "--format", "table-flipped", "--no-summary"]
const results = [
  modules.length > 0,
  run("publint", "--strict"),
  run("attw", ...attwOptions, "--include-entrypoints", ...open),
  ...(await Promise.all(["effect-agent", "effect-agent/testing", ...open.map((m) => `effect-agent/${m}`)].map(loads))),
  ...closed.map((module) => isOutOfReach(`effect-agent/${module}`))
]
process.exitCode = results.every(Boolean) ? 0 : 1
