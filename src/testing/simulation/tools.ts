/** The tools of a world, and how real ones are watched. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { guarded } from "../../internal/guard.ts"
import * as Tool from "../../Tool.ts"
import type * as World from "../World.ts"
import type { Ongoing } from "./journal.ts"
import { inTurn, perform, type Stage } from "./steps.ts"

type Step = Exclude<World.CallSteps[number], World.Pause>

export const makeTool = (stage: Stage, world: World.Tool): Tool.Any<never> => {
  const { name, exclusive } = world
  const next = inTurn(world.calls, [])
  return {
    ...Tool.make({
      name,
      description: `Does what the world says of ${name}.`,
      parameters: Schema.Struct({ n: Schema.optionalKey(Schema.Int) }),
      sequential: world.sequential,
      execute: (_, call) =>
        stage.journal.track({ kind: "tool", name, callId: call.id }, (activity) =>
          stage.journal.orFail(
            activity,
            perform<World.CallSteps[number], string | Tool.ToolResult, Tool.ToolFailure>(stage, activity, next(), {
              does: (step) => doStep(stage, activity, call, step),
              ends: (step) => endCall(name, step)
            }),
            fails
          )
        )
    }),
    prepareArguments: world.failsToPrepare === true ? failToPrepare : undefined,
    exclusive:
      exclusive &&
      (() =>
        stage.journal.track({ kind: "hook", name: "exclusive" }, (activity) =>
          perform(stage, activity, exclusive.steps ?? [], { ends: () => Effect.succeed(exclusive.resource) })
        ))
  }
}

const doStep = (stage: Stage, activity: Ongoing, call: Tool.Call, step: Step): Effect.Effect<void> | undefined => {
  switch (step.type) {
    case "update":
      return Effect.repeat(sendUpdate(stage, activity, call.update(step.text)), { times: (step.times ?? 1) - 1 })
    case "late":
      return stage.journal
        .track({ kind: "straggler", name: activity.name, parent: activity }, (straggler) =>
          Effect.andThen(Effect.sleep(step.ms), sendUpdate(stage, straggler, call.update(step.text)))
        )
        .pipe(Effect.forkDetach({ startImmediately: true }))
    default:
      return undefined
  }
}

const sendUpdate = (stage: Stage, parent: Ongoing, update: Effect.Effect<void>) =>
  stage.journal.track({ kind: "update", name: parent.name, parent }, () => update)

const endCall = (name: string, step: Step | undefined): Effect.Effect<string | Tool.ToolResult, Tool.ToolFailure> => {
  if (step?.type === "fail") return Effect.fail(new Tool.ToolFailure({ message: step.message }))
  // The types do not allow it, and that is the point.
  if (step?.type === "nothing") return Effect.succeed(undefined as unknown as string)
  if (step?.type !== "succeed") return Effect.succeed(`${name} done`)
  const { text = `${name} done`, content, terminate } = step
  const result = content === undefined ? Tool.text(text) : content === "null" ? { content: null } : {}
  return Effect.succeed(terminate === undefined ? result : { ...result, terminate })
}

const fails = (message: string) => new Tool.ToolFailure({ message })

const failToPrepare = (): never => JSON.parse("the world says that the preparation throws") as never

/**
 * The same tool, watched: what it executes, which updates it sends, how it names its resource. Time passes for it as for
 * all of the world.
 */
export const watchTool = <P, R>(stage: Stage, tool: Tool.Tool<P, R>): Tool.Tool<P, R> => {
  const { name, execute, exclusive } = tool
  const onStage = <A, E>(what: string, f: () => Effect.Effect<A, E, R>) =>
    Effect.updateService(guarded(what, f), Clock.Clock, () => stage.clock)
  return {
    ...tool,
    execute: (params, call) =>
      stage.journal.track({ kind: "tool", name, callId: call.id, isReal: true }, (activity) =>
        stage.journal.orFail(
          activity,
          onStage(`The tool "${name}"`, () =>
            execute(params, { ...call, update: (partial) => sendUpdate(stage, activity, call.update(partial)) })
          ),
          fails
        )
      ),
    exclusive:
      exclusive &&
      ((params) =>
        stage.journal.track({ kind: "hook", name: "exclusive", isReal: true }, () =>
          onStage(`The resource of the tool "${name}"`, () => exclusive(params))
        ))
  }
}
