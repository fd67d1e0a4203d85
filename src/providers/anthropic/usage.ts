/**
 * The tokens of a response, from counts that come in parts: the first event has those of the request, later ones sums so
 * far, in which what is not known is null. The API's own counts are disjoint.
 */
import type { Usage } from "../../Message.ts"
import type { Tokens } from "../Prices.ts"
import { wireOf } from "./wire.ts"

/** What tokens cost, as far as that is known. */
export type TokenCost = (tokens: Tokens) => Usage["cost"]

export class UsageCount {
  private readonly costOf: TokenCost
  private input = 0
  private output = 0
  private cacheRead = 0
  private cacheWrite = 0
  private cacheWrite5m = 0
  private cacheWrite1h = 0

  constructor(costOf: TokenCost) {
    this.costOf = costOf
  }

  add(usage: unknown): void {
    const counts = wireOf(usage)
    this.input = later(this.input, counts["input_tokens"])
    this.output = later(this.output, counts["output_tokens"])
    this.cacheRead = later(this.cacheRead, counts["cache_read_input_tokens"])
    const written = wireOf(counts["cache_creation"])
    this.cacheWrite5m = later(this.cacheWrite5m, written["ephemeral_5m_input_tokens"])
    this.cacheWrite1h = later(this.cacheWrite1h, written["ephemeral_1h_input_tokens"])
    this.cacheWrite = later(this.cacheWrite, counts["cache_creation_input_tokens"])
    // Some gateways have only the parts of it.
    this.cacheWrite = later(this.cacheWrite, this.cacheWrite5m + this.cacheWrite1h)
  }

  get sum(): Usage {
    const { input, output, cacheRead, cacheWrite } = this
    const tokens = { input, output, cacheRead, cacheWrite, totalTokens: input + output + cacheRead + cacheWrite }
    const cost = this.costOf({ ...tokens, cacheWrite1h: this.cacheWrite1h })
    return cost === undefined ? tokens : { ...tokens, cost }
  }
}

/** A sum does not shrink: some servers send a zero in place of a null. */
const later = (known: number, count: unknown): number => (typeof count === "number" ? Math.max(known, count) : known)
