/**
 * Compares variants of one piece of work, and holds their ratios against bounds.
 *
 * What counts is the processor time of a round, of all threads, and of all rounds the lower decile; rounds are interleaved.
 * On a busy machine that stays within 5 % from run to run, where clock time doubles. No garbage is collected between
 * rounds: a full collection throws optimized code away, which made short rounds five times as slow.
 */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"

export interface Variant {
  readonly name: string
  /** One round; gives how many things it did. */
  readonly run: () => Promise<number>
  /** How many things it must do. */
  readonly count: number
  /** The greatest ratio to the first variant. */
  readonly atMost?: number | undefined
}

export interface Row {
  readonly name: string
  readonly value: number
  readonly unit: "ms" | "MB" | "KB"
  readonly ratio: number
  /** What `value` or `ratio` is held against, and the greatest allowed. */
  readonly bound?: { readonly of: "value" | "ratio"; readonly atMost: number } | undefined
}

/** How long the rounds of a comparison go on, in milliseconds; there is one in any case. */
const ENOUGH = 6_000

/** In a process for one variant: which one that is. */
const only = process.argv[2] as `${number} ${string}` | undefined

/** Compares all variants with the first one, in this process. */
export const compare = (title: string, variants: ReadonlyArray<Variant>): Promise<void> =>
  compareHere(title, variants, processorTime)

/** The same for work that is done in other processes, whose processor time is not ours: by the clock. */
export const compareByClock = (title: string, variants: ReadonlyArray<Variant>): Promise<void> =>
  compareHere(title, variants, () => performance.now())

const compareHere = async (title: string, variants: ReadonlyArray<Variant>, now: () => number): Promise<void> => {
  if (only !== undefined) return
  const costs = await roundsOf(variants.map((variant) => () => costOf(variant, now)))
  printRatios(title, variants, costs)
}

/** Of all threads, in milliseconds. */
const processorTime = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/**
 * Compares all variants with the first one, each in a process of its own, where no other has made the collector's work
 * harder or the compiler's guesses worse.
 */
export const compareApart = async (title: string, variants: ReadonlyArray<Variant>): Promise<void> => {
  for (const [index, variant] of variants.entries()) if (only === `${index} ${title}`) return serve(variant)
  if (only !== undefined) return
  const children = variants.map((_, index) => fork(process.argv[1]!, [`${index} ${title}`]))
  for (const child of children) child.once("exit", (code) => code && process.exit(code))
  await Promise.all(children.map((child) => once(child, "message")))
  const costs = await roundsOf(children.map((child) => () => ask(child)))
  for (const child of children) child.kill()
  printRatios(title, variants, costs)
}

const serve = (variant: Variant): Promise<never> => {
  process.on("message", () => void costOf(variant, processorTime).then((cost) => process.send!(cost)))
  process.send!("ready")
  return new Promise(() => {})
}

const ask = async (child: ChildProcess): Promise<number> => {
  child.send("round")
  const [cost] = await once(child, "message")
  return cost
}

const costOf = async ({ name, run, count }: Variant, now: () => number): Promise<number> => {
  const start = now()
  const done = await run()
  const cost = now() - start
  if (done !== count) throw new Error(`"${name}" did ${done} things, not ${count}.`)
  return cost
}

const roundsOf = async (variants: ReadonlyArray<() => Promise<number>>): Promise<ReadonlyArray<number>> => {
  const costs = variants.map((): Array<number> => [])
  const end = performance.now() + ENOUGH
  for (let round = 0; round === 0 || performance.now() < end; round++) {
    for (let i = 0; i < variants.length; i++) {
      const index = (i + round) % variants.length
      costs[index]!.push(await variants[index]!())
    }
  }
  return costs.map(lowerDecile)
}

const lowerDecile = (values: ReadonlyArray<number>): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 10)]!

const printRatios = (title: string, variants: ReadonlyArray<Variant>, costs: ReadonlyArray<number>): void =>
  print(
    title,
    variants.map(({ name, atMost }, index) => ({
      name,
      value: costs[index]!,
      unit: "ms",
      ratio: costs[index]! / costs[0]!,
      bound: atMost === undefined ? undefined : { of: "ratio", atMost }
    }))
  )

/** Prints rows of the table. A bound that is missed makes the exit code 1. */
export const print = (title: string, rows: ReadonlyArray<Row>): void => {
  console.log(`\n${title}`)
  for (const row of rows) {
    const value = `${row.value.toFixed(row.unit === "MB" ? 0 : 2)} ${row.unit}`
    console.log(`  ${row.name.padEnd(58)} ${value.padStart(12)} ${row.ratio.toFixed(2).padStart(8)}${verdict(row)}`)
  }
}

const verdict = (row: Row): string => {
  if (row.bound === undefined) return ""
  const { of, atMost } = row.bound
  const holds = row[of] <= atMost
  if (!holds) process.exitCode = 1
  return `   ${holds ? "ok" : "MISSED"}: at most ${atMost}${of === "value" ? ` ${row.unit}` : ""}`
}
