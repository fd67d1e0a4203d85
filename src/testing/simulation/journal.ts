/**
 * Writes down what happens in a simulated world, and keeps a copy of everything that was handed out, to see later whether
 * it has changed.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as JsonPatch from "effect/JsonPatch"
import type * as Schema from "effect/Schema"
import type { AgentEvent } from "../../AgentEvent.ts"
import type { ProviderRequest } from "../../services/Provider.ts"
import type { Activity, Alive, Entry, Moment, Outcome, Received, Request } from "../Recording.ts"
import type { World } from "../World.ts"
import type { Machine } from "./machine.ts"

/** An activity while it goes on. */
export interface Ongoing extends Activity {
  settled?: Moment | undefined
  outcome?: Outcome | undefined
  result?: unknown
  readonly shields: Array<{ readonly from: Moment; to?: Moment | undefined }>
}

export type About = Pick<Activity, "kind" | "name" | "callId" | "isReal" | "given"> & {
  readonly parent?: Ongoing | undefined
}

type EntryOf = Entry extends infer E ? (E extends Entry ? Omit<E, "at"> : never) : never

interface Kept {
  readonly what: string
  readonly value: unknown
  readonly text: string
}

export class Journal {
  readonly log: Array<Entry> = []
  readonly events: Array<Received> = []
  readonly requests: Array<Request> = []
  readonly activities: Array<Ongoing> = []
  /** Called after each entry with its position. */
  onEntry: (position: number) => void = () => {}

  private readonly machine: Machine
  private readonly world: Pick<World, "dies" | "fails">
  private readonly kept: Array<Kept> = []

  constructor(machine: Machine, world: Pick<World, "dies" | "fails">) {
    this.machine = machine
    this.world = world
  }

  get moment(): Moment {
    return { at: this.machine.now, position: this.log.length }
  }

  write(entry: EntryOf): Moment {
    const moment = this.moment
    this.log.push({ at: moment.at, ...entry } as Entry)
    this.onEntry(moment.position)
    return moment
  }

  receive(event: AgentEvent): number {
    const index = this.events.length
    this.keep(`event ${index} (${event.type})`, event)
    this.events.push({ ...this.moment, event })
    this.write({ type: "event", index })
    return index
  }

  request(request: ProviderRequest): void {
    this.keep(`the messages of request ${this.requests.length}`, request.messages)
    this.requests.push({ ...this.moment, request })
  }

  begin({ parent, ...about }: About): Ongoing {
    const activity: Ongoing = {
      id: this.activities.length,
      ...about,
      callId: about.callId ?? parent?.callId,
      parent: parent?.id,
      began: this.moment,
      shields: []
    }
    if (about.kind === "hook") this.keep(`what ${about.name} was given`, about.given)
    this.activities.push(activity)
    this.write({ type: "begin", activity: activity.id })
    return activity
  }

  settle(activity: Ongoing, outcome: Outcome, result?: unknown): void {
    if (activity.settled !== undefined) return
    activity.settled = this.moment
    activity.outcome = outcome
    activity.result = result
    this.write({ type: "settle", activity: activity.id })
  }

  /** Runs an effect as an activity. Its beginning and its end are written down whenever it is interrupted. */
  track<A, E, R>(about: About, body: (activity: Ongoing) => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.uninterruptibleMask((restore) =>
      Effect.suspend(() => {
        const activity = this.begin(about)
        const dies = this.world.dies === activity.began.position && ["hook", "tool", "pull"].includes(about.kind)
        const played = dies ? Effect.die(new Error("the world says that it dies")) : body(activity)
        return Effect.onExit(restore(played), (exit) => Effect.sync(() => this.settleWith(activity, exit)))
      })
    )
  }

  /** The same effect, or the failure that the world wants in its place. */
  orFail<A, E, R>(activity: Ongoing, effect: Effect.Effect<A, E, R>, failure: (message: string) => E) {
    const fails = this.world.fails === activity.began.position
    return fails ? Effect.fail(failure("the world says that it fails")) : effect
  }

  /** Runs an effect of an activity so that no interrupt is heard. */
  shield<A, E, R>(activity: Ongoing, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.uninterruptible(
      Effect.suspend(() => {
        const shield: (typeof activity.shields)[number] = { from: this.moment }
        activity.shields.push(shield)
        return Effect.onExit(effect, () =>
          Effect.sync(() => {
            shield.to = this.moment
          })
        )
      })
    )
  }

  private settleWith(activity: Ongoing, exit: Exit.Exit<unknown, unknown>): void {
    if (Exit.isSuccess(exit)) return this.settle(activity, "done", exit.value)
    this.settle(activity, outcomeOf(exit.cause), Cause.squash(exit.cause))
  }

  alive(): Alive {
    const activities = this.activities.filter(({ settled }) => settled === undefined).map(({ id }) => id)
    return { fibers: this.machine.fibers, timers: this.machine.sleeps, activities }
  }

  /** What has changed since it was handed out. */
  changes(): ReadonlyArray<string> {
    return this.kept.flatMap(({ what, value, text }) => {
      const now = textOf(value)
      if (now === text) return []
      const [first] = JsonPatch.get(JSON.parse(text) as Schema.Json, JSON.parse(now) as Schema.Json)
      return [`${what} has changed at "${first?.path ?? ""}"`]
    })
  }

  private keep(what: string, value: unknown): void {
    this.kept.push({ what, value, text: textOf(value) })
  }
}

const textOf = (value: unknown): string => JSON.stringify(value) ?? "null"

const outcomeOf = (cause: Cause.Cause<unknown>): Outcome => {
  if (Cause.hasInterrupts(cause)) return "interrupted"
  return Cause.hasDies(cause) ? "died" : "failed"
}
