// Plays the scenario of an agent case under a test clock of its own, and gives what was seen in the form of a recording.
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import * as Agent from "../../src/Agent.ts"
import { Provider, type ThinkingLevel } from "../../src/services/Provider.ts"
import { Toolset } from "../../src/services/Toolset.ts"
import { settle } from "../support/play.ts"
import { AgentRecording, type AgentScenario } from "./agentScenario.ts"
import type { Case } from "./case.ts"
import { isTimed, perform, start } from "./commands.ts"
import * as Hooks from "./hooks.ts"
import { toMessages } from "./messages.ts"
import { normalise } from "./normalise.ts"
import * as Observer from "./observer.ts"
import { LIMIT_MS, type Played } from "./play.ts"
import * as ScriptedProvider from "./provider.ts"
import { subscribeRecorder } from "./recorder.ts"
import * as Tools from "./tools.ts"

export const playAgent = Effect.fnUntraced(
  function* (scenario: AgentScenario) {
    const of = yield* make(scenario)
    yield* subscribeRecorder(of, scenario.triggers ?? [])
    const isOver = (yield* playCommands(of, scenario)) && (yield* waitForEnd(yield* start(of, { do: "waitForIdle" })))
    // Closing waits for what is deaf, and what is deaf is a failed case.
    yield* Effect.forkDetach(Scope.close(of.scope, Exit.void))
    if (!isOver) return { recording: undefined, violation: undefined } satisfies Played<AgentRecording>
    const { events, times, requests, hooks } = of.observer
    const { states, outcomes, snapshots, listeners, subscriptions } = of
    const recording = {
      events,
      times,
      requests,
      hooks,
      states,
      outcomes: outcomes.toSorted(byCommand),
      ...(snapshots.length > 0 && { snapshots }),
      ...(subscriptions.size > 0 && { listeners }),
      final: of.recordOf(yield* of.agent.state),
      endMs: yield* Clock.currentTimeMillis
    }
    return {
      recording: normalise(AgentRecording, recording),
      violation: events.length === 0 ? undefined : of.observer.check()
    } satisfies Played<AgentRecording>
  },
  Effect.provide([TestClock.layer(), Logger.layer([])])
)

const make = Effect.fnUntraced(function* ({ initial, options, ...scenario }: AgentScenario) {
  const observer = yield* Observer.make
  const tools = scenario.tools.map((definition) => Tools.make(definition, observer))
  const named = (names: ReadonlyArray<string>) =>
    names.flatMap((name) => tools.find((tool) => tool.name === name) ?? [])
  const scope = yield* Scope.make()
  const agent = yield* Agent.make({
    // What the reference takes where nothing is given.
    model: initial.model ?? { id: "unknown", provider: "unknown" },
    systemPrompt: initial.systemPrompt ?? "",
    messages: toMessages(initial.messages),
    thinkingLevel: initial.thinkingLevel as ThinkingLevel | undefined,
    hooks: Hooks.makeForAgent(options, named, observer),
    resolveApiKey: Hooks.resolveApiKey(options.getApiKey, observer),
    toolExecution: options.toolExecution,
    steeringMode: options.steeringMode,
    followUpMode: options.followUpMode
  }).pipe(
    Effect.provideService(Provider, yield* ScriptedProvider.make(scenario.provider.turns, observer)),
    Effect.provideService(Toolset, { tools: named(initial.tools ?? []) }),
    Scope.provide(scope)
  )
  return {
    agent,
    observer,
    scope,
    named,
    recordOf: (state) => ({
      systemPrompt: state.systemPrompt,
      model: state.model,
      thinkingLevel: state.thinkingLevel,
      tools: state.tools.map(({ name }) => name),
      messages: state.messages,
      isStreaming: state.isStreaming,
      streamingMessage: state.streamingMessage ?? null,
      pendingToolCalls: state.pendingToolCalls,
      errorMessage: state.errorMessage ?? null,
      queued: state.isQueued,
      steeringMode: state.steeringMode,
      followUpMode: state.followUpMode
    }),
    states: [],
    outcomes: [],
    snapshots: [],
    listeners: [],
    subscriptions: new Map()
  } satisfies Case as Case
})

/** Carries out the commands in order; false if one of them does not end. */
const playCommands = Effect.fnUntraced(function* (of: Case, { commands }: AgentScenario) {
  for (const [command, what] of commands.entries()) {
    if (what.do === "wait") yield* passUntil(what.ms, () => false)
    else if (!isTimed(what)) yield* perform(of, what)
    else {
      const fiber = yield* start(of, what, { command })
      if (what.await !== false && !(yield* waitForEnd(fiber))) return false
    }
    yield* settle
  }
  return true
})

const waitForEnd = Effect.fnUntraced(function* (fiber: Fiber.Fiber<void>) {
  const isOver = () => fiber.pollUnsafe() !== undefined
  yield* settle
  yield* passUntil(LIMIT_MS, isOver)
  return isOver()
})

/** Lets at most so much time pass, a millisecond at a time. */
const passUntil = Effect.fnUntraced(function* (ms: number, isOver: () => boolean) {
  for (let passed = 0; passed < ms && !isOver(); passed++) yield* TestClock.adjust(1)
})

/** Outcomes are listed by command, those of triggers last. */
const byCommand = (a: Record<string, unknown>, b: Record<string, unknown>): number =>
  order(a)
    .map((index, level) => index - order(b)[level]!)
    .find((difference) => difference !== 0) ?? 0

const order = (outcome: Record<string, unknown>): ReadonlyArray<number> =>
  ["command", "trigger", "step"].map((key) => (outcome[key] as number | undefined) ?? Number.MAX_SAFE_INTEGER)
