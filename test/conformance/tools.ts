// Tools from data (section 4): what a call does, and when, is a list of steps.
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import * as Tool from "../../src/Tool.ts"
import type { Observer } from "./observer.ts"
import type { PrepareArguments, ToolDefinition, ToolStep } from "./scenario.ts"

export const make = (definition: ToolDefinition, observer: Observer): Tool.Tool<Schema.Json> => {
  const { name, prepareArguments } = definition
  return Tool.dynamic({
    name,
    description: definition.description,
    parameters: definition.parameters,
    sequential: definition.executionMode === "sequential",
    ...(prepareArguments !== undefined && {
      prepareArguments: (args) => {
        observer.called("prepareArguments", { tool: name, args })
        return prepare(prepareArguments, args)
      }
    }),
    execute: Effect.fnUntraced(function* (args, call) {
      observer.called("execute", { tool: name, toolCallId: call.id, args })
      return yield* play(behaviourOf(definition, call.id), call)
    })
  })
}

/** A renamed call (`c1_2`) does what its id stood for. */
const behaviourOf = ({ behaviours = {}, behaviour = [] }: ToolDefinition, id: string): ReadonlyArray<ToolStep> =>
  behaviours[id] ?? behaviours[id.replace(/_\d+$/, "")] ?? behaviour

/** Renames, then adds, then removes members. Arguments that are no object are left as they are. */
export const prepare = (how: PrepareArguments, args: Schema.Json): Schema.Json => {
  if (how.throw !== undefined) throw new Error(how.throw)
  if (typeof args !== "object" || args === null || Array.isArray(args)) return args
  const renamed = Object.entries(args).map(([key, value]) => [how.rename?.[key] ?? key, value] as const)
  const complete = { ...how.defaults, ...Object.fromEntries(renamed) }
  return Object.fromEntries(Object.entries(complete).filter(([key]) => how.drop?.includes(key) !== true))
}

const play = Effect.fnUntraced(function* (steps: ReadonlyArray<ToolStep>, call: Tool.Call) {
  let now = 0
  for (const [position, step] of steps.entries()) {
    if (step.atMs > now) yield* Effect.sleep(step.atMs - now)
    now = step.atMs
    if ("update" in step) {
      yield* call.update(step.update)
      continue
    }
    // What stands after the end is reported all the same, by somebody whom nobody waits for.
    yield* Effect.forkDetach(reportLate(steps.slice(position + 1), now, call))
    if ("throw" in step) return yield* new Tool.ToolFailure({ message: step.throw })
    if ("throwRaw" in step) return yield* Effect.die(step.throwRaw)
    return step.result
  }
  return yield* Effect.never
})

const reportLate = Effect.fnUntraced(function* (steps: ReadonlyArray<ToolStep>, since: number, call: Tool.Call) {
  let now = since
  for (const step of steps) {
    yield* Effect.sleep(step.atMs - now)
    now = step.atMs
    if ("update" in step) yield* call.update(step.update)
  }
})
