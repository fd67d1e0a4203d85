// Runs generated worlds, by turns of bare runs and of agents, and all faults of some of them, for as long as is wanted:
//   node test/soak/main.ts --seconds 1800 --seed 1
// The same seed tries the same worlds. Exit code 1 if a promise was broken; then the smallest world is printed.
import * as Arbitrary from "effect/Arbitrary"
import * as Console from "effect/Console"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { parseArgs } from "node:util"
import * as Faults from "../../src/testing/Faults.ts"
import type { World } from "../../src/testing/World.ts"
import * as Worlds from "../../src/testing/Worlds.ts"

const { values } = parseArgs({
  options: { seconds: { type: "string", default: "60" }, seed: { type: "string", default: "1" } }
})

const WORLDS_PER_BATCH = 100
/** All faults are tried of one world in so many. */
const WORLDS_PER_FAULTS = 20
const PROGRESS_EVERY_MS = 30_000
/** After so many broken promises there is enough to do. */
const MAX_FAILURES = 5

interface Tally {
  worlds: number
  /** How many of them had an agent. */
  agents: number
  faults: number
  /** The first failure of each promise, made as small as it gets. */
  readonly failures: Map<string, Faults.Failure>
}

const agents = Worlds.ofAgents(Worlds.arbitrary)

const sample = (batch: number) =>
  Arbitrary.sampleEffect(batch % 2 === 0 ? Worlds.arbitrary : agents, {
    count: WORLDS_PER_BATCH,
    seed: `${values.seed}/${batch}`
  })

const tryWorld = Effect.fnUntraced(function* (tally: Tally, world: World, index: number) {
  const isForFaults = index % WORLDS_PER_FAULTS === 0
  const { runs, failures } = yield* isForFaults ? Faults.everywhere(world) : Faults.check(world)
  tally.worlds += 1
  if (world.agent !== undefined) tally.agents += 1
  tally.faults += runs - 1
  for (const failure of failures) {
    const promise = failure.broken[0].invariant
    if (tally.failures.has(promise)) continue
    const smallest = yield* Faults.smallest(failure)
    tally.failures.set(promise, smallest)
    yield* Console.log(`\n${Faults.show(smallest)}\n`)
  }
})

const say = ({ worlds, agents, faults, failures }: Tally, ms: number) =>
  Console.log(
    `${Math.round(ms / 1000)} s: ${worlds} worlds (${agents} with an agent), ${faults} faults, ${failures.size} broken promises` +
      (failures.size === 0 ? "" : ` (${[...failures.keys()].join(", ")})`)
  )

const soak = Effect.gen(function* () {
  const start = yield* Clock.currentTimeMillis
  const tally: Tally = { worlds: 0, agents: 0, faults: 0, failures: new Map() }
  let told = 0
  let elapsed = 0
  for (let batch = 0; elapsed < Number(values.seconds) * 1000 && tally.failures.size < MAX_FAILURES; batch++) {
    for (const [index, world] of (yield* sample(batch)).entries()) {
      yield* tryWorld(tally, world, index)
      elapsed = (yield* Clock.currentTimeMillis) - start
      if (elapsed > Number(values.seconds) * 1000) break
      if (elapsed - told < PROGRESS_EVERY_MS) continue
      told = elapsed
      yield* say(tally, elapsed)
    }
  }
  yield* say(tally, elapsed)
  return tally.failures.size
})

process.exitCode = (await Effect.runPromise(soak)) === 0 ? 0 : 1
