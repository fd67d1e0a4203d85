// SPEC 7, by the kit: a world is played by an agent, whose application queues, withdraws, aborts, prompts and closes. A queued
// message is delivered exactly once, whatever is aborted, fails or dies, and whenever; every promise to a run is kept too.
import { describe, expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { WATCH_BUFFER } from "../../src/Agent.ts"
import * as Tool from "../../src/Tool.ts"
import * as Faults from "../../src/testing/Faults.ts"
import * as Recording from "../../src/testing/Recording.ts"
import * as Simulation from "../../src/testing/Simulation.ts"
import { Command, type World } from "../../src/testing/World.ts"
import * as Worlds from "../../src/testing/Worlds.ts"
import { call, failing, pause, say } from "../support/make.ts"

const PARTS = 5
const WORLDS_PER_PART = 200

const worlds = Worlds.ofAgents(Worlds.arbitrary)

describe("every promise is kept in generated worlds with an agent", () => {
  for (let seed = 0; seed < PARTS; seed++) {
    it.effect.prop(`part ${seed}`, [worlds], ([world]) => Faults.verify(Faults.check(world)), {
      arbitrary: { runs: WORLDS_PER_PART, seed },
      timeout: 60_000
    })
  }
})

const wait = (ms: number) => ({ type: "wait", ms }) as const

/** A call that takes its time, an answer in pieces, a failure, and answers for what is queued. */
const busy: World = {
  turns: [[say("ab", 1), call("a")], [pause(2), say("c")], [failing("no")], [say("d")], [say("e")]],
  arrays: 1,
  tools: [{ name: "a", calls: [[wait(3)]] }]
}

const commands = (...all: ReadonlyArray<Command>): World => ({ ...busy, agent: { commands: all } })

describe("a message that is queued at any event, with a fault at every later step", () => {
  for (const does of ["steer", "followUp"] as const) {
    it.effect(
      `(${does}) is delivered once, or closed`,
      () =>
        Effect.gen(function* () {
          const { events } = yield* Simulation.run(commands())
          let runs = 0
          for (let event = 0; event < events.length; event += 4) {
            runs += (yield* Faults.verify(Faults.everywhere(commands({ when: { event }, does })))).runs
          }
          expect(runs).toBeGreaterThan(1000)
        }),
      60_000
    )
  }
})

it.effect(
  "a message is delivered once when the run is aborted between any two steps of its fibers, also in a poll",
  () =>
    Effect.gen(function* () {
      const both: World = {
        turns: [[say("a")]],
        agent: {
          commands: [
            { when: { event: 1 }, does: "steer" },
            { when: { event: 1 }, does: "followUp" }
          ]
        }
      }
      for (let seed = 0; seed < 100; seed++) {
        for (let step = 0; step < 24; step++) {
          const acts = [{ type: "abort", when: { step } } as const]
          yield* Faults.verify(Faults.check({ ...both, seed, consumer: { acts } }))
        }
      }
    }),
  60_000
)

const chosen: Record<string, World> = {
  "both queues, all at once": {
    ...busy,
    agent: {
      steeringMode: "all",
      followUpMode: "all",
      commands: [1, 2, 5, 9].flatMap((event): ReadonlyArray<Command> => [
        { when: { event }, does: "steer" },
        { when: { event }, does: "followUp" }
      ])
    }
  },
  "an agent that goes on by itself": {
    ...busy,
    agent: { continueWhenQueued: true, commands: [{ when: { event: 30 }, does: "followUp" }] }
  },
  "a message that is withdrawn on its way": commands(
    { when: { event: 2 }, does: "steer" },
    { when: { event: 4 }, does: "withdraw" },
    { when: { event: 4 }, does: "followUp" },
    { when: { ms: 3 }, does: "withdraw" }
  ),
  "a tool that hears nothing": {
    turns: [[call("a")], [say("done")]],
    tools: [{ name: "a", calls: [[{ type: "deaf", ms: 60_000 }]] }],
    agent: { commands: [{ when: { ms: 1 }, does: "steer" }] }
  },
  "an agent that is closed when it was aborted": {
    ...commands({ when: { ms: 0 }, does: "close" }),
    consumer: { slowMs: 1, acts: [{ type: "abort", when: { event: 0 } }] },
    limits: { gracePeriodMs: 0 }
  },
  "a listener that is slower than the grace period": {
    ...busy,
    consumer: { slowMs: 30 },
    limits: { gracePeriodMs: 10 },
    agent: { commands: [{ when: { event: 3 }, does: "followUp" }] }
  }
}

describe("every promise is kept by an agent, wherever something goes wrong", () => {
  for (const [name, world] of Object.entries(chosen)) {
    it.effect(name, () => Faults.verify(Faults.everywhere(world)), 60_000)
  }
})

// ---------------------------------------------------------------------------------------------------------------------
// What is seen of an agent
// ---------------------------------------------------------------------------------------------------------------------

const sessionOf = (world: World) =>
  Effect.map(Simulation.run(world), (recording) => ({ recording, session: recording.session! }))

const receiptsOf = ({ queued }: Recording.Session) =>
  queued.map(({ receipts }) => receipts.map(({ says }) => (typeof says === "string" ? says : says.turn)).join())

describe("an agent in a world", () => {
  it.effect("delivers what is queued in this run or in the next, and is closed in the end", () =>
    Effect.gen(function* () {
      const { recording, session } = yield* sessionOf(
        commands(
          { when: { event: 1 }, does: "steer" },
          { when: { event: 3 }, does: "followUp" },
          { when: { ms: 1 }, does: "followUp" },
          { when: { ms: 1 }, does: "withdraw" },
          { when: { event: 12 }, does: "abort" },
          { when: { event: 20 }, does: "clearQueues" }
        )
      )
      expect(Recording.reasonOf(recording)).toBe("aborted")
      expect(receiptsOf(session)).toEqual(["1", "1", "withdrawn"])
      expect(session.later.map(Recording.reasonOf)).toEqual(["completed"])
      expect(session.closing?.ended).toBeDefined()
      expect(session.idles.map(({ pending }) => pending)).toEqual([[1], []])
      expect(Recording.show(recording).split("\n").at(-1)).toMatch(/# close$/)
    })
  )

  it.effect("is closed in the middle of a run: what is queued is refused", () =>
    Effect.gen(function* () {
      const { recording, session } = yield* sessionOf(
        commands({ when: { event: 1 }, does: "followUp" }, { when: { ms: 1 }, does: "close" })
      )
      expect([Recording.reasonOf(recording), recording.stop?.how, recording.end?.at]).toEqual(["aborted", "close", 1])
      expect(receiptsOf(session)).toEqual(["closed"])
    })
  )

  it.effect("is left: by who prompts, and by who reads its stream", () =>
    Effect.gen(function* () {
      const left = yield* sessionOf({ ...commands(), consumer: { acts: [{ type: "leave", when: { ms: 1 } }] } })
      const taken = yield* sessionOf({ ...commands(), consumer: { acts: [{ type: "take", count: 3 }] } })
      expect([left, taken].map(({ recording }) => [Recording.reasonOf(recording), recording.stop?.how])).toEqual([
        ["aborted", "leave"],
        ["aborted", "take"]
      ])
      expect([left, taken].map(({ recording }) => recording.isWhole)).toEqual([true, true])
    })
  )

  it.effect("goes on when its listener dies", () =>
    Effect.gen(function* () {
      const { recording } = yield* sessionOf({ ...commands(), consumer: { acts: [{ type: "die", event: 2 }] } })
      expect([Recording.reasonOf(recording), recording.stop]).toEqual(["completed", undefined])
    })
  )

  it.effect("is watched: who reads late is told how many events it missed", () =>
    Effect.gen(function* () {
      const updates = { type: "update", text: "x", times: WATCH_BUFFER } as const
      const { recording, session } = yield* sessionOf({
        turns: [[call("a")], [say("done")]],
        tools: [{ name: "a", calls: [[updates]] }],
        agent: {
          commands: [
            { when: { event: 3 }, does: "watch" },
            { when: { event: 3 }, does: "watchLate" }
          ]
        }
      })
      const [atOnce, late] = session.watched
      expect(atOnce?.read).toEqual(recording.events.slice(4).map(({ event }) => event))
      expect(late?.read).toHaveLength(WATCH_BUFFER + 1)
      expect(late?.read[0]).toMatchObject({ type: "events_skipped", count: recording.events.length - 4 - WATCH_BUFFER })
      yield* Faults.verify(Faults.check(recording.world))
    })
  )

  it.effect("has real tools as well", () =>
    Effect.gen(function* () {
      const weather = Tool.make({
        name: "weather",
        description: "The weather of a city.",
        parameters: Schema.Struct({ city: Schema.String }),
        execute: ({ city }) =>
          Effect.delay(
            Effect.promise(() => Promise.resolve(`Rain in ${city}`)),
            20
          )
      })
      const tools = [weather]
      const world: World = { turns: [[call("weather", { city: "Oslo" })], [say("done")]], agent: {} }
      const recording = yield* Simulation.run(world, { tools })
      expect(JSON.stringify(Recording.messagesOf(recording))).toContain("Rain in Oslo")
      yield* Faults.verify(Faults.everywhere(world, { tools }))
    })
  )
})

it.effect("generated worlds reach all that an application does, and all that becomes of a message", () =>
  Effect.gen(function* () {
    const recordings = yield* Effect.forEach(yield* Arbitrary.sampleEffect(worlds, { count: 500, seed: 3 }), (world) =>
      Simulation.run(world)
    )
    const sessions = recordings.flatMap(({ session }) => session ?? [])
    const says = new Set(sessions.flatMap(receiptsOf))
    const stops = new Set(recordings.map(({ stop }) => stop?.how))
    const logged = new Set(
      sessions.flatMap(({ log }) => log.flatMap((entry) => (entry.type === "command" ? entry.does.split(" ")[0] : [])))
    )
    const results = new Set(
      sessions.flatMap((session) =>
        session.results.map((result) => (typeof result === "string" ? result : "_tag" in result ? result._tag : "told"))
      )
    )
    expect(sessions).toHaveLength(recordings.length)
    expect([...says]).toEqual(expect.arrayContaining(["1", "2", "withdrawn", "cleared", "closed"]))
    expect([...stops]).toEqual(expect.arrayContaining(["abort", "leave", "take", "close", undefined]))
    const commands = Command.fields.does.literals.map((does) => (does === "steer" ? "steering" : does))
    expect([...logged]).toEqual(expect.arrayContaining(commands))
    expect([...results]).toEqual(expect.arrayContaining(["told", "interrupted"]))
    expect(Math.max(...sessions.map(({ later }) => later.length))).toBeGreaterThan(2)
  })
)
