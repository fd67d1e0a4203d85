/**
 * What is kept of a conversation while no agent holds it: its transcript, and the messages that wait for the next run.
 * Written message by message, so that whatever ends an agent, nothing that was said is lost. Here in memory; a database
 * would be another layer.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Message } from "effect-agent/Message"

export interface Saved {
  readonly messages: ReadonlyArray<Message>
  readonly queued: ReadonlyArray<Message>
}

export class Store extends Context.Service<
  Store,
  {
    readonly has: (id: string) => Effect.Effect<boolean>
    /** What there is of a conversation; nothing where it was never begun. */
    readonly load: (id: string) => Effect.Effect<Saved>
    /** A message entered the transcript. If it was queued, it is no longer. */
    readonly append: (id: string, message: Message) => Effect.Effect<void>
    readonly queue: (id: string, message: Message) => Effect.Effect<void>
  }
>()("backend/Store") {
  static readonly memory: Layer.Layer<Store> = Layer.sync(Store, () => {
    const all = new Map<string, { messages: Array<Message>; queued: Array<Message> }>()
    const of = (id: string) => {
      const saved = all.get(id) ?? { messages: [], queued: [] }
      all.set(id, saved)
      return saved
    }
    return {
      has: (id) => Effect.sync(() => all.has(id)),
      load: (id) =>
        Effect.sync(() => {
          const { messages = [], queued = [] } = all.get(id) ?? {}
          return { messages: [...messages], queued: [...queued] }
        }),
      append: (id, message) =>
        Effect.sync(() => {
          const saved = of(id)
          saved.messages.push(message)
          saved.queued = saved.queued.filter((other) => other !== message)
        }),
      queue: (id, message) => Effect.sync(() => void of(id).queued.push(message))
    }
  })
}
