// Layers capture the services that are there when they are built. The span and the log annotations of that moment are not
// among them: what runs later belongs to those who run it.
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as References from "effect/References"
import * as Schema from "effect/Schema"
import * as Tracer from "effect/Tracer"
import * as Agent from "../../src/Agent.ts"
import * as Loop from "../../src/Loop.ts"
import * as Scripted from "../../src/providers/Scripted.ts"
import * as Hooks from "../../src/services/Hooks.ts"
import { Toolset } from "../../src/services/Toolset.ts"
import * as Tool from "../../src/Tool.ts"
import * as TraceChecker from "../../src/testing/TraceChecker.ts"
import { call, model, say, user } from "../support/make.ts"

const noted = (name: string) => Effect.withSpan(Effect.logInfo(name), name)

const Note = Tool.make({
  name: "note",
  description: "",
  parameters: Schema.Struct({}),
  execute: () => Effect.as(noted("tool"), "ok")
})

const hooks: Hooks.Hooks = { beforeToolCall: () => Effect.as(noted("hook"), Hooks.allow) }
const provider = Scripted.layer({ turns: [[call("note")], [say("done")]] })
const tools = Toolset.layer(Note)

/** Under a span, and with annotations of its own. */
const start = <A, E, R>(layer: Layer.Layer<A, E, R>) =>
  Layer.effectContext(
    Layer.build(layer).pipe(Effect.annotateLogs({ by: "start" }), Effect.withLogSpan("start"), Effect.withSpan("start"))
  )

/** Runs a request, and gives the parent of each span, and what was written beside each log. */
const observe = <E>(request: Effect.Effect<unknown, E>) =>
  Effect.gen(function* () {
    const parents: Record<string, string | undefined> = {}
    const beside: Record<string, unknown> = {}
    const tracer = Tracer.make({
      span: (options) => {
        const parent = Option.getOrUndefined(options.parent)
        parents[options.name] = parent?._tag === "Span" ? parent.name : undefined
        return new Tracer.NativeSpan(options)
      }
    })
    const logger = Logger.make(({ message, fiber }) => {
      const spans = fiber.getRef(References.CurrentLogSpans).map(([name]) => name)
      beside[String(message)] = [fiber.getRef(References.CurrentLogAnnotations), spans]
    })
    yield* request.pipe(Effect.withTracer(tracer), Effect.provide(Logger.layer([logger])))
    return { parents, beside }
  })

const asRequest = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  effect.pipe(Effect.annotateLogs({ by: "request" }), Effect.withLogSpan("request"), Effect.withSpan("request"))

const ofRequest = [{ by: "request" }, ["request"]]

const requests: Record<string, Effect.Effect<unknown, unknown>> = {
  "an agent": Agent.Agent.use((agent) => asRequest(agent.prompt("go"))).pipe(
    Effect.provide(start(Agent.layer({ model, hooks }).pipe(Layer.provide([provider, tools]))), { local: true })
  ),
  "a prompt with hooks": Agent.Agent.use((agent) => asRequest(agent.prompt("go", { hooks }))).pipe(
    Effect.provide(start(Agent.layer({ model }).pipe(Layer.provide([provider, tools]))), { local: true })
  ),
  "a run with hooks and tools of layers": Toolset.use(({ tools }) =>
    asRequest(TraceChecker.collect(Loop.run({ model, prompts: [user("go")], tools })))
  ).pipe(Effect.provide(start(Layer.mergeAll(provider, tools, Hooks.layer([hooks]))), { local: true }))
}

describe("spans and logs belong to who asks, not to what was going on when the layers were built:", () => {
  for (const [what, request] of Object.entries(requests)) {
    it.effect(what, () =>
      Effect.gen(function* () {
        const { parents, beside } = yield* observe(request)
        expect(parents).toMatchObject({ "Tool.execute": "request", tool: "Tool.execute", hook: "request" })
        expect(beside).toEqual({ tool: ofRequest, hook: ofRequest })
      })
    )
  }
})
