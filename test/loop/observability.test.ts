// Events tell what a defect says; the log and the spans tell where it comes from.
import { expect, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as References from "effect/References"
import { call, say, tool } from "../support/make.ts"
import { play } from "../support/play.ts"

/** What is logged, with the defects that the records carry. */
const logOf = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const records: Array<unknown> = []
    const logger = Logger.make(({ message, cause }) =>
      records.push(...[message].flat(), ...cause.reasons.filter(Cause.isDieReason).map(({ defect }) => defect))
    )
    yield* effect.pipe(
      Effect.provide(Logger.layer([logger])),
      Effect.provideService(References.MinimumLogLevel, "Debug")
    )
    return records
  })

const defect = new Error("broken")

it.effect("a tool that dies is in the log with its defect", () =>
  Effect.gen(function* () {
    const tools = [tool("a", () => Effect.die(defect))]
    expect(yield* logOf(play([[call("a")], [say("done")]], { tools }))).toEqual(['The tool "a" died', defect])
  })
)

it.effect("a hook that dies is in the log with its defect", () =>
  Effect.gen(function* () {
    const hooks = { transformContext: () => Effect.die(defect) }
    expect(yield* logOf(play([[say("done")]], { hooks }))).toEqual(["The hook transformContext died", defect])
  })
)

it.effect("a provider that dies is in the log with its defect", () =>
  Effect.gen(function* () {
    const records = yield* logOf(play([[{ type: "die", message: "broken" }]], {}))
    expect(records).toEqual(["The provider's stream died", defect])
  })
)

it.effect("a run in which nothing dies logs nothing", () =>
  Effect.gen(function* () {
    expect(yield* logOf(play([[call("a")], [say("done")]], { tools: [tool("a")] }))).toEqual([])
  })
)

it.effect("a tool is executed in a span that names it and its call", () =>
  Effect.gen(function* () {
    const spans: Array<unknown> = []
    const tools = [
      tool("a", () =>
        Effect.map(Effect.orDie(Effect.currentSpan), (span) => {
          spans.push([span.name, Object.fromEntries(span.attributes)])
          return "ok"
        })
      )
    ]
    yield* play([[call("a", {}, "call 1")], [say("done")]], { tools })
    expect(spans).toEqual([["Tool.execute", { tool: "a", toolCallId: "call 1" }]])
  })
)
