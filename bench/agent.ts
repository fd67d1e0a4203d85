/** What an agent costs beside its run, and what one that is idle takes of memory. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Agent from "../src/Agent.ts"
import * as Loop from "../src/Loop.ts"
import { Toolset } from "../src/services/Toolset.ts"
import { compare, print } from "./harness.ts"
import { countEvents, inArraysOf, model, prompt, provide, textOf } from "./support.ts"

const DELTAS = 20_000
const AGENTS = 10_000
const MAX_KB = 10

const countOfAgent = Effect.gen(function* () {
  const agent = yield* Agent.make({ model })
  let count = 0
  yield* agent.subscribe((event) => {
    if (event.type === "message_update") count++
  })
  yield* agent.prompt(prompt)
  return count
}).pipe(Effect.scoped, Effect.provide(Toolset.empty))

for (const size of [64, 1]) {
  const responses = [inArraysOf(size, textOf(DELTAS))]
  await compare(`${DELTAS} deltas in arrays of ${size}, through an agent`, [
    {
      name: "Loop.run",
      run: () =>
        countEvents(Loop.run({ model, prompts: [prompt] }), "message_update").pipe(
          provide(responses),
          Effect.runPromise
        ),
      count: DELTAS + 2
    },
    {
      name: "Agent with one listener",
      run: () => countOfAgent.pipe(provide(responses), Effect.runPromise),
      count: DELTAS + 2,
      atMost: size === 64 ? 1.5 : undefined
    }
  ])
}

/** Keeps what was made reachable until the memory was measured. */
const idle = Effect.gen(function* () {
  const scope = yield* Scope.make()
  const before = heap()
  const agents = yield* Effect.forEach(Array.from({ length: AGENTS }), () =>
    Scope.provide(Agent.make({ model }), scope)
  )
  const perAgent = (heap() - before) / agents.length / 1024
  yield* Scope.close(scope, Exit.void)
  return perAgent
}).pipe(Effect.provide(Layer.mergeAll(Toolset.empty)), provide([]))

const heap = (): number => {
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}

const perAgent = await Effect.runPromise(idle)
print(`${AGENTS} idle agents`, [
  {
    name: "KB each (heap; run with --expose-gc)",
    value: perAgent,
    unit: "KB",
    ratio: 1,
    bound: { of: "value", atMost: MAX_KB }
  }
])
