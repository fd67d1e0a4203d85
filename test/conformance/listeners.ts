// The listeners that the commands of agent cases add (section 6). One that throws dies.
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import type { AgentEvent } from "../../src/AgentEvent.ts"
import type { InstantCommand } from "./agentScenario.ts"
import type { Case } from "./case.ts"

/** Adds a listener that notes what it looks at. */
export const subscribe = Effect.fnUntraced(function* (of: Case, how: Extract<InstantCommand, { do: "subscribe" }>) {
  const { id, only, delayMs, throwOn, showSignal } = how
  let looked = 0
  const note = (event: AgentEvent, phase: "in" | "out") =>
    Effect.map(Clock.currentTimeMillis, (t) => {
      const aborted = event.type === "agent_end" && event.reason === "aborted"
      const at = of.observer.events.length
      of.listeners.push({ listener: id, event: event.type, phase, at, t, ...(showSignal === true && { aborted }) })
    })
  const scope = yield* Scope.fork(of.scope)
  of.subscriptions.set(id, scope)
  yield* of.agent
    .subscribe(
      Effect.fnUntraced(function* (event) {
        if (only?.includes(event.type) === false) return
        yield* note(event, "in")
        if (throwOn?.type === event.type && ++looked === (throwOn.nth ?? 1)) {
          return yield* Effect.die(new Error(throwOn.message))
        }
        if (delayMs === undefined) return
        yield* Effect.sleep(delayMs)
        yield* note(event, "out")
      })
    )
    .pipe(Scope.provide(scope))
})
