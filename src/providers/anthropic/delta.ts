/**
 * Reads the deltas of a block in the way in which the API writes them: nearly all events are deltas, and to parse what is
 * around their text is most of what an event costs. What is written in any other way is left to a parser.
 */
import * as Result from "effect/Result"

const AFTER = '"}}'

export class DeltaReader {
  private readonly before: string

  /** `type` is the kind of the deltas, `member` the one that has their text. */
  constructor(index: unknown, type: string, member: string) {
    this.before = `{"type":"content_block_delta","index":${index},"delta":{"type":"${type}","${member}":"`
  }

  /** The text of a delta, if it is one of this block in just this form. */
  read(data: string): string | undefined {
    const from = this.before.length
    const to = data.length - AFTER.length
    if (!data.startsWith(this.before) || !data.endsWith(AFTER)) return undefined
    if (!data.includes("\\", from)) return data.indexOf('"', from) === to ? data.slice(from, to) : undefined
    const literal = Result.try(() => JSON.parse(data.slice(from - 1, to + 1)) as unknown)
    return Result.isSuccess(literal) && typeof literal.success === "string" ? literal.success : undefined
  }
}
