// The proof over worlds that were chosen: with its reader at fault at every event, instant and step, every promise is kept.
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Faults from "../../src/testing/Faults.ts"
import * as Simulation from "../../src/testing/Simulation.ts"
import type { World } from "../../src/testing/World.ts"
import { chosenWorlds } from "./chosenWorlds.ts"

describe("every promise is kept, wherever the reader is at fault", () => {
  for (const [name, world] of Object.entries(chosenWorlds)) {
    it.effect(
      name,
      () =>
        Effect.gen(function* () {
          const { failures, runs } = yield* Faults.everywhere(world)
          expect(
            (yield* Effect.forEach(failures.slice(0, 1), (failure) => Faults.smallest(failure))).map(Faults.show)
          ).toEqual([])
          expect(runs).toBeGreaterThan(40)
        }),
      60_000
    )
  }
})

describe("the faults of a world", () => {
  const world: World = {
    turns: [
      [
        { type: "text", text: "hi" },
        { type: "wait", ms: 10 }
      ]
    ],
    seed: 1
  }
  const faultsOf = Effect.map(Simulation.run(world), (recording) => ({ recording, worlds: Faults.worldsOf(recording) }))

  it.effect("come at each event, each instant and between them, and at each step deep in the run", () =>
    Effect.gen(function* () {
      const { recording, worlds } = yield* faultsOf
      const acts = worlds.flatMap(({ consumer }) => consumer?.acts ?? [])
      const whens = acts.flatMap((act) => ("when" in act && act.type === "abort" ? [act.when] : []))
      expect(whens.filter((when) => "event" in when)).toEqual(recording.events.map((_, event) => ({ event })))
      expect(whens.filter((when) => "ms" in when)).toEqual([{ ms: 0 }, { ms: 5 }, { ms: 10 }])
      const steps = recording.log.flatMap(({ type }, entry) =>
        type === "begin" || type === "settle" ? [{ entry }] : []
      )
      expect(whens.filter((when) => "entry" in when)).toEqual(steps)
      expect(new Set(acts.map(({ type }) => type))).toEqual(new Set(["abort", "leave", "die", "take"]))
    })
  )

  it.effect("are worlds of their own, alike but for the fault", () =>
    Effect.gen(function* () {
      for (const { consumer, dies, fails, ...rest } of (yield* faultsOf).worlds) {
        expect(rest).toEqual(world)
        expect([consumer, dies, fails].filter((fault) => fault !== undefined)).toHaveLength(1)
      }
    })
  )

  it.effect("let each hook, each tool and each pull of a response die, and fail where it can", () =>
    Effect.gen(function* () {
      const calling: World = {
        turns: [[{ type: "toolCall", id: "1", name: "a" }], [{ type: "text", text: "done" }]],
        tools: [{ name: "a" }],
        hooks: { transformContext: [[]] }
      }
      const broken = Faults.worldsOf(yield* Simulation.run(calling)).filter(
        ({ dies, fails }) => dies !== undefined || fails !== undefined
      )
      const outcomes: Array<string> = []
      for (const faulty of broken) {
        const { activities } = yield* Simulation.run(faulty)
        for (const { kind, began, outcome } of activities) {
          if (began.position === (faulty.dies ?? faulty.fails)) outcomes.push(`${kind} ${outcome}`)
        }
      }
      const model = ["pull died", "pull failed"]
      expect(outcomes).toEqual(["hook died", ...model, "tool died", "tool failed", "hook died", ...model])
    })
  )

  it.effect("happen where they are said to happen", () =>
    Effect.gen(function* () {
      const { recording, worlds } = yield* faultsOf
      for (const faulty of worlds) {
        const { stop } = yield* Simulation.run(faulty)
        const [act] = faulty.consumer?.acts ?? []
        // At the instant of the end, the end may have come first.
        const isLate = act !== undefined && "when" in act && "ms" in act.when && act.when.ms === recording.end?.at
        if (act === undefined || isLate) continue
        expect(stop?.how).toBe(act.type)
        if ("when" in act && "ms" in act.when) expect(stop?.asked.at).toBe(act.when.ms)
        if ("when" in act && "entry" in act.when) expect(stop?.asked.position).toBe(act.when.entry + 1)
      }
    })
  )
})

it.effect("a failure is shown with its promise, its world and its log", () =>
  Effect.gen(function* () {
    const never = { name: "noEnd", promise: "a run never ends", check: () => "it ended" }
    const { failures } = yield* Faults.check({ turns: [] }, { invariants: [never] })
    const text = failures.map(Faults.show).join()
    expect(text).toContain("noEnd: it ended\nin the world {\n  turns: []\n}")
    expect(text).toContain("agent_end error")
  })
)
