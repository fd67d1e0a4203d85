/**
 * Holds the events of a run against the grammar of `AgentEvent` and everything else that is promised of them, and names
 * the first rule that is broken and the place. Whoever tests an agent, or writes a loop of her own, can ask it.
 *
 * It judges by the events alone, folds what they say from scratch and knows nothing of the run that told them.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as JsonPatch from "effect/JsonPatch"
import * as Option from "effect/Option"
import * as Pull from "effect/Pull"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { AgentEvent } from "../AgentEvent.ts"
import type { Message } from "../Message.ts"
import { type Broken, type Rule, rules } from "./internal/rules.ts"
import * as Run from "./internal/run.ts"
import * as RunState from "./internal/state.ts"

export { type Rule, rules } from "./internal/rules.ts"

/** A rule that does not hold: `index` is the place of the event that breaks it, `what` says what is wrong there. */
export class Violation extends Schema.TaggedError<Violation>()("Violation", {
  rule: Schema.Literals(Object.keys(rules) as Array<Rule>),
  index: Schema.Int,
  what: Schema.String
}) {
  override get message() {
    return `Event ${this.index} breaks the rule "${this.rule}" (${rules[this.rule]}): ${this.what}.`
  }
}

const violationAt = (index: number, { rule, what }: Broken) => new Violation({ rule, index, what })

// ---------------------------------------------------------------------------------------------------------------------
// Event by event
// ---------------------------------------------------------------------------------------------------------------------

/** What is known of a run after some of its events. A value: steps from it can be taken more than once. */
export interface State extends RunState.State {}

/** Before the first event. `history` is the transcript before the run: ids of its tool calls must not come again. */
export const initial = (history: ReadonlyArray<Message> = []): State => RunState.initial(history)

export const step = (state: State, event: AgentEvent): Result.Result<State, Violation> =>
  Result.mapError(Run.step(state, event), (broken) => violationAt(state.index, broken))

/** Whether the run may be over here. */
export const end = (state: State): Result.Result<void, Violation> =>
  Result.mapError(Run.end(state), (broken) => violationAt(state.index, broken))

// ---------------------------------------------------------------------------------------------------------------------
// Whole runs
// ---------------------------------------------------------------------------------------------------------------------

/** The first violation in the events of a whole run. */
export const check = (events: Iterable<AgentEvent>, history?: ReadonlyArray<Message>): Option.Option<Violation> => {
  let state = initial(history)
  for (const event of events) {
    const next = step(state, event)
    if (Result.isFailure(next)) return Option.some(next.failure)
    state = next.success
  }
  return Result.getFailure(end(state))
}

/** The same events, held against the rules as they pass. Dies with the `Violation` in place of the event that breaks one. */
export const checked =
  (history?: ReadonlyArray<Message>) =>
  <E, R>(events: Stream.Stream<AgentEvent, E, R>): Stream.Stream<AgentEvent, E, R> =>
    Stream.transformPull(events, (pull) =>
      Effect.sync(() => {
        let state: Result.Result<State, Violation> = Result.succeed(initial(history))
        /** The events before the first violation. That one comes with the next pull. */
        const take = (array: Events): Pull.Pull<Events> => {
          let count = 0
          for (; count < array.length; count++) {
            state = Result.flatMap(state, (known) => step(known, array[count]!))
            if (Result.isFailure(state)) break
          }
          return count === 0 ? dead() : Effect.succeed(array.slice(0, count) as unknown as Events)
        }
        const dead = () => Effect.die(Result.getFailure(state).pipe(Option.getOrUndefined))
        const done = Effect.suspend(() => {
          state = Result.flatMap(state, (known) => Result.map(end(known), () => known))
          return Result.isFailure(state) ? dead() : Cause.done()
        })
        return Effect.suspend(() =>
          Result.isFailure(state) ? dead() : Pull.catchDone(Effect.flatMap(pull, take), () => done)
        )
      })
    )

type Events = readonly [AgentEvent, ...Array<AgentEvent>]

// ---------------------------------------------------------------------------------------------------------------------
// Recorder
// ---------------------------------------------------------------------------------------------------------------------

/** Keeps events, and a copy of each as it was on arrival. The copies cost what the snapshots are long. */
export interface Recorder {
  readonly add: (event: AgentEvent) => void
  readonly events: ReadonlyArray<AgentEvent>
  /** The first violation in the events of a whole run, where a snapshot that has changed since it arrived comes first. */
  readonly check: (history?: ReadonlyArray<Message>) => Option.Option<Violation>
}

export const recorder = (): Recorder => {
  const events: Array<AgentEvent> = []
  const copies: Array<string> = []
  return {
    events,
    add: (event) => {
      events.push(event)
      copies.push(copy(event))
    },
    check: (history) => Option.orElse(findChange(copies, events), () => check(events, history))
  }
}

/** Runs a stream of events to its end, and gives them. Dies with the first `Violation`. */
export const collect = <E, R>(
  stream: Stream.Stream<AgentEvent, E, R>,
  history?: ReadonlyArray<Message>
): Effect.Effect<ReadonlyArray<AgentEvent>, E, R> =>
  Effect.suspend(() => {
    const { add, events, check } = recorder()
    return stream.pipe(
      Stream.runForEachArray((array) => Effect.sync(() => array.forEach(add))),
      Effect.andThen(
        Effect.suspend(() => Option.match(check(history), { onNone: () => Effect.succeed(events), onSome: Effect.die }))
      )
    )
  })

/** A copy as JSON, which is what events promise to survive. What does not is left to the rule `shape`. */
const copy = (event: AgentEvent): string =>
  Result.getOrElse(
    Result.try(() => JSON.stringify(event)),
    () => "null"
  )

const findChange = (copies: ReadonlyArray<string>, events: ReadonlyArray<AgentEvent>): Option.Option<Violation> => {
  for (const [index, event] of events.entries()) {
    const before = copies[index]!
    const now = copy(event)
    if (now === before) continue
    const [first] = JsonPatch.get(JSON.parse(before) as Schema.Json, JSON.parse(now) as Schema.Json)
    return Option.some(violationAt(index, { rule: "snapshot", what: `the event has changed at "${first?.path}"` }))
  }
  return Option.none()
}
