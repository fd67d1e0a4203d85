// Tries generated worlds until a promise is broken, and prints as JSON what was found after how much:
//   node test/mutants/hunt.ts --seconds 60 --seed 1
// By turns a bare run and an agent, each world with some of its faults: more worlds find more than all faults of a few.
import * as Arbitrary from "effect/Arbitrary"
import * as Clock from "effect/Clock"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { parseArgs } from "node:util"
import * as Faults from "../../src/testing/Faults.ts"
import type { World } from "../../src/testing/World.ts"
import * as Worlds from "../../src/testing/Worlds.ts"

const { values } = parseArgs({
  options: { seconds: { type: "string", default: "60" }, seed: { type: "string", default: "1" } }
})

const WORLDS_PER_BATCH = 25
const FAULTS_PER_WORLD = 12

export interface Found {
  readonly worlds: number
  readonly runs: number
  readonly seconds: number
  /** The promise that was broken, if one was, and how. */
  readonly invariant?: string
  readonly what?: string
}

const sample = (worlds: Arbitrary.Arbitrary<World>, batch: number) =>
  Arbitrary.sampleEffect(worlds, { count: WORLDS_PER_BATCH, seed: `${values.seed}/${batch}` })

const agents = Worlds.ofAgents(Worlds.arbitrary)

const hunt = Effect.gen(function* () {
  const start = yield* Clock.currentTimeMillis
  const found = { worlds: 0, runs: 0, seconds: 0 }
  for (let batch = 0; found.seconds < Number(values.seconds); batch++) {
    const [bare, held] = [yield* sample(Worlds.arbitrary, batch), yield* sample(agents, batch)]
    for (const world of bare.flatMap((one, index) => [one, held[index]!])) {
      const { runs, failures } = yield* Faults.everywhere(world, { most: FAULTS_PER_WORLD })
      found.worlds += 1
      found.runs += runs
      found.seconds = ((yield* Clock.currentTimeMillis) - start) / 1000
      const [failure] = failures
      if (failure !== undefined) return { ...found, ...failure.broken[0] }
      if (found.seconds > Number(values.seconds)) break
    }
  }
  return found
})

await Effect.runPromise(Effect.flatMap(hunt, (found: Found) => Console.log(JSON.stringify(found))))
