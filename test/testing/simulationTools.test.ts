// Generated worlds for tools that somebody else wrote: their calls fit, and what the tools promise themselves is known.
import { describe, expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { isLlmMessage } from "../../src/internal/state.ts"
import type { Message } from "../../src/Message.ts"
import * as Faults from "../../src/testing/Faults.ts"
import * as Invariant from "../../src/testing/Invariant.ts"
import * as Simulation from "../../src/testing/Simulation.ts"
import type { World } from "../../src/testing/World.ts"
import * as Worlds from "../../src/testing/Worlds.ts"
import * as Tool from "../../src/Tool.ts"
import { call, failing, say } from "../support/make.ts"

const parameters = Schema.Struct({ city: Schema.NonEmptyString, days: Schema.optionalKey(Schema.Int) })

const make = (name: string, more: Partial<Tool.Options<typeof parameters.Type, never>> = {}) =>
  Tool.make({
    name,
    description: "Takes its time.",
    parameters,
    execute: ({ city }) => Effect.delay(Effect.succeed(city), city.length),
    ...more
  })

const dynamic = Tool.dynamic({
  name: "dynamic",
  description: "Has a JSON Schema.",
  parameters: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
  execute: (args) => Effect.succeed(JSON.stringify(args))
})

/** Waits for the machine that the test runs on. */
const outside = Effect.promise(() => new Promise<void>((done) => setTimeout(done, 60_000).unref()))

const brokenBy = (check: Effect.Effect<Faults.Report>) =>
  Effect.map(check, ({ failures }) => failures.flatMap(({ broken }) => broken))

const sample = (tools: ReadonlyArray<Tool.Any>, count: number) =>
  Arbitrary.sampleEffect(Worlds.arbitraryFor(tools), { count, seed: 1 })

describe("worlds for tools", () => {
  it.effect("call them, with arguments that fit and with some that do not", () =>
    Effect.gen(function* () {
      const tools = [make("weather"), dynamic]
      const results = new Map<string, Array<boolean>>()
      for (const { turns } of yield* sample(tools, 100)) {
        // Only the calls: what else happens in these worlds is no matter here.
        const calls = turns.map((turn) => turn.filter((step) => step.type === "toolCall"))
        const recording = yield* Simulation.run({ turns: calls }, { tools })
        for (const { event } of recording.events) {
          if (event.type !== "tool_execution_end") continue
          results.set(event.toolName, [...(results.get(event.toolName) ?? []), event.isError])
        }
      }
      expect([...results.keys()].toSorted()).toEqual(["dynamic", "weather"])
      for (const errors of results.values()) {
        const share = errors.filter(Boolean).length / errors.length
        expect(share).toBeGreaterThan(0.05)
        expect(share).toBeLessThan(0.5)
      }
    })
  )

  it.effect("know which tools run one call after the other", () =>
    Effect.gen(function* () {
      const exclusive = () => Effect.delay(Effect.succeed("file"), 5)
      const tools = [make("weather"), make("alone", { sequential: true }), make("shared", { exclusive })]
      for (const some of [tools, [tools[0]!, tools[2]!]]) {
        for (const world of yield* sample(some, 60)) yield* Faults.verify(Faults.check(world, { tools: some }))
      }
    })
  )

  it.effect("find a fault in a tool, and say what it was", () =>
    Effect.gen(function* () {
      const leaky = make("leaky", { execute: () => Effect.as(Effect.forkDetach(Effect.sleep(1)), "done") })
      const tools = [leaky]
      const check = (world: World) => Faults.verify(Faults.check(world, { tools }))
      const failing = yield* Effect.filter(yield* sample(tools, 10), (world) => Effect.isFailure(check(world)))
      expect(failing.length).toBeGreaterThan(1)
      const { message } = yield* Effect.flip(check(failing[0]!))
      expect(message).toMatch(/nothingOutlivesTheRun: (1 fiber is|\d fibers are) alive at the end\nin the world \{/)
    })
  )
})

describe("code of the application that waits outside the virtual clock", () => {
  const asked: World = { turns: [[call("weather", { city: "Oslo" }, "1")], [say("done")]] }
  const says = (what: string) => [
    {
      invariant: "waitsOnlyForTheVirtualClock",
      what: `${what} waits for something that the virtual clock cannot see, or for ever: let a service stand in for it`
    }
  ]
  const Outside = make("weather", { execute: () => Effect.as(outside, "Rain") })

  for (const world of [asked, { ...asked, agent: {} }]) {
    const player = world.agent === undefined ? "a bare run" : "an agent"

    it.effect(`is named: a tool (${player})`, () =>
      Effect.gen(function* () {
        expect(yield* brokenBy(Faults.check(world, { tools: [Outside] }))).toEqual(says('tool weather of call "1"'))
      })
    )

    it.effect(`is named: a hook (${player})`, () =>
      Effect.gen(function* () {
        const hooks = { shouldStopAfterTurn: () => Effect.as(outside, false) }
        const broken = yield* brokenBy(Faults.check(world, { tools: [make("weather")], hooks }))
        expect(broken).toEqual(says("hook shouldStopAfterTurn"))
      })
    )
  }

  it.effect("is none of the run's matter where somebody else stops it, or where the world stalls", () =>
    Effect.gen(function* () {
      const stopped = { ...asked, consumer: { acts: [{ type: "abort", when: { ms: 5 } }] } } as const
      expect(yield* brokenBy(Faults.check(stopped, { tools: [Outside] }))).toEqual([])
      const stalled: World = { turns: [[{ type: "stall" }]] }
      expect(yield* brokenBy(Faults.check(stalled, { tools: [make("weather")] }))).toEqual([])
    })
  )
})

describe("hooks of the application that change what the model reads", () => {
  const world: World = {
    turns: [[call("weather", { city: "Oslo" }, "1")], [failing("busy", true)], [say("done")], [say("more")]],
    hooks: { retry: [[{ type: "again", ms: 50 }]] },
    queues: { followUp: [{ at: 0, text: "and now?" }] }
  }
  const shorten = (messages: ReadonlyArray<Message>) => Effect.succeed(messages.slice(-1))
  const withoutTools = (messages: ReadonlyArray<Message>) =>
    Effect.succeed(messages.filter(isLlmMessage).filter(({ role }) => role === "user"))
  const tools = [make("weather")]
  const untouched = [Invariant.requestsSayWhatWasTold]

  for (const [name, hooks] of Object.entries({
    transformContext: { transformContext: shorten },
    convertToLlm: { convertToLlm: withoutTools },
    both: { transformContext: shorten, convertToLlm: withoutTools }
  })) {
    it.effect(`may do so: ${name}`, () =>
      Effect.gen(function* () {
        const worlds: ReadonlyArray<World> = [
          world,
          { ...world, agent: {} },
          { ...world, hooks: { ...world.hooks, transformContext: [[{ type: "append", text: "be brief" }]] } }
        ]
        for (const one of worlds) {
          const { requests } = yield* Simulation.run(one, { tools, hooks })
          expect(requests).toHaveLength(4)
          yield* Faults.verify(Faults.everywhere(one, { tools, hooks, invariants: untouched, most: 100 }))
        }
      })
    )
  }

  it.effect("must find in the request what they gave", () =>
    Effect.gen(function* () {
      const recording = yield* Simulation.run(world, { tools, hooks: { transformContext: shorten } })
      const other = recording.activities.map((one) => (one.name === "transformContext" ? { ...one, result: [] } : one))
      expect(Invariant.requestsSayWhatWasTold.check({ ...recording, activities: other })).toBe(
        "request 0 has other messages than transformContext gave"
      )
    })
  )
})
