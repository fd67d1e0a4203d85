// What tokens cost: the sum that the price lists give, in its four parts, and nothing where they have nothing.
import { calcPrice } from "@pydantic/genai-prices"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Prices from "../../src/providers/Prices.ts"

const now = Date.parse("2026-11-30T12:00:00Z")

const Count = Schema.Literals([0, 1, 17, 1_000, 150_000, 900_000])

const tokensOf = (input: number, output: number, cacheRead = 0, cacheWrite = 0, cacheWrite1h = 0): Prices.Tokens => ({
  input,
  output,
  cacheRead,
  cacheWrite,
  cacheWrite1h,
  totalTokens: input + output + cacheRead + cacheWrite
})

const costOf = (model: string, tokens: Prices.Tokens, provider = "anthropic", at = now) =>
  Effect.map(Prices.load, (costOf) => costOf({ provider, model }, tokens, at))

const models = [
  "claude-opus-5-5",
  "claude-sonnet-4-5",
  "claude-opus-4-6",
  "claude-haiku-4-5-20251001",
  "claude-sonnet-5"
]

describe("the cost", () => {
  it.effect.prop(
    "in its four parts is what the lists say of the whole",
    [Schema.Literals(models), Count, Count, Count, Count, Schema.Literals([0, 0.3, 1])],
    ([model, input, output, cacheRead, cacheWrite, share]) =>
      Effect.gen(function* () {
        const forAnHour = Math.floor(cacheWrite * share)
        const cost = (yield* costOf(model, tokensOf(input, output, cacheRead, cacheWrite, forAnHour)))!
        const counts = {
          input_tokens: input + cacheRead + cacheWrite,
          output_tokens: output,
          cache_read_tokens: cacheRead,
          cache_write_tokens: cacheWrite,
          cache_write_1h_tokens: forAnHour
        }
        const whole = calcPrice(counts, model, { providerId: "anthropic", timestamp: new Date(now) })!
        expect(cost.total).toBeCloseTo(whole.total_price, 9)
        expect(cost.output).toBe(whole.output_price)
        expect(cost.input + cost.cacheRead + cost.cacheWrite).toBeCloseTo(whole.input_price, 9)
        for (const [count, part] of [
          [input, cost.input],
          [cacheRead, cost.cacheRead],
          [cacheWrite, cost.cacheWrite]
        ] as const) {
          expect(part > 0).toBe(count > 0)
        }
      })
  )

  it.effect("of a kept token is less to read, more to write, and most to write for an hour", () =>
    Effect.gen(function* () {
      for (const model of models) {
        const of = (tokens: Prices.Tokens) => Effect.map(costOf(model, tokens), (cost) => cost!.total)
        const [read, plain, written, forAnHour] = [
          yield* of(tokensOf(0, 0, 1_000)),
          yield* of(tokensOf(1_000, 0)),
          yield* of(tokensOf(0, 0, 0, 1_000)),
          yield* of(tokensOf(0, 0, 0, 1_000, 1_000))
        ]
        expect([read, plain, written, forAnHour]).toEqual([read, plain, written, forAnHour].toSorted((a, b) => a - b))
        expect(new Set([read, plain, written, forAnHour]).size).toBe(4)
      }
    })
  )

  it.effect("is that of the instant: prices change", () =>
    Effect.gen(function* () {
      const tokens = tokensOf(500_000, 0)
      const [before, after] = [
        yield* costOf("claude-opus-4-6", tokens, "anthropic", Date.parse("2026-02-10")),
        yield* costOf("claude-opus-4-6", tokens)
      ]
      expect(before!.total).toBeGreaterThan(after!.total)
    })
  )

  it.effect("of no tokens is zero", () =>
    Effect.gen(function* () {
      const zero = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 }
      expect(yield* costOf("claude-opus-5", tokensOf(0, 0))).toEqual(zero)
    })
  )
})

describe("no cost", () => {
  it.effect.each([
    "claude-nope-9",
    "qwen3:8b",
    "gpt-5",
    "",
    "claude-sonnet-5-5",
    "claude-opus-4-75",
    "claude-sonnet-5.9"
  ])("has the model %j, which the lists do not have", (model) =>
    Effect.gen(function* () {
      expect(yield* costOf(model, tokensOf(1, 1))).toBeUndefined()
    })
  )

  it.effect.each([
    "claude-sonnet-5-20260901",
    "claude-sonnet-4-20250514",
    "claude-opus-4-5@20251101",
    "claude-sonnet-5"
  ])("is not that of %j, which is a version of a model that they have", (model) =>
    Effect.gen(function* () {
      expect((yield* costOf(model, tokensOf(1, 1)))?.total).toBeGreaterThan(0)
    })
  )

  it.effect("has a model of a provider that nobody knows, and what is no number of tokens", () =>
    Effect.gen(function* () {
      expect(yield* costOf("claude-opus-5", tokensOf(1, 1), "nobody")).toBeUndefined()
      for (const count of [NaN, -1, Infinity]) {
        expect(yield* costOf("claude-opus-5", tokensOf(count, 1))).toBeUndefined()
        expect(yield* costOf("claude-opus-5", tokensOf(1, count))).toBeUndefined()
      }
    })
  )
})
