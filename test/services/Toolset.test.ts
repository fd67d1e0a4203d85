// The tools of an agent as a service: in order, without doubles, with their needs met.
import { describe, expect, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { DuplicateTool, Toolset } from "../../src/services/Toolset.ts"
import * as Tool from "../../src/Tool.ts"
import { call, say, tool } from "../support/make.ts"
import { play } from "../support/play.ts"

class Greeting extends Context.Service<Greeting, string>()("test/Greeting") {}
class Mark extends Context.Service<Mark, string>()("test/Mark") {}

const greet = Tool.make({
  name: "greet",
  description: "",
  parameters: Schema.Struct({}),
  execute: () => Greeting.use((greeting) => Effect.succeed(greeting)),
  exclusive: () => Greeting.use((greeting) => Effect.succeed(greeting))
})
const mark = Tool.make({
  name: "mark",
  description: "",
  parameters: Schema.Struct({}),
  execute: () => Mark.use((mark) => Effect.succeed(mark))
})

const toolsOf = <E>(layer: Layer.Layer<Toolset, E>) =>
  Effect.provide(
    Toolset.use(({ tools }) => Effect.succeed(tools)),
    layer
  )

describe("a toolset", () => {
  it.effect("has its tools in order", () =>
    Effect.gen(function* () {
      const tools = yield* toolsOf(Toolset.layer(tool("b"), tool("a"), tool("c")))
      expect(tools.map(({ name }) => name)).toEqual(["b", "a", "c"])
    })
  )

  it.effect("may be empty", () =>
    Effect.gen(function* () {
      expect(yield* toolsOf(Toolset.empty)).toEqual([])
      expect(yield* toolsOf(Toolset.layer())).toEqual([])
    })
  )

  it.effect("with two tools of one name is refused, and says which", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(toolsOf(Toolset.layer(tool("a"), tool("b"), tool("a"))))
      expect(error).toBeInstanceOf(DuplicateTool)
      expect(error.message).toContain('Two tools are named "a"')
    })
  )

  it.effect("has the needs of all its tools met where it is built, those of `exclusive` too", () =>
    Effect.gen(function* () {
      const layer = Toolset.layer(greet, mark).pipe(
        Layer.provide([Layer.succeed(Greeting, "hello"), Layer.succeed(Mark, "!")])
      )
      const tools = yield* toolsOf(layer)
      const trace = yield* play([[call("greet"), call("mark")], [say("ok")]], { tools })
      expect(trace.resultTexts).toEqual(["hello", "!"])
    })
  )

  it.effect("leaves a tool without `exclusive` without it, and its declaration as it is", () =>
    Effect.gen(function* () {
      const [only] = yield* toolsOf(Layer.provide(Toolset.layer(mark), Layer.succeed(Mark, "!")))
      expect(only?.exclusive).toBeUndefined()
      expect(only?.parameters).toBe(mark.parameters)
      expect(only?.schema).toBe(mark.schema)
    })
  )
})
