/** The tools for files: read and edit against the bare calls of `node:fs` that they need, and the memory of large reads. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { closeSync, mkdtempSync, openSync, rmSync, truncateSync, writeFileSync, writeSync } from "node:fs"
import { chmod, open, rename } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Edit from "../src/tools/Edit.ts"
import * as Read from "../src/tools/Read.ts"
import { Workspace } from "../src/tools/Workspace.ts"
import { compare, print } from "./harness.ts"

const root = mkdtempSync(join(tmpdir(), "effect-agent-bench-"))
const services = await Effect.runPromise(
  Effect.scoped(Layer.build(Layer.provideMerge(Workspace.layer({ root }), NodeServices.layer)))
)
const run = <A, E>(effect: Effect.Effect<A, E, Layer.Success<typeof NodeServices.layer> | Workspace>) =>
  Effect.runPromise(Effect.provideContext(effect, services))
const call = { id: "call", update: () => Effect.void }

const line = `${"x".repeat(99)}\n`
const file = join(root, "file")
writeFileSync(file, `one\n${line.repeat(1024)}`)

// ---------------------------------------------------------------------------------------------------------------------
// Time
// ---------------------------------------------------------------------------------------------------------------------

/** Calls in one round: few, so that some rounds fall into moments when the machine does nothing else. */
const CALLS = 20

const readBare = async () => {
  const handle = await open(file)
  const { size } = await handle.stat()
  const { buffer } = await handle.read(Buffer.allocUnsafe(size), 0, size, 0)
  await handle.close()
  return buffer.toString("utf8")
}

const repeat = (work: () => Promise<unknown>) => async () => {
  for (let n = 0; n < CALLS; n++) await work()
  return CALLS
}

await compare("Read 100 KB: at most 3 times the bare calls", [
  { name: "open, stat, read, close, decode", run: repeat(readBare), count: CALLS },
  {
    name: "read",
    run: () => run(Effect.as(Effect.repeat(Read.tool.execute({ path: "file" }, call), { times: CALLS - 1 }), CALLS)),
    count: CALLS,
    atMost: 3
  }
])

const words = ["one", "two"] as const
let isTwo = false
const swap = () => {
  isTwo = !isTwo
  return isTwo ? words : ([words[1], words[0]] as const)
}

const editBare = async () => {
  const [before, after] = swap()
  const text = (await readBare()).replace(before, () => after)
  const temporary = join(root, "temporary")
  const handle = await open(temporary, "wx", 0o600)
  await handle.write(Buffer.from(text))
  await chmod(temporary, 0o644)
  await handle.sync()
  await handle.close()
  await rename(temporary, file)
}

const edit = Effect.suspend(() => {
  const [oldText, newText] = swap()
  return Edit.tool.execute({ path: "file", edits: [{ oldText, newText }] }, call)
})

await compare("Edit 100 KB: at most 4 times the bare calls", [
  { name: "the same, replace, open, write, chmod, sync, close, rename", run: repeat(editBare), count: CALLS },
  {
    name: "edit",
    // What was done by hand between the rounds is not to be noticed as somebody else's change.
    run: () =>
      run(
        Effect.andThen(
          Read.tool.execute({ path: "file" }, call),
          Effect.as(Effect.repeat(edit, { times: CALLS - 1 }), CALLS)
        )
      ),
    count: CALLS,
    atMost: 4
  }
])

// ---------------------------------------------------------------------------------------------------------------------
// Memory
// ---------------------------------------------------------------------------------------------------------------------

const GIGABYTES_2 = 2 * 1024 ** 3
const large = join(root, "large")
const handle = openSync(large, "w")
const block = Buffer.from(line.repeat(Math.floor((64 * 1024 ** 2) / line.length)))
let lines = 0
for (let size = 0; size < GIGABYTES_2; size += block.length) {
  writeSync(handle, block)
  lines += block.length / line.length
}
closeSync(handle)
const sparse = join(root, "sparse")
writeFileSync(sparse, line.repeat(10_000))
truncateSync(sparse, GIGABYTES_2)

/** How much more memory there is at its peak than before, in MB. */
const peakOf = async (work: () => Promise<unknown>) => {
  globalThis.gc?.()
  const before = process.memoryUsage.rss()
  let peak = before
  const timer = setInterval(() => (peak = Math.max(peak, process.memoryUsage.rss())), 2)
  await work()
  clearInterval(timer)
  return (Math.max(peak, process.memoryUsage.rss()) - before) / 1024 ** 2
}

const memory = async (name: string, path: string, offset: number, expected: RegExp) => {
  let said = ""
  const value = await peakOf(() =>
    run(
      Effect.match(Read.tool.execute({ path, offset, limit: 100 }, call), {
        onSuccess: (result) => void (said = JSON.stringify(result)),
        onFailure: ({ message }) => void (said = message)
      })
    )
  )
  if (!expected.test(said)) throw new Error(`"${name}" gave ${said.slice(0, 200)}.`)
  return { name, value, unit: "MB", ratio: 1, bound: { of: "value", atMost: 150 } } as const
}

print("Read of 2 GB: memory above the start", [
  await memory("from the first line", "large", 1, /"lines":100/),
  await memory("from the middle", "large", Math.floor(lines / 2), /"lines":100/),
  await memory("the last 100 lines", "large", lines - 99, new RegExp(`"totalLines":${lines}`)),
  await memory("past the end", "large", lines + 1, /is past the end/),
  await memory("a hole after 10,000 lines: before it", "sparse", 1, /"lines":100/),
  await memory("a hole after 10,000 lines: in it", "sparse", 20_000, /is a binary file/)
])

rmSync(root, { recursive: true })
