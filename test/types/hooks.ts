// A hook cannot fail, and what hooks need shows: in their type, in a combination, in a layer.
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type { Message } from "../../src/Message.ts"
import * as Hooks from "../../src/services/Hooks.ts"
import { auditing, Clockwork, type Files, holds, is, Net, type Same } from "./services.ts"

type H = Hooks.Hooks

const failing = Effect.fail("no")
// @ts-expect-error a hook cannot fail
is<H>({ transformContext: () => failing })
// @ts-expect-error a hook cannot fail
is<H>({ convertToLlm: () => failing })
// @ts-expect-error a hook cannot fail
is<H>({ beforeToolCall: () => failing })
// @ts-expect-error a hook cannot fail
is<H>({ afterToolCall: () => failing })
// @ts-expect-error a hook cannot fail
is<H>({ prepareNextTurn: () => failing })
// @ts-expect-error a hook cannot fail
is<H>({ shouldStopAfterTurn: () => failing })
// @ts-expect-error a hook gives an Effect
is<H>({ shouldStopAfterTurn: async () => true })
// @ts-expect-error hooks without needs have none
is<H>(auditing)

// What they may give.
const decided: H = { beforeToolCall: () => Effect.succeed(Hooks.block("no")) }
// @ts-expect-error a decision is made, not left out
is<H>({ beforeToolCall: () => Effect.void })
is<H>({ afterToolCall: () => Effect.void, prepareNextTurn: () => Effect.void })
// @ts-expect-error models read the messages of models
is<H>({ convertToLlm: (messages: ReadonlyArray<Message>) => Effect.succeed(messages) })

// What they are given is read-only.
is<H>({
  beforeToolCall: ({ context }) => {
    // @ts-expect-error the transcript is not the hook's to change
    context.messages.push()
    return Effect.succeed(Hooks.allow)
  },
  prepareNextTurn: (turn) => {
    // @ts-expect-error nor is the list of results
    turn.toolResults.length = 0
    return Effect.void
  }
})

// Needs add up.
const fetching: Hooks.Hooks<Net> = { shouldStopAfterTurn: () => Net.use(() => Effect.succeed(true)) }
const both = Hooks.combine(auditing, fetching, decided)
holds<Same<typeof both, Hooks.Hooks<Clockwork | Net>>>()
const nothing = Hooks.combine()
holds<Same<typeof nothing, Hooks.Hooks>>()
holds<Same<Hooks.Services<readonly [typeof auditing, typeof fetching]>, Clockwork | Net>>()
holds<Same<Hooks.Services<[]>, never>>()

const layer = Hooks.layer([auditing, fetching])
holds<Same<typeof layer, Layer.Layer<never, never, Clockwork | Net>>>()

const provided = Hooks.provide(auditing, Context.make(Clockwork, ""))
holds<Same<typeof provided, Hooks.Hooks>>()
// @ts-expect-error not with something else
Hooks.provide(auditing, Context.make(Net, ""))

// The service needs nothing, and whoever reads it gets hooks without needs.
const read = Hooks.Hooks
holds<Same<Effect.Services<typeof read>, never>>()
holds<Same<Effect.Success<typeof read>, Hooks.Hooks>>()

// Hooks that need less can stand where some need more.
is<Hooks.Hooks<Clockwork | Files>>(auditing)
