import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Hooks from "effect-agent/services/Hooks"

/** Refuses what would change files; the model reads why. */
export const readOnly: Hooks.Hooks = {
  beforeToolCall: ({ toolCall }) =>
    Effect.succeed(toolCall.name === "bash" ? Hooks.block("This agent may only read files.") : Hooks.allow)
}

/** Writes down what every call came to. */
export const audit: Hooks.Hooks = {
  afterToolCall: ({ toolCall, isError }) => Console.error(`${toolCall.name}: ${isError ? "failed" : "done"}`)
}

/** For all runs below this layer: permissions first, then the audit. */
export const layer = Hooks.layer([readOnly, audit])
