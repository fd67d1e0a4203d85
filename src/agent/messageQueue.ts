/**
 * Messages that wait to be delivered, each with a receipt. A message is in the queue, on its way (taken, but its
 * `message_end` has not come), or settled; what is still on its way when a run is over goes back to where it was.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Message } from "../Message.ts"

/** How many messages a poll takes: the oldest, or all. */
export type QueueMode = "one-at-a-time" | "all"

/** When a message entered the transcript (milliseconds since 1970), and in which turn of its run, counted from 1. */
export interface Delivery {
  readonly turn: number
  readonly timestamp: number
}

/** A queued message will not be delivered: it was withdrawn, its queue was cleared, or its agent is gone. */
export class NotDelivered extends Schema.TaggedError<NotDelivered>()("NotDelivered", {
  reason: Schema.Literals(["withdrawn", "cleared", "closed"])
}) {
  override get message() {
    return `The message was not delivered: ${reasons[this.reason]}.`
  }
}

const reasons = { withdrawn: "it was withdrawn", cleared: "its queue was cleared", closed: "its agent is closed" }

/** What who queued a message has of it. */
export interface Receipt {
  /** Waits until the message is in the transcript, or is certain not to be. */
  readonly delivered: Effect.Effect<Delivery, NotDelivered>
  /** Takes the message back; false where it was too late for that. */
  readonly withdraw: Effect.Effect<boolean>
}

interface Entry {
  readonly message: Message
  readonly settled: Deferred.Deferred<Delivery, NotDelivered>
}

export class MessageQueue {
  mode: QueueMode
  private waiting: Array<Entry> = []
  private onTheWay: Array<Entry> = []
  private isClosed = false

  constructor(mode: QueueMode) {
    this.mode = mode
  }

  get isEmpty(): boolean {
    return this.waiting.length === 0
  }

  add(message: Message): Receipt {
    const entry: Entry = { message, settled: Deferred.makeUnsafe() }
    if (this.isClosed) refuse([entry], "closed")
    else this.waiting.push(entry)
    return {
      delivered: Deferred.await(entry.settled),
      withdraw: Effect.sync(() => this.withdraw(entry))
    }
  }

  /** Takes as many messages as the mode says. They are on their way until they are settled or given back. */
  take(): ReadonlyArray<Message> {
    const taken = this.waiting.splice(0, this.mode === "all" ? this.waiting.length : 1)
    this.onTheWay = [...this.onTheWay, ...taken]
    return taken.map(({ message }) => message)
  }

  /** A message entered the transcript; if it is one of this queue, its receipt says so. */
  settle(message: Message, delivery: Delivery): void {
    const index = this.onTheWay.findIndex((entry) => entry.message === message)
    if (index < 0) return
    const [entry] = this.onTheWay.splice(index, 1)
    Deferred.doneUnsafe(entry!.settled, Effect.succeed(delivery))
  }

  /** Puts what did not arrive back to the front, in its order. */
  giveBack(): void {
    this.waiting = [...this.onTheWay, ...this.waiting]
    this.onTheWay = []
  }

  /** Empties the queue, and gives what tells those who wait for a receipt. They may queue again when they hear of it. */
  clear(): () => void {
    const cleared = this.waiting.splice(0)
    return () => refuse(cleared, "cleared")
  }

  close(): void {
    this.isClosed = true
    refuse([...this.onTheWay.splice(0), ...this.waiting.splice(0)], "closed")
  }

  private withdraw(entry: Entry): boolean {
    const index = this.waiting.indexOf(entry)
    if (index < 0) return false
    refuse(this.waiting.splice(index, 1), "withdrawn")
    return true
  }
}

const refuse = (entries: ReadonlyArray<Entry>, reason: NotDelivered["reason"]): void => {
  for (const { settled } of entries) Deferred.doneUnsafe(settled, Effect.fail(new NotDelivered({ reason })))
}
