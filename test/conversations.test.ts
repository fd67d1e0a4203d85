// The conversations of the example backend under a virtual clock: when they are let go, what is left of them, and how long
// it takes to end them all.
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { Conversations } from "../examples/backend/Conversations.ts"
import { Store } from "../examples/backend/Store.ts"
import type * as Scripted from "../src/providers/Scripted.ts"
import { Provider } from "../src/services/Provider.ts"
import { Toolset } from "../src/services/Toolset.ts"
import { scripts, textOf } from "./support/backend.ts"
import { call, model, pause, say, tool, user } from "./support/make.ts"

const deaf = tool("deaf", () => Effect.uninterruptible(Effect.never))

const layerOf = (provider: Provider["Service"]) =>
  Conversations.layer({ agent: { model, gracePeriod: "10 seconds" }, idleTimeToLive: "1 minute" }).pipe(
    Layer.provideMerge(Store.memory),
    Layer.provide([Layer.succeed(Provider, provider), Toolset.layer(deaf)])
  )

/** Conversations of which each plays the script of its first prompt. */
const playing = (turns: (prompt: string) => ReadonlyArray<Scripted.Turn>) => layerOf(scripts(turns).provider)

const minutes = (count: number) => pause(count * 60_000)

/** Prompts a conversation and goes away at once. */
const prompt = (id: string, text: string) =>
  Effect.scoped(Effect.asVoid(Conversations.use((conversations) => conversations.prompt(id, text))))

/** The agent of a conversation, which is not held. */
const agentOf = (id: string) => Effect.scoped(Conversations.use(({ get }) => get(id)))

const isClosed = (agent: Effect.Success<ReturnType<typeof agentOf>>) =>
  Effect.gen(function* () {
    const { withdraw } = yield* agent.steer(user("?"))
    return !(yield* withdraw)
  })

describe("a conversation", () => {
  it.effect("is let go when it was idle for long enough, and goes on from what was said", () =>
    Effect.gen(function* () {
      yield* prompt("c", "go")
      const first = yield* agentOf("c")
      yield* TestClock.adjust("50 seconds")
      assert.strictEqual(yield* agentOf("c"), first)
      yield* TestClock.adjust("50 seconds")
      assert.isFalse(yield* isClosed(first))
      yield* TestClock.adjust("10 seconds")
      assert.isTrue(yield* isClosed(first))

      yield* prompt("c", "again")
      const { messages } = yield* Effect.flatMap(agentOf("c"), ({ state }) => state)
      assert.deepStrictEqual(messages.map(textOf), ["go", "One.", "again", "Two."])
    }).pipe(Effect.provide(playing(() => [[say("One.")], [say("Two.")]])))
  )

  it.effect("is held while it runs, also by a run that it starts itself, and while somebody uses it", () =>
    Effect.gen(function* () {
      const { steer } = yield* Conversations
      yield* prompt("c", "go")
      const agent = yield* agentOf("c")
      yield* Effect.gen(function* () {
        yield* agent.subscribe(({ type }) => (type === "agent_end" ? late : undefined))
        const late = Effect.orDie(Effect.scoped(steer("c", "one more")))
        yield* TestClock.adjust("5 minutes")
      }).pipe(Effect.scoped)
      assert.deepInclude(yield* agent.state, { isStreaming: true, isQueued: false })
      yield* TestClock.adjust("5 minutes")
      const { messages } = yield* agent.state
      assert.deepStrictEqual(messages.map(textOf), ["go", "One.", "one more", "Two."])
      yield* Effect.gen(function* () {
        const { get } = yield* Conversations
        yield* get("c")
        yield* TestClock.adjust("5 minutes")
        assert.isFalse(yield* isClosed(agent))
      }).pipe(Effect.scoped)
      yield* TestClock.adjust("1 minute")
      assert.isTrue(yield* isClosed(agent))
    }).pipe(
      Effect.provide(
        playing(() => [
          [minutes(5), say("One.")],
          [minutes(5), say("Two.")]
        ])
      )
    )
  )

  it.effect("keeps what was queued when it is let go", () =>
    Effect.gen(function* () {
      const { steer } = yield* Conversations
      const { load } = yield* Store
      yield* prompt("c", "go")
      yield* Effect.scoped(steer("c", "also this"))
      const first = yield* agentOf("c")
      yield* first.abort
      yield* first.waitForIdle
      yield* TestClock.adjust("1 minute")
      assert.isTrue(yield* isClosed(first))

      const second = yield* agentOf("c")
      assert.isTrue((yield* second.state).isQueued)
      yield* prompt("c", "again")
      const { messages, isQueued } = yield* second.state
      assert.deepStrictEqual(messages.map(textOf), ["go", "", "again", "also this", "Two."])
      assert.isFalse(isQueued)
      assert.deepStrictEqual(yield* load("c"), { messages, queued: [] })
    }).pipe(Effect.provide(playing(() => [[minutes(5)], [say("Two.")]])))
  )

  it.effect("does not run in the context of the request that was the first", () => {
    class Caller extends Context.Reference<string>("test/Caller", { defaultValue: () => "nobody" }) {}
    const provider: Provider["Service"] = {
      stream: () =>
        Stream.unwrap(
          Effect.map(Caller, (delta) =>
            Stream.make(
              { type: "start" },
              { type: "text_start", contentIndex: 0 },
              { type: "text_delta", contentIndex: 0, delta },
              { type: "done", reason: "stop" }
            )
          )
        )
    }
    return Effect.gen(function* () {
      yield* Effect.provideService(prompt("c", "who?"), Caller, "first")
      yield* Effect.provideService(prompt("c", "who?"), Caller, "second")
      const { messages } = yield* Effect.flatMap(agentOf("c"), ({ state }) => state)
      assert.deepStrictEqual(messages.map(textOf), ["who?", "first", "who?", "second"])
    }).pipe(Effect.provide(layerOf(provider)))
  })
})

describe("all conversations", () => {
  it.effect("end together within one grace period, and what was said is stored", () =>
    Effect.gen(function* () {
      const { close } = yield* Conversations
      const { load } = yield* Store
      const ids = Array.from({ length: 50 }, (_, index) => `c${index}`)
      yield* Effect.forEach(ids, (id) => prompt(id, `prompt of ${id}`))
      const closing = yield* Effect.forkChild(close, { startImmediately: true })
      yield* TestClock.adjust("9 seconds")
      assert.isUndefined(closing.pollUnsafe())
      yield* TestClock.adjust("1 second")
      assert.isDefined(closing.pollUnsafe())
      for (const id of ids) {
        const { messages } = yield* load(id)
        assert.include(textOf(messages.at(-1)!), "may still be running")
        assert.deepStrictEqual(
          messages.map(({ role }) => role),
          ["user", "assistant", "toolResult"]
        )
      }
      assert.deepInclude(yield* Effect.flip(prompt("c0", "again")), { _tag: "ShuttingDown" })
      assert.deepInclude(yield* Effect.flip(agentOf("c0")), { _tag: "ShuttingDown" })
    }).pipe(Effect.provide(playing(() => [[call("deaf")]])))
  )
})
