/**
 * What tokens cost in US dollars, by the price lists that `@pydantic/genai-prices` comes with. Nothing is fetched, and no
 * price stands here.
 *
 * A cost is a list price: discounts, batches and other tiers of service are not in it. What the lists do not have has no
 * cost, which is not the same as a cost of zero.
 */
import type { PriceCalculationResult, Usage as Counts } from "@pydantic/genai-prices"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Cost, Usage } from "../Message.ts"

/** A model by the name that its provider has for it, and the provider by the name that the lists have, such as `anthropic`. */
export interface Priced {
  readonly provider: string
  readonly model: string
}

export interface Tokens extends Omit<Usage, "cost"> {
  /** How many of `cacheWrite` are to be kept for an hour, which costs more. None unless given. */
  readonly cacheWrite1h?: number | undefined
}

/** The cost of tokens at an instant, in milliseconds since 1970; prices change. Undefined where it is not known. */
export type CostOf = (priced: Priced, tokens: Tokens, now: number) => Cost | undefined

/** Reads the lists, which takes a tenth of a second when it is done first. */
export const load: Effect.Effect<CostOf> = Effect.map(
  Effect.promise(() => import("@pydantic/genai-prices")),
  ({ calcPrice }): CostOf =>
    (priced, tokens, now) => {
      const options = { providerId: priced.provider, timestamp: DateTime.toDateUtc(DateTime.makeUnsafe(now)) }
      const calculate = (counts: Counts) => calcPrice(counts, priced.model, options)
      return Result.getOrUndefined(Result.try(() => costWith(calculate, priced.model, tokens)))
    }
)

type Calculate = (counts: Counts) => PriceCalculationResult

/**
 * The lists price all input of a request together, and by how much it is. So each kind of it is priced as if all were of that
 * kind, which gives the price of one token.
 */
const costWith = (calculate: Calculate, model: string, tokens: Tokens): Cost | undefined => {
  const all = tokens.input + tokens.cacheRead + tokens.cacheWrite
  const forAnHour = Math.min(tokens.cacheWrite1h ?? 0, tokens.cacheWrite)
  const known = calculate({ input_tokens: all, output_tokens: tokens.output })
  if (known === null || !isVersionOf(model, known.model.id)) return undefined
  const inputOf = (count: number, kinds: Counts) =>
    count === 0 ? 0 : ((calculate({ input_tokens: all, ...kinds })?.input_price ?? 0) / all) * count
  const input = inputOf(tokens.input, {})
  const output = known.output_price
  const cacheRead = inputOf(tokens.cacheRead, { cache_read_tokens: all })
  const cacheWrite =
    inputOf(tokens.cacheWrite - forAnHour, { cache_write_tokens: all }) +
    inputOf(forAnHour, { cache_write_tokens: all, cache_write_1h_tokens: all })
  return { input, output, cacheRead, cacheWrite, total: input + output + cacheRead + cacheWrite }
}

/**
 * The lists go by how names begin, and take `claude-sonnet-5-5` for `claude-sonnet-5`. A name that goes on with the number
 * of a version is that of another model; a date is none.
 */
const isVersionOf = (name: string, known: string): boolean =>
  !name.startsWith(known) || !/^[-.]?\d{1,2}(?!\d)/.test(name.slice(known.length))
