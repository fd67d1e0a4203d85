/**
 * The tokens of a response, from counts that come in parts: the first event has those of the request, later ones sums so
 * far, in which what is not known is null. The API's own counts are disjoint.
 */
import type { Usage } from "../../Message.ts"

export class UsageCount {
  private input = 0
  private output = 0
  private cacheRead = 0
  private cacheWrite = 0

  add(usage: unknown): void {
    if (typeof usage !== "object" || usage === null) return
    const counts = usage as Readonly<Record<string, unknown>>
    this.input = later(this.input, counts["input_tokens"])
    this.output = later(this.output, counts["output_tokens"])
    this.cacheRead = later(this.cacheRead, counts["cache_read_input_tokens"])
    this.cacheWrite = later(this.cacheWrite, counts["cache_creation_input_tokens"])
  }

  get sum(): Usage {
    const { input, output, cacheRead, cacheWrite } = this
    return { input, output, cacheRead, cacheWrite, totalTokens: input + output + cacheRead + cacheWrite }
  }
}

/** A sum does not shrink: some servers send a zero in place of a null. */
const later = (known: number, count: unknown): number => (typeof count === "number" ? Math.max(known, count) : known)
