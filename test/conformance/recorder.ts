// The first listener of agent cases (section 6): it notes what happens, and carries out what is triggered by it.
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import type { AgentEvent } from "../../src/AgentEvent.ts"
import type { Trigger } from "./agentScenario.ts"
import type { Case } from "./case.ts"
import { isTimed, perform, start } from "./commands.ts"

/** Notes each event with the state as its listeners find it, and then carries out what the event triggers. */
export const subscribeRecorder = (of: Case, triggers: ReadonlyArray<Trigger>) => {
  const counts = triggers.map(() => 0)
  return of.agent
    .subscribe(
      Effect.fnUntraced(function* (event) {
        const state = yield* of.agent.state
        yield* of.observer.handle(event, state.messages)
        of.states.push({
          isStreaming: state.isStreaming,
          streaming: state.streamingMessage?.role ?? null,
          pendingToolCalls: state.pendingToolCalls,
          messages: state.messages.length,
          errorMessage: state.errorMessage ?? null,
          queued: state.isQueued
        })
        for (const [trigger, { on, run }] of triggers.entries()) {
          if (isOf(on, event) && ++counts[trigger]! === on.nth) yield* pull(of, trigger, run)
        }
      })
    )
    .pipe(Scope.provide(of.scope))
}

const isOf = ({ type, update, role }: Trigger["on"], event: AgentEvent): boolean =>
  event.type === type &&
  (update === undefined || (event.type === "message_update" && event.assistantMessageEvent.type === update)) &&
  (role === undefined || ("message" in event && event.message.role === role))

const pull = Effect.fnUntraced(function* (of: Case, trigger: number, run: Trigger["run"]) {
  for (const [step, command] of run.entries()) {
    if (isTimed(command)) yield* start(of, command, { trigger, step })
    else yield* perform(of, command)
  }
})
