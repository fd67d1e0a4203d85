/**
 * Repeats a world with its reader at fault at each event, at each instant and at each step deep in the run: the reader
 * aborts, leaves, dies, has enough, or takes its time. Or a hook, a tool or the model dies or fails there, or an agent is
 * closed. Each repetition is a world too, and is held to the same promises.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Invariant from "./Invariant.ts"
import { type Recording, show as showLog } from "./Recording.ts"
import type * as Tool from "../Tool.ts"
import { run, type Agent } from "./Simulation.ts"
import { type Act, show as showWorld, type When, type World } from "./World.ts"
import * as Worlds from "./Worlds.ts"

/** A run in which promises were broken. */
export interface Failure {
  readonly recording: Recording
  readonly broken: readonly [Invariant.Broken, ...Array<Invariant.Broken>]
}

export interface Report {
  /** How many worlds were run: the one that was given, and its repetitions. */
  readonly runs: number
  readonly failures: ReadonlyArray<Failure>
}

/** Real tools and hooks, as `Simulation.run` takes them, and what to hold the runs to. */
export interface Options<Tools extends ReadonlyArray<Tool.Any> = [], R = never> extends Agent<Tools, R> {
  /** The promises to hold the runs to; all unless given. */
  readonly invariants?: ReadonlyArray<Invariant.Invariant> | undefined
}

/** Runs one world, and gives the promises that it breaks. */
export const check = <const Tools extends ReadonlyArray<Tool.Any> = [], R = never>(
  world: World,
  options: Options<Tools, R> = {}
): Effect.Effect<Report, never, Tool.Services<Tools> | R> =>
  Effect.map(run(world, agentOf(options)), (recording) => report(recording, options.invariants))

export interface EverywhereOptions<Tools extends ReadonlyArray<Tool.Any> = [], R = never> extends Options<Tools, R> {
  /** Runs no more repetitions than this, evenly spread. */
  readonly most?: number | undefined
}

/** Runs a world, then each of its repetitions. */
export const everywhere = Effect.fnUntraced(function* <const Tools extends ReadonlyArray<Tool.Any> = [], R = never>(
  world: World,
  options: EverywhereOptions<Tools, R> = {}
) {
  const first = yield* run(world, agentOf(options))
  const reports: Array<Report> = [report(first, options.invariants)]
  for (const faulty of spread(worldsOf(first), options.most)) reports.push(yield* check(faulty, options))
  return {
    runs: reports.reduce((sum, { runs }) => sum + runs, 0),
    failures: reports.flatMap(({ failures }) => failures)
  } satisfies Report
})

/** A world that is all data is played without regard to others. */
const agentOf = <Tools extends ReadonlyArray<Tool.Any>, R>(options: Options<Tools, R>): Agent<Tools, R> | undefined => {
  const { invariants: _, ...agent } = options
  return Object.keys(agent).some((key) => key !== "most") ? agent : undefined
}

/** Promises were broken. `message` says which, in which world, and what happened in it. */
export class PromiseBroken extends Schema.TaggedError<PromiseBroken>()("PromiseBroken", { message: Schema.String }) {}

/** Fails where a report has failures: what a test asks for. It shows the first of them. */
export const verify = <E, R>(report: Effect.Effect<Report, E, R>): Effect.Effect<Report, E | PromiseBroken, R> =>
  Effect.tap(report, ({ failures: [first] }) =>
    first === undefined ? Effect.void : Effect.fail(new PromiseBroken({ message: show(first) }))
  )

const report = (recording: Recording, invariants: Options["invariants"]): Report => {
  const [first, ...more] = Invariant.broken(recording, invariants)
  return {
    runs: 1,
    failures: first === undefined ? [] : [{ recording, broken: [first, ...more] }]
  }
}

/** The smallest world found that breaks the first promise that a failure breaks. */
export const smallest = <const Tools extends ReadonlyArray<Tool.Any> = [], R = never>(
  failure: Failure,
  options: Options<Tools, R> = {}
): Effect.Effect<Failure, never, Tool.Services<Tools> | R> => {
  const name = failure.broken[0].invariant
  const only = (options.invariants ?? Invariant.all).filter((invariant) => invariant.name === name)
  const again = (world: World) => check(world, { ...options, invariants: only })
  return Worlds.smallest(failure.recording.world, (world) =>
    Effect.map(again(world), ({ failures }) => failures.length > 0)
  ).pipe(
    Effect.flatMap(again),
    Effect.map(({ failures: [found = failure] }) => found)
  )
}

/** A failure in words: the promises, the world to paste into a test, and the log. */
export const show = ({ recording, broken }: Failure): string =>
  [
    ...broken.map(({ invariant, what }) => `${invariant}: ${what}`),
    `in the world ${showWorld(recording.world)}`,
    showLog(recording)
  ].join("\n")

// ---------------------------------------------------------------------------------------------------------------------
// Worlds with a fault
// ---------------------------------------------------------------------------------------------------------------------

/** How long a reader takes that is slow at one event: longer than most of what a world waits for. */
const PAUSE_MS = 500

/** The repetitions of a recorded world, each with one fault. */
export const worldsOf = (recording: Recording): ReadonlyArray<World> => {
  const { world, events, log, end } = recording
  const pauses = world.consumer?.pauses ?? []
  const act = (act: Act): World => ({ ...world, consumer: { ...world.consumer, acts: [act] } })
  const atEvents = events.flatMap((_, event) => [
    act({ type: "abort", when: { event } }),
    act({ type: "leave", when: { event } }),
    act({ type: "die", event }),
    act({ type: "take", count: event + 1 }),
    { ...world, consumer: { ...world.consumer, pauses: [...pauses, { event, ms: PAUSE_MS }] } }
  ])
  const atSteps = log.flatMap(({ type }, entry) => {
    if ((type !== "begin" && type !== "settle") || entry > (end?.position ?? Infinity)) return []
    const abort = act({ type: "abort", when: { entry } })
    return type === "begin" ? [abort, act({ type: "leave", when: { entry } })] : [abort]
  })
  const atInstants = instantsOf(recording).flatMap((ms) => [
    act({ type: "abort", when: { ms } }),
    act({ type: "leave", when: { ms } })
  ])
  const slow = { ...world, consumer: { ...world.consumer, slowMs: PAUSE_MS } }
  return [...atEvents, ...atSteps, ...atInstants, slow, ...brokenWorlds(recording), ...closedWorlds(recording)]
}

/** A hook, a tool or a response dies or fails at each step. */
const brokenWorlds = ({ world, log, activities, end }: Recording): ReadonlyArray<World> =>
  log.flatMap((entry, position): ReadonlyArray<World> => {
    if (entry.type !== "begin" || position > (end?.position ?? Infinity)) return []
    const { kind } = activities[entry.activity]!
    if (kind === "hook") return [{ ...world, dies: position }]
    if (kind !== "tool" && kind !== "pull") return []
    return [
      { ...world, dies: position },
      { ...world, fails: position }
    ]
  })

/** Where an agent plays the world: the agent is closed at each event and at each step. */
const closedWorlds = ({ world, events, log, end }: Recording): ReadonlyArray<World> => {
  const { agent } = world
  if (agent === undefined) return []
  const closedAt = (when: When): World => ({
    ...world,
    agent: { ...agent, commands: [...(agent.commands ?? []), { when, does: "close" }] }
  })
  const atSteps = log.flatMap(({ type }, entry) =>
    type === "begin" && entry <= (end?.position ?? Infinity) ? [closedAt({ entry })] : []
  )
  return [...events.map((_, event) => closedAt({ event })), ...atSteps]
}

const spread = <A>(all: ReadonlyArray<A>, most = Infinity): ReadonlyArray<A> =>
  all.length <= most ? all : Array.from({ length: most }, (_, index) => all[Math.floor((index * all.length) / most)]!)

/** The instants at which something happened up to the end, and one between each two of them. */
const instantsOf = ({ log, end }: Recording): ReadonlyArray<number> => {
  const all = [...new Set(log.map(({ at }) => at).filter((at) => at <= (end?.at ?? Infinity)))]
  return all.flatMap((at, index) => (index === 0 ? [at] : [(all[index - 1]! + at) / 2, at]))
}
