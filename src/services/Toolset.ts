/**
 * The tools that an agent has, as a service. Their needs are met where the layer is built, so that whoever runs the agent
 * need not know what its tools use.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Tool from "../Tool.ts"
import { capturedContext } from "./internal/captured.ts"

/** Two tools of one set have the same name. */
export class DuplicateTool extends Schema.TaggedError<DuplicateTool>()("DuplicateTool", { name: Schema.String }) {
  override get message() {
    return `Two tools are named "${this.name}". Tool names must be unique: rename or remove one of them.`
  }
}

export class Toolset extends Context.Service<
  Toolset,
  {
    /** The tools, in the order in which the model is told of them. */
    readonly tools: ReadonlyArray<Tool.Any<never>>
  }
>()("effect-agent/services/Toolset") {
  static readonly layer = <const Tools extends ReadonlyArray<Tool.Any>>(
    ...tools: Tools
  ): Layer.Layer<Toolset, DuplicateTool, Tool.Services<Tools>> => Layer.effect(Toolset, make(tools))

  /** No tools. */
  static readonly empty: Layer.Layer<Toolset> = Layer.succeed(Toolset, { tools: [] })
}

const make = Effect.fnUntraced(function* <const Tools extends ReadonlyArray<Tool.Any>>(tools: Tools) {
  const names = new Set<string>()
  for (const tool of tools) {
    if (names.has(tool.name)) return yield* new DuplicateTool({ name: tool.name })
    names.add(tool.name)
  }
  const context = yield* capturedContext<Tool.Services<Tools>>()
  return { tools: tools.map((tool) => Tool.provide(tool, context)) }
})
