// The commands of agent cases (section 6), carried out on an agent. Those that take time leave an outcome behind.
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import type * as Agent from "../../src/Agent.ts"
import type { Image } from "../../src/Message.ts"
import type { ThinkingLevel } from "../../src/services/Provider.ts"
import type { InstantCommand, TimedCommand } from "./agentScenario.ts"
import type { Case, Members } from "./case.ts"
import { subscribe } from "./listeners.ts"
import { toMessage, toMessages } from "./messages.ts"

export const isTimed = (command: TimedCommand | InstantCommand): command is TimedCommand =>
  command.do === "prompt" || command.do === "continue" || command.do === "waitForIdle"

/** Starts a command that takes time; where it has a place in the scenario, its outcome is recorded. */
export const start = (of: Case, command: TimedCommand, place?: Members): Effect.Effect<Fiber.Fiber<void>> =>
  timed(of, command).pipe(
    Effect.result,
    Effect.andThen((result) => (place === undefined ? Effect.void : noteOutcome(of, place, result))),
    Effect.forkDetach({ startImmediately: true })
  )

const timed = (
  { agent }: Case,
  command: TimedCommand
): Effect.Effect<unknown, Agent.AgentBusy | Agent.CannotContinue> => {
  switch (command.do) {
    case "prompt":
      return agent.prompt(inputOf(command))
    case "continue":
      return agent.continue
    case "waitForIdle":
      return agent.waitForIdle
  }
}

const inputOf = ({ text, images, message, messages }: Extract<TimedCommand, { do: "prompt" }>): Agent.Input => {
  if (messages !== undefined) return toMessages(messages)
  if (message !== undefined) return toMessage(message)
  return images === undefined ? text! : { text: text!, images: images as unknown as ReadonlyArray<Image> }
}

const noteOutcome = (of: Case, place: Members, result: Result.Result<unknown, Error>) =>
  Effect.map(Clock.currentTimeMillis, (t) => {
    const outcome = Result.match(result, {
      onSuccess: () => ({ status: "ok" }),
      onFailure: ({ message }) => ({ status: "rejected", error: message })
    })
    of.outcomes.push({ ...place, ...outcome, at: of.observer.events.length, t })
  })

/** Carries out a command that takes no time. */
export const perform = Effect.fnUntraced(function* (of: Case, command: InstantCommand) {
  const { agent } = of
  switch (command.do) {
    case "steer":
      return yield* Effect.asVoid(agent.steer(toMessage(command.message)))
    case "followUp":
      return yield* Effect.asVoid(agent.followUp(toMessage(command.message)))
    case "clearSteering":
      return yield* agent.clearSteering
    case "clearFollowUp":
      return yield* agent.clearFollowUp
    case "clearAll":
      return yield* agent.clearQueues
    case "abort":
      return yield* agent.abort
    case "reset":
      return yield* Effect.orDie(agent.reset)
    case "snapshot":
      return yield* snapshot(of)
    case "setSteeringMode":
      return yield* agent.setSteeringMode(command.mode)
    case "setFollowUpMode":
      return yield* agent.setFollowUpMode(command.mode)
    case "setToolExecution":
      return yield* agent.setToolExecution(command.mode)
    case "setSystemPrompt":
      return yield* agent.setSystemPrompt(command.systemPrompt)
    case "setModel":
      return yield* agent.setModel(command.model)
    case "setThinkingLevel":
      return yield* agent.setThinkingLevel(command.level as ThinkingLevel)
    case "setTools":
      return yield* agent.setTools(of.named(command.tools))
    case "setMessages":
      return yield* agent.setMessages(toMessages(command.messages))
    case "subscribe":
      return yield* subscribe(of, command)
    case "unsubscribe":
      return yield* Scope.close(of.subscriptions.get(command.id)!, Exit.void)
  }
})

const snapshot = Effect.fnUntraced(function* (of: Case) {
  const state = structuredClone(of.recordOf(yield* of.agent.state))
  of.snapshots.push({ at: of.observer.events.length, t: yield* Clock.currentTimeMillis, state })
})
