// Corners where two rules meet: leaving and many ends at once, decoding and what it drops, objects that are used again.
import { expect, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { decodeArguments } from "../../src/internal/arguments.ts"
import * as Scripted from "../../src/providers/Scripted.ts"
import type { ProviderEvent } from "../../src/services/Provider.ts"
import * as Tool from "../../src/Tool.ts"
import { call, provider, tokensIn, tool, user } from "../support/make.ts"
import { play, settle, stream } from "../support/play.ts"

it.effect("a consumer that leaves at the first end of many does not wait for the other ends", () =>
  Effect.gen(function* () {
    yield* TestClock.adjust(0)
    const names = Array.from({ length: 40 }, (_, index) => `t${index}`)
    const scripted = yield* Scripted.make({ turns: [names.map((name) => call(name))] })
    const run = stream(scripted, { tools: names.map((name) => tool(name)) })
    const isEnd = Stream.takeUntil(run, ({ type }) => type === "tool_execution_end")
    const fiber = yield* Effect.forkDetach(Effect.andThen(Stream.runDrain(isEnd), Clock.currentTimeMillis))
    yield* settle
    yield* TestClock.adjust("1 minute")
    yield* settle
    expect(fiber.pollUnsafe()).toEqual(Exit.succeed(0))
  })
)

const decoded = <P, E>(parameters: Schema.Codec<P, E>, args: unknown) => {
  const described = Tool.make({ name: "t", description: "", parameters, execute: () => Effect.succeed("") })
  return Effect.runSync(decodeArguments(described, args))
}

it("an unknown field that is null is kept", () => {
  expect(decoded(Schema.Struct({ n: Schema.Finite }), { n: 1, extra: null })).toEqual({ n: 1, extra: null })
})

it("a field that the schema renames is given once", () => {
  const Renamed = Schema.Struct({ path: Schema.String }).pipe(Schema.encodeKeys({ path: "file_path" }))
  expect(decoded(Renamed, { file_path: "x" })).toEqual({ path: "x" })
})

it.effect("a refusal of what a text held shows it", () =>
  Effect.gen(function* () {
    const described = Tool.make({
      name: "t",
      description: "",
      parameters: Schema.Struct({ list: Schema.Array(Schema.Finite) }),
      execute: () => Effect.succeed("")
    })
    const text = yield* Effect.flip(decodeArguments(described, { list: '["x"]' }))
    expect(text).toContain('- list[0]: Expected number, got "x"')
  })
)

it.effect("a provider that keeps one usage object changes no earlier message", () =>
  Effect.gen(function* () {
    const usage = { ...tokensIn(0) }
    const counting = provider(() =>
      Stream.suspend(() => {
        usage.input += 1
        usage.totalTokens += 1
        return Stream.make<Array<ProviderEvent>>({ type: "done", reason: "stop", usage })
      })
    )
    const messages = [[user("again")], []]
    yield* play(counting, { followUp: Effect.sync(() => messages.shift() ?? []) })
  })
)
