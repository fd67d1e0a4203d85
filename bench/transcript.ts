/** A turn after a long transcript, which must cost about as much as one after a short one. */
import * as Effect from "effect/Effect"
import * as Loop from "../src/Loop.ts"
import { compare, type Variant } from "./harness.ts"
import * as pi from "./pi.ts"
import { allHooks, countEvents, echo, model, prompt, provide, transcriptOf, turnsOf } from "./support.ts"

const TURNS = 200
const SHORT = 1_000
const LONG = 16_000

const responses = turnsOf(TURNS, 1)

const compareLengths = (how: string, atMost: number | undefined, run: (messages: Messages) => Promise<number>) => {
  const variantOf = (length: number): Variant => {
    const messages = transcriptOf(length)
    return { name: `${length} messages`, run: () => run(messages), count: TURNS }
  }
  return compare(`${TURNS} turns with a call each, after a transcript, ${how}`, [
    variantOf(SHORT),
    { ...variantOf(LONG), atMost }
  ])
}

type Messages = ReturnType<typeof transcriptOf>

const runOurs = (messages: Messages, hooks?: typeof allHooks) =>
  countEvents(Loop.run({ model, prompts: [prompt], messages, tools: [echo], hooks }), "tool_execution_end").pipe(
    provide(responses),
    Effect.runPromise
  )

await compareLengths("Loop.run", 1.5, runOurs)
await compareLengths("Loop.run, all hooks", undefined, (messages) => runOurs(messages, allHooks))
for (const { name, agentLoop } of pi.versions) {
  await compareLengths(name, undefined, (messages) =>
    pi.countEvents(agentLoop, { responses, messages }, "tool_execution_end")
  )
}
