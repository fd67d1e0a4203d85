// The Effect diagnostics, where any finding fails: effect-tsgo itself lets suggestions pass.
import { spawnSync } from "node:child_process"

const run = spawnSync("effect-tsgo", ["diagnostics", "--project", "tsconfig.json", "--format", "text"], {
  encoding: "utf8",
  stdio: ["ignore", "pipe", "inherit"]
})
process.stdout.write(run.stdout)
const clean = /^Checked [1-9].*\n0 errors, 0 warnings and 0 messages\.$/m.test(run.stdout)
process.exitCode = run.status === 0 && clean ? 0 : 1
