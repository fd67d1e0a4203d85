// A tool can fail with a ToolFailure and with nothing else, and gets what its Schema makes of the arguments.
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { type DuplicateTool, Toolset } from "../../src/services/Toolset.ts"
import * as Tool from "../../src/Tool.ts"
import { fetch, Files, holds, is, type Net, pure, read, type Same } from "./services.ts"

const base = { name: "t", description: "", parameters: Schema.Struct({ at: Schema.FiniteFromString }) }

Tool.make({ ...base, execute: () => Effect.fail(new Tool.ToolFailure({ message: "no" })) })
Tool.make({
  ...base,
  // @ts-expect-error a tool cannot fail with anything but ToolFailure
  execute: () => Effect.fail("no")
})
Tool.make({
  ...base,
  // @ts-expect-error a tool cannot fail with anything but ToolFailure
  execute: () => Effect.fail("no")
})
Tool.make({
  ...base,
  // @ts-expect-error a tool gives a text or a result
  execute: () => Effect.succeed(5)
})
Tool.make({
  ...base,
  // @ts-expect-error details are JSON
  execute: () => Effect.succeed({ details: new Date() })
})
Tool.make({
  ...base,
  // @ts-expect-error a tool gives an Effect
  execute: async () => "x"
})
Tool.make({
  ...base,
  execute: () => Effect.succeed(""),
  // @ts-expect-error naming a resource cannot fail
  exclusive: () => Effect.fail("no")
})

// Parameters are what the Schema decodes to; a dynamic tool gets JSON.
Tool.make({ ...base, execute: ({ at }) => Effect.succeed(at.toFixed(1)) })
Tool.make({
  ...base,
  // @ts-expect-error it is a number by then
  execute: ({ at }) => Effect.succeed(at.toUpperCase())
})
const dynamic = Tool.dynamic({ name: "d", description: "", parameters: {}, execute: () => Effect.succeed("") })
holds<Same<typeof dynamic, Tool.Tool<Schema.Json>>>()
Tool.make({
  ...base,
  // @ts-expect-error a Schema that needs services to decode is no Schema of parameters
  parameters: null as unknown as Schema.Codec<string, string, Files>,
  execute: () => Effect.succeed("")
})

// Needs show, add up and can be met.
holds<Same<typeof read, Tool.Tool<{ readonly path: string }, Files>>>()
holds<Same<typeof pure, Tool.Tool<{ readonly path: string }>>>()
holds<Same<Tool.Services<readonly [typeof read, typeof fetch, typeof pure]>, Files | Net>>()
holds<Same<Tool.Services<[typeof pure]>, never>>()
holds<Same<Tool.Services<[]>, never>>()
holds<Same<Tool.Services<ReadonlyArray<Tool.Any<Files>>>, Files>>()
const provided = Tool.provide(read, Context.make(Files, ""))
holds<Same<typeof provided, Tool.Tool<{ readonly path: string }>>>()
// @ts-expect-error not with something else
Tool.provide(read, Context.empty())

// A tool with its needs met can stand where one with needs is asked for, not the other way round.
is<Tool.Any<Files | Net>>(read)
// @ts-expect-error its needs would be lost
is<Tool.Any<never>>(read)

// A toolset needs what its tools need, where it is built; whoever uses it needs nothing.
const toolset = Toolset.layer(read, fetch, pure)
holds<Same<typeof toolset, Layer.Layer<Toolset, DuplicateTool, Files | Net>>>()
const single = Toolset.layer(pure)
holds<Same<typeof single, Layer.Layer<Toolset, DuplicateTool>>>()
const emptySet = Toolset.layer()
holds<Same<typeof emptySet, Layer.Layer<Toolset, DuplicateTool>>>()
holds<Same<typeof Toolset.empty, Layer.Layer<Toolset>>>()
// @ts-expect-error a toolset has no tools with needs
Toolset.of({ tools: [read] })

// An update cannot fail, and takes what a result may be.
Tool.make({
  ...base,
  execute: (_, { id, update }) => {
    holds<Same<typeof id, string>>()
    holds<Same<ReturnType<typeof update>, Effect.Effect<void>>>()
    // @ts-expect-error an update is a text or a result
    void update(5)
    return Effect.succeed("")
  }
})
