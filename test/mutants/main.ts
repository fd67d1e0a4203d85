// Puts deliberate faults into a copy of the source, one at a time, and runs the simulation until it finds each:
//   node test/mutants/main.ts --seconds 60 --seed 1 --only poll
// Exit code 1 if one is not found in time, or its text is not in the source any more; and if something is found without
// any fault in the longest time that a hunt took, since then nothing else is proved.
import { parseArgs } from "node:util"
import { faults } from "./faults.ts"
import type { Found } from "./hunt.ts"
import { huntFor } from "./mutant.ts"

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    seed: { type: "string", default: "1" },
    only: { type: "string", default: "" }
  }
})

const sayHow = ({ worlds, runs, seconds }: Found) => `${worlds} worlds (${runs} runs), ${seconds.toFixed(1)} s`

let longest = 0
for (const fault of faults.filter(({ name }) => name.includes(values.only))) {
  const found = await huntFor(fault, Number(values.seconds), values.seed)
  if (found?.invariant === undefined) process.exitCode = 1
  if (found === undefined) {
    console.log(`${fault.name}: GONE, ${fault.file} does not have its text exactly once: ${fault.text.trim()}`)
    continue
  }
  longest = Math.max(longest, found.seconds)
  console.log(`${fault.name}: ${found.invariant === undefined ? "NOT FOUND" : "found"} after ${sayHow(found)}`)
  if (found.invariant !== undefined) console.log(`  ${found.invariant}: ${found.what}`)
}

const control = await huntFor(undefined, Math.ceil(longest), values.seed)
if (control?.invariant !== undefined) process.exitCode = 1
console.log(`without a fault: ${control!.invariant === undefined ? "nothing" : "FOUND"} after ${sayHow(control!)}`)
if (control?.invariant !== undefined) console.log(`  ${control.invariant}: ${control.what}`)
