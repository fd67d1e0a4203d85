// Plays the scenario of a loop case under a test clock of its own, and gives what was seen in the form of a recording.
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as Loop from "../../src/Loop.ts"
import { Provider, type ThinkingLevel } from "../../src/services/Provider.ts"
import type { Violation } from "../../src/testing/TraceChecker.ts"
import * as Hooks from "./hooks.ts"
import { toMessages } from "./messages.ts"
import { normalise } from "./normalise.ts"
import * as Observer from "./observer.ts"
import * as ScriptedProvider from "./provider.ts"
import { Recording, type Scenario } from "./scenario.ts"
import * as Tools from "./tools.ts"

/** What takes longer in virtual time does not end. */
export const LIMIT_MS = 60_000

export interface Played<R> {
  /** `undefined` if the run did not end. */
  readonly recording: R | undefined
  readonly violation: Violation | undefined
}

export const play = Effect.fnUntraced(function* (scenario: Scenario) {
  const observer = yield* Observer.make
  const provider = yield* ScriptedProvider.make(scenario.provider.turns, observer)
  const fiber = yield* run(scenario, observer).pipe(
    Effect.andThen((error) => Effect.map(Clock.currentTimeMillis, (endMs) => ({ error, endMs }))),
    Effect.provideService(Provider, provider),
    Effect.forkChild({ startImmediately: true })
  )
  for (let ms = 0; ms < LIMIT_MS && fiber.pollUnsafe() === undefined; ms++) yield* TestClock.adjust(1)
  if (fiber.pollUnsafe() === undefined) {
    yield* Fiber.interrupt(fiber)
    return { recording: undefined, violation: undefined } satisfies Played<Recording>
  }
  const { error, endMs } = yield* Fiber.join(fiber)
  const { events } = observer
  const last = events.at(-1)
  const recording = {
    events,
    times: observer.times,
    newMessages: last?.type === "agent_end" ? last.messages : null,
    requests: observer.requests,
    hooks: observer.hooks,
    endMs,
    ...(error !== undefined && { error })
  }
  return {
    recording: normalise(Recording, recording),
    violation: error === undefined ? observer.check() : undefined
  } satisfies Played<Recording>
}, Effect.provide(TestClock.layer()))

/** Gives the message of the error, if the run was refused. */
const run = Effect.fnUntraced(function* (scenario: Scenario, observer: Observer.Observer) {
  const { context, config, reasoning, apiKey } = scenario
  const tools = scenario.tools.map((definition) => Tools.make(definition, observer))
  const named = (names: ReadonlyArray<string>) =>
    names.flatMap((name) => tools.find((tool) => tool.name === name) ?? [])
  const options = {
    model: scenario.model,
    systemPrompt: context.systemPrompt,
    messages: toMessages(context.messages),
    tools: context.tools && named(context.tools),
    thinkingLevel: reasoning as ThinkingLevel | undefined,
    hooks: Hooks.make(config, named, observer),
    steering: Hooks.poll("steering", config.steering, observer),
    followUp: Hooks.poll("followUp", config.followUp, observer),
    resolveApiKey: Hooks.resolveApiKey(config.getApiKey, observer),
    apiKey: apiKey === undefined ? undefined : Redacted.make(apiKey),
    toolExecution: config.toolExecution
  }
  const stream =
    scenario.entry === "continue"
      ? Loop.resume(options)
      : Effect.succeed(Loop.run({ ...options, prompts: toMessages(scenario.prompts) }))
  return yield* Effect.matchEffect(stream, {
    onSuccess: (events) =>
      Effect.as(
        Stream.runForEach(events, (event) => observer.handle(event, options.messages)),
        undefined
      ),
    onFailure: (error) => Effect.succeed(error.message)
  })
})
