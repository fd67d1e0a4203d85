/** Smaller worlds: a world with something left out, or with smaller numbers. The most drastic steps come first. */
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { World } from "../World.ts"

/** How many smaller worlds are tried, at most, to find the smallest that still fails. */
const MAX_TRIES = 3000

const isWorld = Schema.is(World)

/** The worlds that are one step smaller. */
export const simpler = (world: World): ReadonlyArray<World> => [...simplify(world)].filter(isWorld)

/** The smallest world, found by steps of `simpler`, of which `fails` still holds. */
export const smallest = Effect.fnUntraced(function* <E, R>(
  world: World,
  fails: (world: World) => Effect.Effect<boolean, E, R>
) {
  let tries = 0
  let best = world
  let candidates = simplify(best)
  for (let next = candidates.next(); next.done !== true && tries < MAX_TRIES; next = candidates.next()) {
    if (!isWorld(next.value)) continue
    tries += 1
    if (!(yield* fails(next.value))) continue
    best = next.value
    candidates = simplify(best)
  }
  return best
})

function* simplify(value: unknown): Generator<unknown> {
  if (Array.isArray(value)) yield* simplifyArray(value)
  else if (Predicate.isObject(value)) yield* simplifyObject(value)
  else if (typeof value === "number") yield* simplifyNumber(value)
  else if (typeof value === "string" && value !== "") yield ""
  else if (value === true) yield false
}

function* simplifyArray(values: ReadonlyArray<unknown>): Generator<ReadonlyArray<unknown>> {
  for (let size = values.length; size >= 1; size = Math.floor(size / 2)) {
    for (let from = 0; from < values.length; from += size) yield values.toSpliced(from, size)
  }
  for (const [index, value] of values.entries()) {
    for (const smaller of simplify(value)) yield values.with(index, smaller)
  }
}

function* simplifyObject(value: object): Generator<object> {
  const entries = Object.entries(value)
  for (const [key] of entries) yield Object.fromEntries(entries.filter(([other]) => other !== key))
  for (const [key, member] of entries) {
    for (const smaller of simplify(member)) yield { ...value, [key]: smaller }
  }
}

function* simplifyNumber(value: number): Generator<number> {
  if (value <= 0) return
  yield 0
  if (value > 1) yield Math.floor(value / 2)
  if (value > 2) yield value - 1
}
