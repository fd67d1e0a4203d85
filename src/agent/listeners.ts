/**
 * Listeners of an agent, called in the order in which they subscribed, each awaited before the next. One that dies is
 * reported to the log and changes nothing. A listener that gives nothing back costs no effect.
 */
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

export type Listener<A> = (event: A) => Effect.Effect<void> | void

/** How far a delivery has come. The listeners of an event are those that there were when it came, and still are. */
interface Cursor<A> {
  event: number
  listener: number
  entries: ReadonlyArray<Entry<A>>
}

/** The same function may be there twice. */
interface Entry<A> {
  readonly listener: Listener<A>
}

export class Listeners<A> {
  private all: ReadonlyArray<Entry<A>> = []

  /** Adds a listener, and gives what removes it again. */
  add(listener: Listener<A>): () => void {
    const own = { listener }
    this.all = [...this.all, own]
    return () => {
      this.all = this.all.filter((other) => other !== own)
    }
  }

  /** Tells events one after the other; `before` is called with each before its listeners are. */
  deliver(events: ReadonlyArray<A>, before: (event: A) => void): Effect.Effect<void> {
    const cursor: Cursor<A> = { event: 0, listener: 0, entries: this.all }
    const rest: Effect.Effect<void> = Effect.suspend(() => {
      const advanced = Result.try(() => this.advance(events, before, cursor))
      const waited = Result.isSuccess(advanced) ? advanced.success : Effect.die(advanced.failure)
      return waited === undefined ? Effect.void : Effect.andThen(Effect.catchCause(waited, report), rest)
    })
    return rest
  }

  /** Calls listeners up to the first that has to be waited for; gives what it gave. */
  private advance(
    events: ReadonlyArray<A>,
    before: (event: A) => void,
    cursor: Cursor<A>
  ): Effect.Effect<void> | undefined {
    for (; cursor.event < events.length; cursor.event++) {
      const event = events[cursor.event]!
      if (cursor.listener === 0) {
        before(event)
        cursor.entries = this.all
      }
      const { entries } = cursor
      while (cursor.listener < entries.length) {
        const entry = entries[cursor.listener++]!
        if (entries !== this.all && !this.all.includes(entry)) continue
        const waited = entry.listener(event)
        if (waited !== undefined && Effect.isEffect(waited)) return waited
      }
      cursor.listener = 0
    }
    return undefined
  }
}

const report = (cause: Cause.Cause<never>) => Effect.logError("A listener of an agent died", cause)
