/**
 * What the calls of a batch report to the program that waits for them. A plain list, since most calls have reported
 * before the program waits; one who needs its reports delivered first can wait for that.
 */
import * as Effect from "effect/Effect"

/** Passed when all that was reported before it has been delivered. */
class Barrier {
  readonly pass: () => void

  constructor(pass: () => void) {
    this.pass = pass
  }
}

export class Reports<A> {
  private pending: Array<A | Barrier> = []
  /** Taken in with the reports before them, which are delivered when the program waits again. */
  private barriers: Array<Barrier> = []
  private wake: (() => void) | undefined

  get size(): number {
    return this.pending.length
  }

  add(report: A | Barrier): void {
    this.pending.push(report)
    const { wake } = this
    this.wake = undefined
    wake?.()
  }

  /** Waits until all reports so far have been delivered. */
  readonly delivered: Effect.Effect<void> = Effect.callback((resume) =>
    this.add(new Barrier(() => resume(Effect.void)))
  )

  /** Waits until there are reports. For the program: who waits here has delivered all that it took before. */
  readonly some: Effect.Effect<void> = Effect.callback((resume) => {
    const { barriers } = this
    this.barriers = []
    for (const barrier of barriers) barrier.pass()
    if (this.pending.length > 0) return resume(Effect.void)
    this.wake = () => resume(Effect.void)
  })

  takeAll(): ReadonlyArray<A> {
    const taken = this.pending
    this.pending = []
    return taken.filter((report): report is A => !(report instanceof Barrier && this.barriers.push(report)))
  }
}
