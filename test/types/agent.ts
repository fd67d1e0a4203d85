// A prompt can fail with nothing but the busy error, a listener cannot fail, and what hooks need shows: in the agent's layer
// for its own, in the prompt's type for those of a prompt. What its tools and provider need does not show.
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import * as Agent from "../../src/Agent.ts"
import type { AgentEvent } from "../../src/AgentEvent.ts"
import type { Message } from "../../src/Message.ts"
import * as Hooks from "../../src/services/Hooks.ts"
import type { Provider } from "../../src/services/Provider.ts"
import { Toolset } from "../../src/services/Toolset.ts"
import { auditing, Clockwork, type Files, holds, is, model, Net, pure, read, type Same } from "./services.ts"

type Error<E> = E extends Effect.Effect<infer _A, infer Err, infer _R> ? Err : "no effect"
type Needs<E> = E extends Effect.Effect<infer _A, infer _E, infer R> ? R : "no effect"
type LayerNeeds<L> = L extends Layer.Layer<infer _A, infer _E, infer R> ? R : "no layer"

declare const agent: Agent.Agent["Service"]

// ---------------------------------------------------------------------------------------------------------------------
// Errors
// ---------------------------------------------------------------------------------------------------------------------

const prompt = agent.prompt("go")
holds<Same<Error<typeof prompt>, Agent.AgentBusy>>()
holds<Same<Needs<typeof prompt>, never>>()
holds<Same<Effect.Success<typeof prompt>, Agent.RunResult>>()
holds<Same<Error<typeof agent.continue>, Agent.AgentBusy | Agent.CannotContinue>>()
holds<Same<Error<typeof agent.reset>, Agent.AgentBusy>>()
holds<Same<Error<typeof agent.abort>, never>>()
holds<Same<Error<typeof agent.waitForIdle>, never>>()
holds<Same<Error<ReturnType<typeof agent.steer>>, never>>()

const stream = agent.stream("go")
holds<Same<typeof stream, Stream.Stream<AgentEvent, Agent.AgentBusy>>>()

type Receipt = Effect.Success<ReturnType<typeof agent.followUp>>
holds<Same<Receipt["delivered"], Effect.Effect<Agent.Delivery, Agent.NotDelivered>>>()
holds<Same<Receipt["withdraw"], Effect.Effect<boolean>>>()

// ---------------------------------------------------------------------------------------------------------------------
// Prompts
// ---------------------------------------------------------------------------------------------------------------------

declare const message: Message
declare const messages: ReadonlyArray<Message>
is<Agent.Input>("text")
is<Agent.Input>({ text: "text", images: [{ type: "image", data: "", mimeType: "image/png" }] })
is<Agent.Input>(message)
is<Agent.Input>(messages)
// @ts-expect-error images come with a text
is<Agent.Input>({ images: [] })
// @ts-expect-error a list of texts is no prompt
is<Agent.Input>(["a", "b"])

// ---------------------------------------------------------------------------------------------------------------------
// Listeners
// ---------------------------------------------------------------------------------------------------------------------

is<Agent.Listener>(() => {})
is<Agent.Listener>(() => Effect.void)
is<Agent.Listener>((event) => (event.type === "agent_end" ? Effect.log(event.reason) : undefined))
// @ts-expect-error a listener cannot fail
is<Agent.Listener>(() => Effect.fail("no"))
// @ts-expect-error a listener has no needs
is<Agent.Listener>(() => Effect.asVoid(Clockwork))
// @ts-expect-error nobody would wait for a promise
is<Agent.Listener>(async () => {})
// @ts-expect-error listening ends with a scope
is<Effect.Effect<void>>(agent.subscribe(() => {}))
// @ts-expect-error watching ends with a scope
is<Effect.Effect<unknown>>(agent.watch)
holds<Same<Needs<typeof agent.watch>, Scope.Scope>>()

// ---------------------------------------------------------------------------------------------------------------------
// Needs
// ---------------------------------------------------------------------------------------------------------------------

const plain = Agent.layer({ model })
holds<Same<typeof plain, Layer.Layer<Agent.Agent, never, Provider | Toolset>>>()
const audited = Agent.layer({ model, hooks: auditing })
holds<Same<LayerNeeds<typeof audited>, Provider | Toolset | Clockwork>>()
const both = Agent.layer({
  model,
  hooks: Hooks.combine(auditing, { shouldStopAfterTurn: () => Effect.as(Net, true) })
})
holds<Same<LayerNeeds<typeof both>, Provider | Toolset | Clockwork | Net>>()
const made = Agent.make({ model, hooks: auditing })
holds<Same<Needs<typeof made>, Provider | Toolset | Clockwork | Scope.Scope>>()
declare const key: Redacted.Redacted
const keyed = Agent.layer({ model, resolveApiKey: () => Effect.as(Net, key) })
holds<Same<LayerNeeds<typeof keyed>, Provider | Toolset | Net>>()

const impatient = Agent.layer({ model, retry: false })
holds<Same<LayerNeeds<typeof impatient>, Provider | Toolset>>()
const retrying = Agent.layer({ model, retry: Schedule.while(Schedule.spaced(1), () => Effect.as(Net, true)) })
holds<Same<LayerNeeds<typeof retrying>, Provider | Toolset | Net>>()
// @ts-expect-error a retry policy is a Schedule, or false for none
is<Agent.Options>({ model, retry: true })

const audit = agent.prompt("go", { hooks: auditing })
holds<Same<Needs<typeof audit>, Clockwork>>()
holds<Same<Error<typeof audit>, Agent.AgentBusy>>()
const auditStream = agent.stream("go", { hooks: auditing })
holds<Same<typeof auditStream, Stream.Stream<AgentEvent, Agent.AgentBusy, Clockwork>>>()

// Tools bring their needs to the layer of the toolset, not to the agent's; those that are set later have none left.
const withTools = Agent.layer({ model }).pipe(Layer.provide(Toolset.layer(read, pure)))
holds<Same<LayerNeeds<typeof withTools>, Provider | Files>>()
is<Effect.Effect<void>>(agent.setTools([pure]))
// @ts-expect-error the needs of a tool are met before an agent gets it
is<Effect.Effect<void>>(agent.setTools([read]))

// Its queues and tools are the agent's own.
// @ts-expect-error what is polled is what was queued
is<Agent.Options>({ model, steering: Effect.succeed([]) })
// @ts-expect-error the tools come from the toolset
is<Agent.Options>({ model, tools: [pure] })
// @ts-expect-error an agent has a model
is<Agent.Options>({})
// @ts-expect-error a prompt sets hooks and a limit, and nothing else
is<Agent.PromptOptions>({ model })
