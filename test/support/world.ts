// Random worlds for a run: scripts, tools, hooks, polls and limits of all kinds, well-behaved and not, and an abort.
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scripted from "../../src/providers/Scripted.ts"
import * as Hooks from "../../src/services/Hooks.ts"
import * as Tool from "../../src/Tool.ts"
import { policy, tool, user } from "./make.ts"
import type { How, Options } from "./play.ts"

const upTo = (maximum: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum }))

// ---------------------------------------------------------------------------------------------------------------------
// Tools
// ---------------------------------------------------------------------------------------------------------------------

const never = Effect.uninterruptible(Effect.never)

const updating: Tool.Options<unknown, never>["execute"] = (_, { update }) =>
  Effect.as(
    Effect.forEach([1, 2, 3], (step) => Effect.andThen(Effect.sleep(step), update(`step ${step}`))),
    "updated"
  )

const late: Tool.Options<unknown, never>["execute"] = (_, { update }) =>
  Effect.as(Effect.forkDetach(Effect.delay(update("late"), 10)), { content: null, details: { late: true } })

export const tools: ReadonlyArray<Tool.Any<never>> = [
  tool("quick"),
  tool("slow", () => Effect.delay(Effect.succeed("slow"), 20)),
  tool("updating", updating),
  tool("late", late),
  tool("failing", () => Effect.fail(new Tool.ToolFailure({ message: "failed" }))),
  tool("dying", () => Effect.delay(Effect.die(new Error("died")), 5)),
  tool("throwing", () => {
    throw new Error("thrown")
  }),
  tool("interrupted", () => Effect.interrupt),
  tool("nothing", () => Effect.succeed(undefined as never)),
  tool("ending", () => Effect.succeed({ terminate: true })),
  tool("sequential", updating, { sequential: true }),
  tool("exclusive", () => Effect.delay(Effect.succeed("exclusive"), 7), {
    exclusive: () => Effect.succeed("resource")
  }),
  tool("unprepared", undefined, {
    prepareArguments: () => {
      throw new Error("unprepared")
    }
  }),
  tool("stubborn", () => Effect.uninterruptible(Effect.delay(Effect.succeed("stubborn"), 50))),
  tool("deaf", () => never),
  tool("unclosable", () => Effect.onInterrupt(Effect.never, () => Effect.never))
]

// ---------------------------------------------------------------------------------------------------------------------
// Scripts
// ---------------------------------------------------------------------------------------------------------------------

const chunk = Schema.optionalKey(Schema.Literals([1, 3]))

const Call = Schema.Struct({
  type: Schema.tag("toolCall"),
  id: Schema.Literals(["1", "2", "3"]),
  name: Schema.Literals([...tools.map(({ name }) => name), "unknown"]),
  rawArguments: Schema.Literals(["", "{}", '{"n":1}', "[]", '{"a":"b"}', '{"cut']),
  chunk
})

const Step = Schema.Union([
  Schema.Struct({ type: Schema.tag("text"), text: Schema.Literals(["", "some words"]), chunk }),
  Schema.Struct({ type: Schema.tag("thinking"), text: Schema.Literals(["hm"]), chunk }),
  Call,
  Call,
  Call,
  Call,
  Schema.Struct({ type: Schema.tag("wait"), ms: upTo(9) })
])

/** How a turn ends. Most end by themselves. */
const Calm = Schema.Struct({ type: Schema.tag("wait"), ms: upTo(9) })
const Last = Schema.Union([
  Calm,
  Calm,
  Calm,
  Calm,
  Calm,
  Schema.Struct({ type: Schema.tag("done"), reason: Schema.Literals(["stop", "length", "toolUse"]) }),
  Schema.Struct({
    type: Schema.tag("error"),
    reason: Schema.Literals(["network", "aborted"]),
    message: Schema.Literal("broke"),
    retryable: Schema.Boolean
  }),
  Schema.Struct({ type: Schema.Literals(["stall", "cut", "start"]) }),
  Schema.Struct({ type: Schema.tag("die"), message: Schema.Literal("bug") }),
  Schema.Struct({ type: Schema.tag("text_delta"), contentIndex: upTo(1), delta: Schema.Literal("stray") })
])

const Turn = Schema.Struct({
  steps: Schema.Array(Step).check(Schema.isMinLength(1), Schema.isMaxLength(5)),
  last: Schema.optionalKey(Last)
})

// ---------------------------------------------------------------------------------------------------------------------
// Worlds
// ---------------------------------------------------------------------------------------------------------------------

/** How a hook or poll behaves: not there, at once, after a while, dying, not reacting to an interrupt. */
const often = ["absent", "quick", "slow"] as const
const Manner = Schema.Literals([...often, ...often, ...often, ...often, "dying", "deaf"])
type Manner = typeof Manner.Type

export const World = Schema.Struct({
  turns: Schema.Array(Turn).check(Schema.isMinLength(2), Schema.isMaxLength(4)),
  prompts: upTo(2),
  toolExecution: Schema.Literals(["parallel", "parallel", "sequential"]),
  concurrency: Schema.Literals([9, 9, 1, 2]),
  maxTurns: Schema.Literals([9, 9, 1, 2]),
  before: Manner,
  isBlocking: Schema.Boolean,
  after: Manner,
  transform: Manner,
  prepare: Manner,
  steering: Manner,
  followUp: Manner,
  retry: Manner,
  arrays: Schema.Literals([99, 1, 3]),
  abort: Schema.Union([
    Schema.Struct({ at: Schema.Literals([1, 4, 7, 11, 20, 33, 60]) }),
    Schema.Struct({ on: upTo(80) })
  ])
})
export type World = typeof World.Type

export const GRACE = 1000
/** When a run is aborted that was not before: some of it would never end. */
export const LATEST = 5000

export const turnsOf = (world: World): ReadonlyArray<Scripted.Turn> =>
  world.turns.map(({ steps, last }) => [...steps, ...(last === undefined ? [] : [last])] as Scripted.Turn)

/** An effect that gives a value in such a manner. */
const inManner = <A>(manner: Manner, value: A): Effect.Effect<A> => {
  switch (manner) {
    case "absent":
    case "quick":
      return Effect.succeed(value)
    case "slow":
      return Effect.delay(Effect.succeed(value), 4)
    case "dying":
      return Effect.die(new Error("hook died"))
    case "deaf":
      return Effect.andThen(never, Effect.succeed(value))
  }
}

const unless = <A>(manner: Manner, value: A): A | undefined => (manner === "absent" ? undefined : value)

export const optionsOf = (world: World): Options => {
  const queue = (manner: Manner, lists: Array<number>) =>
    unless(
      manner,
      Effect.suspend(() =>
        inManner(
          manner,
          Array.from({ length: lists.shift() ?? 0 }, (_, index) => user(`queued ${index}`))
        )
      )
    )
  return {
    tools,
    prompts: Array.from({ length: world.prompts }, (_, index) => user(`prompt ${index}`)),
    toolExecution: world.toolExecution,
    concurrency: world.concurrency,
    maxTurns: world.maxTurns,
    gracePeriod: GRACE,
    steering: queue(world.steering, [1, 0, 2]),
    followUp: queue(world.followUp, [1]),
    retry: unless(
      world.retry,
      policy((_, attempt) => inManner(world.retry, attempt < 3 ? Option.some(Duration.millis(3)) : Option.none()))
    ),
    hooks: {
      transformContext: unless(world.transform, (messages) => inManner(world.transform, messages)),
      beforeToolCall: unless(world.before, ({ toolCall }) =>
        inManner(world.before, world.isBlocking && toolCall.id === "2" ? Hooks.block() : Hooks.allow)
      ),
      afterToolCall: unless(world.after, () => inManner(world.after, { details: { after: true } })),
      prepareNextTurn: unless(world.prepare, () => inManner(world.prepare, undefined))
    }
  }
}

/** An abort at an instant or at an event; one at the latest in any case. */
export const howOf = ({ arrays, abort }: World) =>
  ({
    arrays,
    abortAt: "at" in abort ? abort.at : LATEST,
    abortOn: "on" in abort ? abort.on : undefined
  }) satisfies How
