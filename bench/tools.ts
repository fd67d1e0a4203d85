/** Turns with tool calls, one by one and side by side, against pi-agent-core. */
import * as Effect from "effect/Effect"
import * as Loop from "../src/Loop.ts"
import { compareApart } from "./harness.ts"
import * as pi from "./pi.ts"
import { allHooks, countEvents, echo, model, prompt, provide, turnsOf } from "./support.ts"

for (const { turns, calls } of [
  { turns: 1_000, calls: 1 },
  { turns: 50, calls: 20 }
]) {
  const responses = turnsOf(turns, calls)
  const count = turns * calls
  const variantOf = (name: string, hooks: typeof allHooks | undefined) => ({
    name,
    run: () =>
      countEvents(Loop.run({ model, prompts: [prompt], tools: [echo], hooks }), "tool_execution_end").pipe(
        provide(responses),
        Effect.runPromise
      ),
    count
  })
  const piVariants = pi.versions.flatMap(({ name, agentLoop }) => [
    { name, run: () => pi.countEvents(agentLoop, { responses }, "tool_execution_end"), count },
    {
      name: `${name}, all hooks`,
      run: () => pi.countEvents(agentLoop, { responses, hooks: pi.allHooks }, "tool_execution_end"),
      count
    }
  ])
  await compareApart(`${turns} turns, calls in each: ${calls}`, [
    ...piVariants,
    variantOf("Loop.run", undefined),
    variantOf("Loop.run, all hooks", allHooks)
  ])
}
