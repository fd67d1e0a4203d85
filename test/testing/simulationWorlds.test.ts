// The proof over worlds that nobody thought of: whatever happens in them, every promise is kept.
import { describe, expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as Faults from "../../src/testing/Faults.ts"
import * as Recording from "../../src/testing/Recording.ts"
import * as Simulation from "../../src/testing/Simulation.ts"
import * as World from "../../src/testing/World.ts"
import * as Worlds from "../../src/testing/Worlds.ts"

/** 2,000 worlds, in parts, so that a part that fails can be run alone. */
const PARTS = 10
const WORLDS_PER_PART = 200

describe("every promise is kept in generated worlds", () => {
  for (let seed = 0; seed < PARTS; seed++) {
    it.effect.prop(`part ${seed}`, [Worlds.arbitrary], ([world]) => Faults.verify(Faults.check(world)), {
      arbitrary: { runs: WORLDS_PER_PART, seed },
      timeout: 60_000
    })
  }
})

const sample = (count: number, seed: number) => Arbitrary.sampleEffect(Worlds.arbitrary, { count, seed })

describe("generated worlds", () => {
  it.effect("are worlds, and survive JSON", () =>
    Effect.gen(function* () {
      for (const world of yield* sample(100, 1)) {
        const received: unknown = JSON.parse(JSON.stringify(world))
        expect(yield* Schema.decodeUnknownEffect(World.World)(received)).toEqual(world)
      }
    })
  )

  it.effect("run in the same way each time", () =>
    Effect.gen(function* () {
      for (const world of yield* sample(100, 2)) {
        const first = yield* Simulation.run(world)
        const second = yield* Simulation.run(world)
        expect(Recording.show(second)).toBe(Recording.show(first))
        expect(second.events).toEqual(first.events)
      }
    })
  )

  it.effect("reach each way in which a run ends, each way to stop one, and each kind of activity", () =>
    Effect.gen(function* () {
      const recordings = yield* Effect.forEach(yield* sample(1000, 3), (world) => Simulation.run(world))
      const reasons = new Set(recordings.map(Recording.reasonOf))
      const stops = new Set(recordings.map(({ stop }) => stop?.how))
      const kinds = new Set(
        recordings.flatMap(({ activities }) => activities.map(({ kind, name }) => [kind, name].join(" ")))
      )
      expect([...reasons]).toEqual(
        expect.arrayContaining(["completed", "terminated", "stopped", "limit", "error", "aborted", undefined])
      )
      expect([...stops]).toEqual(expect.arrayContaining(["abort", "leave", "die", "take", undefined]))
      expect([...kinds]).toEqual(
        expect.arrayContaining(
          [
            ["stream response", "pull response", "tool a", "update a", "straggler a", "timer sleep", "consumer pause"],
            ["finalizer response", "finalizer a", "finalizer steering", "hook transformContext", "hook convertToLlm"],
            ["hook beforeToolCall", "hook afterToolCall", "hook prepareNextTurn", "hook shouldStopAfterTurn"],
            ["hook resolveApiKey", "hook retry", "hook steering", "hook followUp", "hook exclusive"]
          ].flat()
        )
      )
    })
  )
})

describe("the smallest world", () => {
  it.effect("has only what the fault needs", () =>
    Effect.gen(function* () {
      const hasUpdate = (world: World.World) =>
        Effect.map(Simulation.run(world), (recording) => recording.activities.some(({ kind }) => kind === "update"))
      const [found] = yield* Effect.filter(yield* sample(200, 4), hasUpdate)
      const smallest = yield* Worlds.smallest(found!, hasUpdate)
      expect(Object.keys(smallest).toSorted()).toEqual(["tools", "turns"])
      expect(smallest.turns).toMatchObject([[{ type: "toolCall" }]])
      expect(smallest.tools?.flatMap(({ calls = [] }) => calls)).toMatchObject([[{ type: "update" }]])
    })
  )

  it("is a step smaller each time, and still a world", () => {
    const world: World.World = { turns: [[{ type: "wait", ms: 4 }]], prompts: ["go"], limits: { maxTurns: 2 } }
    const simpler = Worlds.simpler(world)
    expect(simpler).toEqual(
      expect.arrayContaining<World.World>([
        { turns: [[{ type: "wait", ms: 4 }]], limits: { maxTurns: 2 } },
        { ...world, turns: [] },
        { ...world, turns: [[]] },
        { ...world, turns: [[{ type: "wait", ms: 0 }]] },
        { ...world, limits: {} },
        { ...world, limits: { maxTurns: 1 } }
      ])
    )
    for (const one of simpler) expect(JSON.stringify(one).length).toBeLessThanOrEqual(JSON.stringify(world).length)
  })
})

it("a world is shown as a literal that can be pasted", () => {
  expect(World.show({ turns: [[{ type: "text", text: "hi" }]], seed: 3 })).toBe(
    `{\n  turns: [[{"type":"text","text":"hi"}]],\n  seed: 3\n}`
  )
})

describe("a world that is none, as the types would say", () => {
  const wrongs: Record<string, readonly [unknown, string]> = {
    "a step": [{ turns: [[{ type: "txt", text: "hi" }]] }, "Expected a step of an answer"],
    "an act": [
      { turns: [], consumer: { acts: [{ type: "abrot", when: { ms: 1 } }] } },
      "Expected an act of the reader"
    ],
    "a field": [{ turns: [], promts: ["go"] }, '["promts"]']
  }
  for (const [name, [world, what]] of Object.entries(wrongs)) {
    it.effect(`is refused: ${name}`, () =>
      Effect.gen(function* () {
        const exit = yield* Effect.exit(Simulation.run(world as World.World))
        expect(String(Exit.isFailure(exit) && Cause.squash(exit.cause))).toContain("This is no world: ")
        expect(String(Exit.isFailure(exit) && Cause.squash(exit.cause))).toContain(what)
      })
    )
  }
})
