// Each promise can be broken: a true recording keeps it, and the same recording with one thing changed does not.
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { AgentEvent } from "../../src/AgentEvent.ts"
import * as Invariant from "../../src/testing/Invariant.ts"
import type { Activity, Entry, Queued, Recording, Session, Watched } from "../../src/testing/Recording.ts"
import * as Simulation from "../../src/testing/Simulation.ts"
import type { World } from "../../src/testing/World.ts"
import { call, failing, say, user } from "../support/make.ts"

const wait = (ms: number) => ({ type: "wait", ms }) as const

/** Two calls side by side, hooks, queues and a retry. */
const busy: World = {
  turns: [[call("a"), call("b")], [say("so far"), failing("busy", true)], [say("done")]],
  tools: [
    { name: "a", calls: [[wait(10), { type: "update", text: "x" }, wait(10)]] },
    { name: "b", calls: [[wait(5)]] }
  ],
  hooks: {
    transformContext: [[wait(1)]],
    beforeToolCall: [[wait(1)]],
    afterToolCall: [[wait(1)]],
    prepareNextTurn: [[wait(1)]],
    retry: [[{ type: "again", ms: 50 }]]
  },
  queues: { steering: [{ at: 0, text: "hi" }], followUp: [] }
}
const abortedAt = (ms: number, world: World = busy): World => ({
  ...world,
  consumer: { acts: [{ type: "abort", when: { ms } }] }
})
const plain: World = { turns: [[say("hello")]] }
const deaf: World = { turns: [[call("a")]], tools: [{ name: "a", calls: [[{ type: "deaf", ms: 100 }]] }] }
const flood: World = {
  turns: [[call("a")], [say("done")]],
  tools: [{ name: "a", calls: [[{ type: "update", text: "x", times: 60 }]] }]
}

const withAgent: World = {
  turns: [[say("one")], [say("two")], [say("three")]],
  agent: {
    commands: [
      { when: { event: 1 }, does: "steer" },
      { when: { event: 2 }, does: "steer" },
      { when: { event: 3 }, does: "steer" },
      { when: { event: 4 }, does: "withdraw" },
      { when: { event: 5 }, does: "watch" },
      { when: { event: 6 }, does: "watchLate" }
    ]
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Changes
// ---------------------------------------------------------------------------------------------------------------------

type Change = (recording: Recording) => Partial<Recording>

const never = { at: Infinity, position: Infinity }
const start = { at: 0, position: 0 }

const withoutEvents =
  (isGone: (event: AgentEvent) => boolean): Change =>
  ({ events }) => ({ events: events.filter(({ event }) => !isGone(event)) })

const withEvents =
  (change: (event: AgentEvent) => AgentEvent | undefined): Change =>
  ({ events }) => ({ events: events.map((one) => ({ ...one, event: change(one.event) ?? one.event })) })

const withActivities =
  (change: (activity: Activity) => Partial<Activity> | undefined): Change =>
  ({ activities }) => ({ activities: activities.map((activity) => ({ ...activity, ...change(activity) })) })

const withoutActivities =
  (isGone: (activity: Activity) => boolean): Change =>
  ({ activities }) => ({ activities: activities.filter((activity) => !isGone(activity)) })

const withWorld =
  (limits: World["limits"]): Change =>
  ({ world }) => ({ world: { ...world, limits: limits! } })

const withSession =
  (change: (session: Session) => Partial<Session>): Change =>
  ({ session }) => ({ session: { ...session!, ...change(session!) } })

/** Changes what was seen of a message that was queued. */
const withQueued = (change: (queued: Queued, index: number) => Partial<Queued> | undefined): Change =>
  withSession(({ queued }) => ({ queued: queued.map((one, index) => ({ ...one, ...change(one, index) })) }))

/** Changes what the watchers were shown. */
const withWatched = (change: (watched: Watched) => Partial<Watched>): Change =>
  withSession(({ watched }) => ({ watched: watched.map((one) => ({ ...one, ...change(one) })) }))

const isResult = (event: AgentEvent) => "message" in event && event.message.role === "toolResult"
const heardAtOnce: Change = ({ stop }) => ({ stop: { ...stop!, heard: start } })
const isPoll = ({ name }: Activity) => name === "steering"

/** For each promise, a world and what to change in its recording. */
const changes: Record<string, readonly [World, Change]> = {
  grammar: [plain, withoutEvents(({ type }) => type === "turn_end")],
  endIsLastAndOnce: [plain, ({ events }) => ({ events: [...events, events.at(-1)!] })],
  oneResultPerCall: [busy, withoutEvents(isResult)],
  transcriptIsTold: [
    plain,
    withEvents((event) => (event.type === "agent_end" ? { ...event, messages: [] } : undefined))
  ],
  queuedIsTold: [busy, withActivities((activity) => (isPoll(activity) ? { result: [] } : undefined))],
  snapshotsNeverChange: [plain, () => ({ changes: ["event 3 has changed"] })],
  requestsAreWellFormed: [
    busy,
    ({ requests }) => ({
      requests: requests.map((one) => ({
        ...one,
        request: { ...one.request, messages: one.request.messages.filter(({ role }) => role !== "toolResult") }
      }))
    })
  ],
  requestsSayWhatWasTold: [plain, ({ requests }) => ({ requests: requests.map((one) => ({ ...one, position: 0 })) })],
  retryDiscards: [
    busy,
    ({ requests }) => ({ requests: requests.map((one, index) => (index === 2 ? { ...one, at: 0 } : one)) })
  ],
  reasonIsTrue: [
    plain,
    withEvents((event) => (event.type === "agent_end" ? { ...event, reason: "limit" } : undefined))
  ],
  noHookAfterAbort: [abortedAt(10), heardAtOnce],
  noRequestAfterAbort: [abortedAt(10), heardAtOnce],
  noToolAfterAbort: [abortedAt(10), heardAtOnce],
  eventsComeBeforeHooks: [busy, withoutEvents(({ type }) => type === "turn_end")],
  updatesComeBeforeTheHook: [busy, withoutEvents(({ type }) => type === "tool_execution_update")],
  hooksSeeTheTranscript: [
    busy,
    withActivities(({ name }) => (name === "prepareNextTurn" ? { given: { messages: [] } } : undefined))
  ],
  pollsComeWhereTheyAreDue: [busy, withWorld({ maxTurns: 1 })],
  worksOnlyForItsReader: [
    plain,
    ({ log }) => ({ log: log.map((entry): Entry => (entry.type === "read" ? { at: entry.at, type: "end" } : entry)) })
  ],
  updatesWaitForTheReader: [
    flood,
    ({ log }) => ({ log: log.map((entry): Entry => (entry.type === "event" ? { at: entry.at, type: "read" } : entry)) })
  ],
  callsKeepTheirTurn: [busy, withWorld({ toolExecution: "sequential" })],
  callsRunSideBySide: [{ ...busy, limits: { toolExecution: "sequential" } }, withWorld({})],
  resultsAreTrue: [busy, withActivities(({ kind }) => (kind === "tool" ? { outcome: "failed" } : undefined))],
  everyRunEnds: [plain, () => ({ end: undefined })],
  endsWithinTheGracePeriod: [abortedAt(10), ({ end }) => ({ end: { ...end!, at: end!.at + 5001 } })],
  endsAtOnce: [abortedAt(10, deaf), withActivities(() => ({ shields: [] }))],
  waitsOnlyForTheVirtualClock: [
    { turns: [[call("a")]], tools: [{ name: "a", calls: [[{ type: "stall" }]] }] },
    withActivities(({ kind }) => (kind === "tool" ? { isReal: true } : undefined))
  ],
  timeIsExplained: [busy, withoutActivities(({ kind }) => kind === "tool")],
  sleepsAreExplained: [abortedAt(10), withActivities(({ kind }) => (kind === "timer" ? { given: 7 } : undefined))],
  nothingOutlivesTheRun: [plain, ({ aliveAtEnd }) => ({ aliveAtEnd: { ...aliveAtEnd, fibers: 1 } })],
  whatComesLooseEnds: [plain, ({ aliveLater }) => ({ aliveLater: { ...aliveLater, timers: 1 } })],
  nothingBeginsAfterTheEnd: [plain, () => ({ end: start })],
  connectionsClose: [plain, withActivities(({ kind }) => (kind === "stream" ? { settled: never } : undefined))],
  queuedExactlyOnce: [withAgent, withQueued(() => ({ receipts: [] }))],
  receiptsAreSettled: [withAgent, withQueued((_, index) => (index === 2 ? { withdrawals: [] } : undefined))],
  queuesKeepTheirOrder: [withAgent, withSession(({ queued }) => ({ queued: queued.toReversed() }))],
  closingEnds: [withAgent, withSession(() => ({ closing: { asked: start, ended: { at: 5001, position: 9 } } }))],
  stateIsTheFold: [withAgent, withSession(({ states }) => ({ states: states.with(3, states[2]!) }))],
  watchersMissNothing: [withAgent, withWatched(({ read }) => ({ read: read.toSpliced(3, 1) }))],
  promptsGiveWhatWasTold: [withAgent, withSession(() => ({ results: ["died"] }))]
}

/** What may be wrong with a message that was queued, and is in the transcript, its receipt says so in turn 1 at 0 ms. */
const wrongs: Record<string, Change> = {
  "is in neither queue nor transcript": (recording) => {
    const change = withSession(({ queued, idles }) => ({
      queued: queued.map((one, index) => (index === 0 ? { ...one, message: user("lost"), receipts: [] } : one)),
      idles
    }))
    return change(recording)
  },
  "is in the transcript 2 times": withSession(({ queued, idles }) => ({
    idles: idles.map((idle) => ({
      ...idle,
      state: { ...idle.state, messages: [...idle.state.messages, queued[0]!.message] }
    }))
  })),
  "was told 1 times": withSession(({ queued, idles }) => ({
    idles: idles.map((idle) => ({
      ...idle,
      state: { ...idle.state, messages: idle.state.messages.filter((message) => message !== queued[0]!.message) }
    }))
  })),
  "is in the queue and in the transcript": withSession(({ idles }) => ({
    idles: idles.map((idle) => ({ ...idle, pending: [0] }))
  })),
  'its receipt says "cleared"': withQueued(({ receipts }, index) =>
    index === 0 ? { receipts: receipts.map((receipt) => ({ ...receipt, says: "cleared" })) } : undefined
  ),
  "says turn 7": withQueued(({ receipts }, index) =>
    index === 0 ? { receipts: receipts.map((receipt) => ({ ...receipt, says: { turn: 7, timestamp: 0 } })) } : undefined
  ),
  "says that it was delivered": withQueued((_, index) => (index === 0 ? { message: user("another") } : undefined)),
  "says two things": withQueued(({ receipts }, index) =>
    index === 0 ? { receipts: [...receipts, ...receipts] } : undefined
  ),
  "the state says isQueued: true": withSession(({ idles }) => ({
    idles: idles.map((idle) => ({ ...idle, isQueued: true }))
  }))
}

describe("each promise", () => {
  it("has a change that breaks it", () => {
    expect(Object.keys(changes).toSorted()).toEqual(Invariant.all.map(({ name }) => name).toSorted())
  })

  for (const invariant of Invariant.all) {
    it.effect(`${invariant.name}: ${invariant.promise}`, () =>
      Effect.gen(function* () {
        const [world, change] = changes[invariant.name]!
        const recording = yield* Simulation.run(world)
        expect(invariant.check(recording)).toBeUndefined()
        expect(invariant.check({ ...recording, ...change(recording) })).toEqual(expect.any(String))
      })
    )
  }
})

const skip = (count: number, { state }: Watched) => ({ type: "events_skipped", count, state }) as const

/** What a watcher may be shown that it must not be. */
const misled: Record<string, (watched: Watched) => Partial<Watched>> = {
  "another state": (watched) => ({ state: { ...watched.state, errorMessage: "none" } }),
  "an event twice": ({ read }) => ({ read: [read[0]!, ...read] }),
  "two events the other way round": ({ read }) => ({ read: [read[1]!, read[0]!, ...read.slice(2)] }),
  "not the last event": ({ read }) => ({ read: read.slice(0, -1) }),
  "a number of missed events that is wrong": (watched) => ({ read: [skip(2, watched), ...watched.read.slice(1)] }),
  "an old state after missed events": (watched) => ({ read: [skip(4, watched), ...watched.read.slice(4)] })
}

describe("watchersMissNothing", () => {
  for (const [what, change] of Object.entries(misled)) {
    it.effect(`no watcher is shown ${what}`, () =>
      Effect.gen(function* () {
        const recording = yield* Simulation.run(withAgent)
        const changed = { ...recording, ...withWatched(change)(recording) }
        expect(Invariant.watchersMissNothing.check(changed)).toEqual(expect.any(String))
      })
    )
  }
})

describe("queuedExactlyOnce", () => {
  for (const [wrong, change] of Object.entries(wrongs)) {
    it.effect(`says that a message ${wrong}`, () =>
      Effect.gen(function* () {
        const recording = yield* Simulation.run(withAgent)
        const changed = { ...recording, ...change(recording) }
        expect(Invariant.queuedExactlyOnce.check(changed)).toContain(wrong)
      })
    )
  }
})

it.effect("a promise is asked of every run of an agent", () =>
  Effect.gen(function* () {
    const recording = yield* Simulation.run({
      turns: [],
      agent: { commands: [{ when: { event: 7 }, does: "steer" }] }
    })
    const { session } = recording
    expect(session?.later).toHaveLength(1)
    const [last] = session!.later
    const later = [{ ...last!, events: [...last!.events, last!.events.at(-1)!] }]
    expect(Invariant.broken({ ...recording, session: { ...session!, later } })).toContainEqual({
      invariant: "endIsLastAndOnce",
      what: "agent_end comes 2 times"
    })
  })
)

it.effect("an activity that goes on after the end breaks a promise, unless it hears no interrupt", () =>
  Effect.gen(function* () {
    const recording = yield* Simulation.run({
      ...deaf,
      consumer: { acts: [{ type: "abort", when: { ms: 1 } }] },
      limits: { gracePeriodMs: 5 }
    })
    const names = (changed: Recording) => Invariant.broken(changed).map(({ invariant }) => invariant)
    expect(names(recording)).toEqual([])
    const heard = { ...recording, ...withActivities(() => ({ shields: [] }))(recording) }
    expect(names(heard)).toEqual(["endsAtOnce"])
    const early = { ...heard, end: { ...heard.end!, at: 1 } }
    expect(names(early)).toEqual(["nothingOutlivesTheRun"])
  })
)

it.effect("the promises to ask for can be chosen", () =>
  Effect.gen(function* () {
    const recording = { ...(yield* Simulation.run(plain)), end: undefined }
    expect(Invariant.broken(recording, [Invariant.grammar])).toEqual([])
    expect(Invariant.broken(recording).map(({ invariant }) => invariant)).toEqual(["everyRunEnds"])
  })
)
