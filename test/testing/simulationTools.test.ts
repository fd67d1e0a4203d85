// Generated worlds for tools that somebody else wrote: their calls fit, and what the tools promise themselves is known.
import { describe, expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Faults from "../../src/testing/Faults.ts"
import * as Simulation from "../../src/testing/Simulation.ts"
import type { World } from "../../src/testing/World.ts"
import * as Worlds from "../../src/testing/Worlds.ts"
import * as Tool from "../../src/Tool.ts"

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
        for (const world of yield* sample(some, 60))
          yield* Faults.verify(Faults.check(world, { agent: { tools: some } }))
      }
    })
  )

  it.effect("find a fault in a tool, and say what it was", () =>
    Effect.gen(function* () {
      const leaky = make("leaky", { execute: () => Effect.as(Effect.forkDetach(Effect.sleep(1)), "done") })
      const tools = [leaky]
      const check = (world: World) => Faults.verify(Faults.check(world, { agent: { tools } }))
      const failing = yield* Effect.filter(yield* sample(tools, 10), (world) => Effect.isFailure(check(world)))
      expect(failing.length).toBeGreaterThan(1)
      const { message } = yield* Effect.flip(check(failing[0]!))
      expect(message).toMatch(/nothingOutlivesTheRun: \d fibers are alive at the end\nin the world \{/)
    })
  )
})
