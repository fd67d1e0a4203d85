/**
 * What a run has used, in words for a person: a line on standard error after all else. A cost that is not known is not a
 * cost of nothing, and is not shown as one.
 */
import type { Usage } from "../Message.ts"
import type { Format } from "./print.ts"

/** The same format, with the usage after the end of the run. */
export const withUsage = <State>({ initial, step }: Format<State>): Format<State> => ({
  initial,
  step: (state, event) => {
    const [next, writes] = step(state, event)
    return event.type === "agent_end"
      ? [next, [...writes, { to: "stderr", text: `${describe(event.usage)}\n` }]]
      : [next, writes]
  }
})

/** `1,234 tokens in, 56 out, 7,890 read from the cache, 0 written to it: $0.0123` */
export const describe = ({ input, output, cacheRead, cacheWrite, totalTokens, cost }: Usage): string => {
  if (totalTokens === 0) return "No tokens were counted."
  const [read, written] = [count(cacheRead), count(cacheWrite)]
  const tokens = `${count(input)} tokens in, ${count(output)} out, ${read} read from the cache, ${written} written to it`
  return `${tokens}: ${cost === undefined ? "the cost is not known" : dollars(cost.total)}`
}

const count = (tokens: number): string => tokens.toLocaleString("en-US")

const dollars = (amount: number): string =>
  amount > 0 && amount < LEAST ? `less than $${LEAST}` : `$${amount.toFixed(DIGITS)}`

const DIGITS = 4
const LEAST = 10 ** -DIGITS
