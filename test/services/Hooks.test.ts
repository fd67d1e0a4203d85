// Several hooks as one, and hooks as a layer: no permission hook is lost on the way.
import { describe, expect, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type { Message } from "../../src/Message.ts"
import * as Hooks from "../../src/services/Hooks.ts"
import { assistant, call, say, tool, user } from "../support/make.ts"
import { play } from "../support/play.ts"

const context: Hooks.RunContext = { systemPrompt: "s", messages: [user("u")], tools: undefined }
const before: Hooks.BeforeToolCall = {
  message: assistant([]),
  toolCall: { type: "toolCall", id: "a", name: "t", arguments: {} },
  args: { n: 1 },
  context
}
const after: Hooks.AfterToolCall = {
  ...before,
  result: { content: [{ type: "text", text: "old" }], details: 1, terminate: true },
  isError: false
}
const turn: Hooks.TurnEnd = { message: assistant([]), toolResults: [], context, newMessages: [] }

const none: Hooks.Hooks = {}

/** Runs one hook of some, which must be there. */
const ask = <A>(effect: Effect.Effect<A> | undefined) => effect ?? Effect.die("there is no such hook")

describe("combine", () => {
  it("of none, and of hooks without any of a kind, has none of that kind", () => {
    for (const hooks of [Hooks.combine(), Hooks.combine({}, {}), Hooks.combine({})]) {
      expect(Object.values(hooks).filter((hook) => hook !== undefined)).toEqual([])
    }
  })

  it("of one is that one", () => {
    const hooks: Hooks.Hooks = { shouldStopAfterTurn: () => Effect.succeed(true) }
    expect(Hooks.combine(hooks)).toBe(hooks)
    expect(Hooks.combine({}, hooks, {}).shouldStopAfterTurn).toBe(hooks.shouldStopAfterTurn)
  })

  it.effect("transformContext is piped", () =>
    Effect.gen(function* () {
      const add = (text: string): Hooks.Hooks => ({
        transformContext: (messages) => Effect.succeed([...messages, user(text)])
      })
      const { transformContext } = Hooks.combine(add("a"), none, add("b"), add("c"))
      expect(yield* ask(transformContext?.([user("u")]))).toEqual(["u", "a", "b", "c"].map((text) => user(text)))
    })
  )

  it.effect("convertToLlm is the last one given", () =>
    Effect.gen(function* () {
      const convert = (text: string): Hooks.Hooks => ({ convertToLlm: () => Effect.succeed([user(text)]) })
      const { convertToLlm } = Hooks.combine(convert("a"), convert("b"), none)
      expect(yield* ask(convertToLlm?.([]))).toEqual([user("b")])
    })
  )

  it.effect("beforeToolCall: the first block wins and ends the asking", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const decide = (name: string, decision: Hooks.ToolCallDecision): Hooks.Hooks => ({
        beforeToolCall: () => Effect.sync(() => (asked.push(name), decision))
      })
      const { beforeToolCall } = Hooks.combine(
        decide("allows", Hooks.allow),
        decide("blocks", Hooks.block("first")),
        decide("later", Hooks.block("second"))
      )
      expect(yield* ask(beforeToolCall?.(before))).toEqual(Hooks.block("first"))
      expect(asked).toEqual(["allows", "blocks"])
    })
  )

  it.effect("beforeToolCall: a block after changed arguments is a block", () =>
    Effect.gen(function* () {
      const { beforeToolCall } = Hooks.combine(
        { beforeToolCall: () => Effect.succeed(Hooks.allowWith({ n: 2 })) },
        { beforeToolCall: () => Effect.succeed(Hooks.block("no")) }
      )
      expect(yield* ask(beforeToolCall?.(before))).toEqual(Hooks.block("no"))
    })
  )

  it.effect("beforeToolCall: changed arguments flow on to the next, and out of the last", () =>
    Effect.gen(function* () {
      const seen: Array<unknown> = []
      const note = (given: Hooks.BeforeToolCall) => Effect.sync(() => (seen.push(given.args), Hooks.allow))
      const { beforeToolCall } = Hooks.combine(
        { beforeToolCall: note },
        { beforeToolCall: () => Effect.succeed(Hooks.allowWith({ n: 2 })) },
        { beforeToolCall: note },
        { beforeToolCall: ({ args }) => Effect.succeed(Hooks.allowWith([args])) },
        { beforeToolCall: note }
      )
      expect(yield* ask(beforeToolCall?.(before))).toEqual(Hooks.allowWith([{ n: 2 }]))
      expect(seen).toEqual([{ n: 1 }, { n: 2 }, [{ n: 2 }]])
    })
  )

  it.effect("beforeToolCall: arguments changed to undefined are changed", () =>
    Effect.gen(function* () {
      const seen: Array<unknown> = []
      const { beforeToolCall } = Hooks.combine(
        { beforeToolCall: () => Effect.succeed(Hooks.allowWith(undefined)) },
        { beforeToolCall: ({ args }) => Effect.sync(() => (seen.push(args), Hooks.allow)) }
      )
      expect(yield* ask(beforeToolCall?.(before))).toEqual(Hooks.allowWith(undefined))
      expect(seen).toEqual([undefined])
    })
  )

  it.effect("afterToolCall: each sees the result as the ones before left it; the later wins field by field", () =>
    Effect.gen(function* () {
      const seen: Array<unknown> = []
      const note = ({ result, isError }: Hooks.AfterToolCall) => Effect.sync(() => void seen.push([result, isError]))
      const content = [{ type: "text" as const, text: "new" }]
      const { afterToolCall } = Hooks.combine(
        { afterToolCall: note },
        { afterToolCall: () => Effect.succeed({ content, isError: true, details: 2 }) },
        { afterToolCall: note },
        { afterToolCall: () => Effect.succeed({ details: 3, terminate: false, content: null, isError: null }) },
        { afterToolCall: note }
      )
      expect(yield* ask(afterToolCall?.(after))).toEqual({ content, isError: true, details: 3, terminate: false })
      expect(seen).toEqual([
        [after.result, false],
        [{ content, details: 2, terminate: true }, true],
        [{ content, details: 3, terminate: false }, true]
      ])
    })
  )

  it.effect("prepareNextTurn: field by field, the later wins, and sees the context of the earlier", () =>
    Effect.gen(function* () {
      const seen: Array<string | undefined> = []
      const model = { id: "m2", provider: "p" }
      const other = { ...context, systemPrompt: "other" }
      const { prepareNextTurn } = Hooks.combine(
        { prepareNextTurn: () => Effect.succeed({ context: other, thinkingLevel: "low" }) },
        { prepareNextTurn: (turn) => Effect.sync(() => void seen.push(turn.context.systemPrompt)) },
        { prepareNextTurn: () => Effect.succeed({ model, thinkingLevel: "high", context: undefined }) }
      )
      expect(yield* ask(prepareNextTurn?.(turn))).toEqual({ context: other, model, thinkingLevel: "high" })
      expect(seen).toEqual(["other"])
    })
  )

  it.effect("shouldStopAfterTurn: all are asked, any true stops", () =>
    Effect.gen(function* () {
      for (const answers of [
        [false, false],
        [true, false],
        [false, true]
      ]) {
        let asked = 0
        const { shouldStopAfterTurn } = Hooks.combine(
          ...answers.map((answer): Hooks.Hooks => ({ shouldStopAfterTurn: () => Effect.sync(() => (asked++, answer)) }))
        )
        expect(yield* ask(shouldStopAfterTurn?.(turn))).toBe(answers.includes(true))
        expect(asked).toBe(2)
      }
    })
  )

  it.effect("one that dies, throws or gives no Effect is a defect of the combined one", () =>
    Effect.gen(function* () {
      const broken: ReadonlyArray<Hooks.Hooks> = [
        { transformContext: () => Effect.die("died") },
        {
          transformContext: () => {
            throw new Error("thrown")
          }
        },
        { transformContext: (() => 3) as unknown as () => Effect.Effect<ReadonlyArray<Message>> }
      ]
      for (const hooks of broken) {
        const { transformContext } = Hooks.combine({ transformContext: Effect.succeed }, hooks)
        expect(Exit.hasDies(yield* Effect.exit(ask(transformContext?.([]))))).toBe(true)
      }
    })
  )
})

class Name extends Context.Service<Name, string>()("test/Name") {}

/** Blocks every call in the name of a service. */
const naming: Hooks.Hooks<Name> = {
  beforeToolCall: () => Name.use((name) => Effect.succeed(Hooks.block(name)))
}
const blocking = (reason: string): Hooks.Hooks => ({ beforeToolCall: () => Effect.succeed(Hooks.block(reason)) })

describe("provide", () => {
  it.effect("meets the needs of every hook", () =>
    Effect.gen(function* () {
      const needing: Hooks.Hooks<Name> = {
        ...naming,
        transformContext: (messages) => Name.use(() => Effect.succeed(messages)),
        convertToLlm: () => Name.use(() => Effect.succeed([])),
        afterToolCall: () => Name.use(() => Effect.void),
        prepareNextTurn: () => Name.use(() => Effect.void),
        shouldStopAfterTurn: () => Name.use((name) => Effect.succeed(name === "n"))
      }
      const hooks = Hooks.provide(needing, Context.make(Name, "n"))
      expect(yield* ask(hooks.beforeToolCall?.(before))).toEqual(Hooks.block("n"))
      expect(yield* ask(hooks.shouldStopAfterTurn?.(turn))).toBe(true)
      expect(yield* ask(hooks.transformContext?.([user("u")]))).toEqual([user("u")])
      expect(yield* ask(hooks.convertToLlm?.([]))).toEqual([])
      yield* ask(hooks.afterToolCall?.(after))
      yield* ask(hooks.prepareNextTurn?.(turn))
      expect(Hooks.provide({}, Context.empty())).toEqual({})
    })
  )
})

/** What a run makes of a call under these layers. */
const resultUnder = Effect.fnUntraced(function* (layer: Layer.Layer<never>, own?: Hooks.Hooks) {
  const trace = yield* Effect.provide(
    play([[call("a")], [say("ok")]], { tools: [tool("a")], ...(own && { hooks: own }) }),
    layer
  )
  return trace.resultTexts[0]
})

describe("layer", () => {
  it.effect("without one there are no hooks", () =>
    Effect.gen(function* () {
      expect(yield* Hooks.Hooks).toEqual({})
      expect(yield* resultUnder(Layer.empty)).toBe("a done")
    })
  )

  it.effect("sets the hooks of runs below it, with its needs met where it is built", () =>
    Effect.gen(function* () {
      const layer = Layer.provide(Hooks.layer([naming, blocking("never asked")]), Layer.succeed(Name, "the layer's"))
      expect(yield* resultUnder(layer)).toBe("the layer's")
    })
  )

  it.effect("hooks of the run are asked after those of the service", () =>
    Effect.gen(function* () {
      const allowing: Hooks.Hooks = { beforeToolCall: () => Effect.succeed(Hooks.allow) }
      expect(yield* resultUnder(Hooks.layer([blocking("service")]), blocking("run"))).toBe("service")
      expect(yield* resultUnder(Hooks.layer([allowing]), blocking("run"))).toBe("run")
      expect(yield* resultUnder(Hooks.layer([blocking("service")]), allowing)).toBe("service")
    })
  )

  it.effect("replaces those above, unless it is to merge: then it is asked after them", () =>
    Effect.gen(function* () {
      const outer = Hooks.layer([blocking("outer")])
      const allowing: Hooks.Hooks = { beforeToolCall: () => Effect.succeed(Hooks.allow) }
      const inner = (options?: { readonly mergeWithExisting: boolean }) =>
        Layer.provideMerge(Hooks.layer([allowing], options), outer)
      expect(yield* resultUnder(inner())).toBe("a done")
      expect(yield* resultUnder(inner({ mergeWithExisting: false }))).toBe("a done")
      expect(yield* resultUnder(inner({ mergeWithExisting: true }))).toBe("outer")
      const both = Layer.provideMerge(Hooks.layer([blocking("inner")], { mergeWithExisting: true }), outer)
      expect(yield* resultUnder(both)).toBe("outer")
    })
  )
})
