// The Effect diagnostics, where any finding fails: effect-tsgo itself lets suggestions pass.
import { spawnSync } from "node:child_process"

const run = spawnSync("effect-tsgo", ["diagnostics", "--project", "tsconfig.json", "--format", "text"], {
  encoding: "utf8",
  stdio: ["ignore", "pipe", "inherit"]
})

// What test/types promises is that the compiler refuses such lines; the diagnostics find in them what it does.
const isPromise = (line: string) => /test\/types\/.* effect\(missingEffect(Error|Context)\)/.test(line)
const findings = run.stdout.split("\n").filter((line) => / effect\(/.test(line) && !isPromise(line))

for (const finding of findings) console.log(finding)
const checked = /^Checked [1-9].*$/m.exec(run.stdout)?.[0]
console.log(checked ?? "Nothing was checked.", `${findings.length} findings.`)
process.exitCode = checked !== undefined && findings.length === 0 ? 0 : 1
