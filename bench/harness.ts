/**
 * Times variants of one piece of work against each other, and holds their ratios against bounds.
 *
 * Rounds are interleaved, and the fastest one of each variant counts: what else the machine does only adds time. On two
 * busy cores the ratio of the minima stayed within 10 % from run to run, while that of the medians doubled. No garbage is
 * collected between rounds: a full collection throws optimized code away, which made short rounds five times as slow.
 */

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

/** Compares all variants with the first one, and prints the result. */
export const compare = async (title: string, variants: ReadonlyArray<Variant>): Promise<void> => {
  const fastest = variants.map(() => Infinity)
  const end = performance.now() + ENOUGH
  for (let round = 0; round === 0 || performance.now() < end; round++) {
    for (let i = 0; i < variants.length; i++) {
      const index = (i + round) % variants.length
      fastest[index] = Math.min(fastest[index]!, await time(variants[index]!))
    }
  }
  print(
    title,
    variants.map(({ name, atMost }, index) => ({
      name,
      value: fastest[index]!,
      unit: "ms",
      ratio: fastest[index]! / fastest[0]!,
      bound: atMost === undefined ? undefined : { of: "ratio", atMost }
    }))
  )
}

const time = async ({ name, run, count }: Variant): Promise<number> => {
  const start = performance.now()
  const done = await run()
  const ms = performance.now() - start
  if (done !== count) throw new Error(`"${name}" did ${done} things, not ${count}.`)
  return ms
}

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
