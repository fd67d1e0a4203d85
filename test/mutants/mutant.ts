// A copy of the source with one fault, in a temporary folder, and the hunt for it.
import { spawn } from "node:child_process"
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import type { Fault } from "./faults.ts"
import type { Found } from "./hunt.ts"

const root = resolve(import.meta.dirname, "../..")

/** The source of a fault's file with the fault in it; undefined if its text is not there exactly once. */
export const mutate = async ({ file, text, replacement }: Fault): Promise<string | undefined> => {
  const parts = (await readFile(join(root, file), "utf8")).split(text)
  return parts.length === 2 ? parts.join(replacement) : undefined
}

/**
 * Hunts for a fault for so many seconds, or for nothing in the source as it is; undefined if the fault's text is not there.
 * A hunt that does not end is cut off.
 */
export const huntFor = async (fault: Fault | undefined, seconds: number, seed: string): Promise<Found | undefined> => {
  const source = fault && (await mutate(fault))
  if (fault !== undefined && source === undefined) return undefined
  const folder = await mkdtemp(join(tmpdir(), "effect-agent-mutant-"))
  try {
    for (const part of ["src", "package.json", "test/mutants"]) {
      await cp(join(root, part), join(folder, part), { recursive: true })
    }
    await symlink(join(root, "node_modules"), join(folder, "node_modules"))
    if (fault !== undefined && source !== undefined) await writeFile(join(folder, fault.file), source)
    return await run(folder, seconds, seed)
  } finally {
    await rm(folder, { recursive: true })
  }
}

const run = (folder: string, seconds: number, seed: string): Promise<Found> =>
  new Promise((done, fail) => {
    const hunt = join(folder, "test/mutants/hunt.ts")
    const child = spawn(process.execPath, [hunt, "--seconds", String(seconds), "--seed", seed], {
      stdio: ["ignore", "pipe", "inherit"],
      timeout: Math.ceil(seconds + 30) * 1000
    })
    let output = ""
    child.stdout.on("data", (chunk) => (output += String(chunk)))
    child.once("error", fail)
    child.once("close", (code) => {
      const last = output.trimEnd().split("\n").at(-1)
      if (code === 0 && last) done(JSON.parse(last) as Found)
      else fail(new Error(`The hunt ended with ${code ?? "a signal"}.`))
    })
  })
