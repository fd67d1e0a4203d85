// A run cannot fail, and what tools, hooks and polls need adds up in its type; what a provider needs does not show.
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import type { AgentEvent } from "../../src/AgentEvent.ts"
import * as Loop from "../../src/Loop.ts"
import { Provider, route } from "../../src/services/Provider.ts"
import type * as Tool from "../../src/Tool.ts"
import { auditing, type Clockwork, fetch, Files, holds, model, Net, pure, read, type Same } from "./services.ts"

type Error<S> = S extends Stream.Stream<infer _A, infer E, infer _R> ? E : "no stream"
type Needs<S> = S extends Stream.Stream<infer _A, infer _E, infer R> ? R : "no stream"
type Element<S> = S extends Stream.Stream<infer A, infer _E, infer _R> ? A : "no stream"

const plain = Loop.run({ model, prompts: [] })
holds<Same<Error<typeof plain>, never>>()
holds<Same<Element<typeof plain>, AgentEvent>>()
holds<Same<Needs<typeof plain>, Provider>>()

const none = Loop.run({ model, prompts: [], tools: [] })
holds<Same<Needs<typeof none>, Provider>>()

// The needs of tools add up as those of a tuple.
const tools = Loop.run({ model, prompts: [], tools: [read, fetch, pure] })
holds<Same<Error<typeof tools>, never>>()
holds<Same<Needs<typeof tools>, Provider | Files | Net>>()
const one = Loop.run({ model, prompts: [], tools: [pure] })
holds<Same<Needs<typeof one>, Provider>>()
const list: ReadonlyArray<Tool.Any<Files>> = [read]
const listed = Loop.run({ model, prompts: [], tools: list })
holds<Same<Needs<typeof listed>, Provider | Files>>()

// So do those of hooks and polls.
const hooks = Loop.run({ model, prompts: [], tools: [read], hooks: auditing })
holds<Same<Needs<typeof hooks>, Provider | Files | Clockwork>>()
const polls = Loop.run({
  model,
  prompts: [],
  steering: Net.use(() => Effect.succeed([]))
})
holds<Same<Needs<typeof polls>, Provider | Net>>()
const retrying = Loop.run({
  model,
  prompts: [],
  retry: Schedule.while(Schedule.spaced(1), () => Net.use(() => Effect.succeed(false)))
})
holds<Same<Needs<typeof retrying>, Provider | Net>>()

const resumed = Loop.resume({ model, tools: [read] })
type Resumed = typeof resumed extends Effect.Effect<infer A, infer E, infer R> ? [A, E, R] : never
holds<Same<Resumed[1], Loop.CannotResume>>()
holds<Same<Resumed[2], never>>()
holds<Same<Error<Resumed[0]>, never>>()
holds<Same<Needs<Resumed[0]>, Provider | Files>>()

// Polls, retry policies and keys cannot fail.
Loop.run({
  model,
  prompts: [],
  // @ts-expect-error a poll cannot fail
  steering: Effect.fail("no")
})
Loop.run({
  model,
  prompts: [],
  // @ts-expect-error a poll cannot fail
  followUp: Effect.fail("no")
})
Loop.run({
  model,
  prompts: [],
  // @ts-expect-error a retry policy cannot fail
  retry: Schedule.while(Schedule.spaced(1), () => Effect.fail("no"))
})
Loop.run({
  model,
  prompts: [],
  // @ts-expect-error the resolution of a key cannot fail
  resolveApiKey: (): Effect.Effect<Redacted.Redacted | undefined, string> => Effect.fail("no")
})
Loop.run({
  model,
  prompts: [],
  // @ts-expect-error keys are redacted
  apiKey: "sk-plain"
})
Loop.run({
  model,
  // @ts-expect-error a prompt is a message, not a text
  prompts: ["hello"]
})
// @ts-expect-error a run needs a model
Loop.run({ prompts: [] })
// @ts-expect-error resuming takes no prompts
Loop.resume({ model, prompts: [] })

// Whoever runs a stream meets its needs, by type.
const drained = Stream.runDrain(tools)
// @ts-expect-error the provider is missing
Effect.runPromise(drained.pipe(Effect.provideService(Files, ""), Effect.provideService(Net, "")))
// @ts-expect-error the needs of a tool are missing
Effect.runPromise(Effect.provideService(drained, Provider, { stream: () => Stream.empty }))

// What a provider needs is met where it is built.
// @ts-expect-error a provider's stream has no needs
Provider.of({ stream: () => Stream.fromEffect(Net.use(() => Effect.never)) })
// @ts-expect-error a provider fails with a ProviderError, and nothing else
Provider.of({ stream: () => Stream.fail("no") })
// @ts-expect-error a provider gives the events that the contract names
Provider.of({ stream: () => Stream.make({ type: "message", text: "x" }) })
const layer = Layer.effect(
  Provider,
  Net.use(() => Effect.succeed({ stream: () => Stream.empty }))
)
holds<Same<typeof layer, Layer.Layer<Provider, never, Net>>>()

// A route needs what its providers need, and fails with what they fail with.
const failing: Layer.Layer<Provider, "no config", Files> = Layer.effect(
  Provider,
  Files.use(() => Effect.fail("no config"))
)
const routed = route({ a: layer, b: failing })
holds<Same<typeof routed, Layer.Layer<Provider, "no config", Net | Files>>>()
// @ts-expect-error a route is made of providers
route({ a: Layer.succeed(Net, "") })
