/**
 * A world for an agent to run in, as plain data: what the model answers, what tools and hooks do and how long they take,
 * what is queued meanwhile, and what the reader of the events does. A world that found a fault can be pasted into a test.
 *
 * All instants and durations are milliseconds of virtual time; instants count from the start of the run. Whatever is asked
 * for more often than the world says behaves as it did the last time that it says.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Message from "../Message.ts"
import * as Scripted from "../providers/Scripted.ts"
import { ThinkingLevel } from "../services/Provider.ts"

const Ms = Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0))
const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

// ---------------------------------------------------------------------------------------------------------------------
// Steps
// ---------------------------------------------------------------------------------------------------------------------

/** Lets time pass in which no interrupt is heard; without `ms`, for ever. */
export const Deaf = Schema.Struct({ type: Schema.tag("deaf"), ms: Schema.optionalKey(Ms) })

/** From here on it takes `ms` to end, however it ends (without `ms`: for ever); with `dies`, the finalizer then dies. */
export const Finalizer = Schema.Struct({
  type: Schema.tag("finalizer"),
  ms: Schema.optionalKey(Ms),
  dies: Schema.optionalKey(Schema.Boolean)
})

/** What tools, hooks and polls can do on their way to a result. */
export const Pause = Schema.Union([
  Scripted.Wait,
  Scripted.Stall,
  Scripted.Die,
  Deaf,
  Finalizer,
  /** No interrupt is heard from here on; after an abort it goes on to its end as if nothing had happened. */
  Schema.Struct({ type: Schema.tag("uninterruptible") }),
  /** Interrupts itself. */
  Schema.Struct({ type: Schema.tag("interrupt") }),
  /** Does what the reader of the events would do to stop the run, from within. */
  Schema.Struct({ type: Schema.tag("abort") })
])
export type Pause = typeof Pause.Type

/** One answer of the model: the steps of a script, where the connection can also be deaf or slow to close. */
export const Turn = Schema.Array(
  Schema.Union([...Scripted.Step.members, Deaf, Finalizer]).annotate({
    expected:
      "a step of an answer: text, thinking, toolCall, wait, error, die, stall, cut, deaf, finalizer, or an event"
  })
)
export type Turn = typeof Turn.Type

const steps = <Members extends ReadonlyArray<Schema.Top>>(...members: Members) =>
  Schema.Array(Schema.Union([...Pause.members, ...members]))

// ---------------------------------------------------------------------------------------------------------------------
// Tools
// ---------------------------------------------------------------------------------------------------------------------

/** What one call does. A call that does not end itself succeeds with "<name> done". */
export const CallSteps = steps(
  Schema.Struct({
    type: Schema.tag("update"),
    text: Schema.String,
    times: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThan(0)))
  }),
  /** Leaves something behind that sends an update so much later, whatever has become of the call. */
  Schema.Struct({ type: Schema.tag("late"), ms: Ms, text: Schema.String }),
  Schema.Struct({
    type: Schema.tag("succeed"),
    text: Schema.optionalKey(Schema.String),
    /** Gives a result without content, or with `null` for it. */
    content: Schema.optionalKey(Schema.Literals(["missing", "null"])),
    terminate: Schema.optionalKey(Schema.Boolean)
  }),
  Schema.Struct({ type: Schema.tag("fail"), message: Schema.String }),
  /** Gives no result at all, as a tool without types could. */
  Schema.Struct({ type: Schema.tag("nothing") })
)
export type CallSteps = typeof CallSteps.Type

/** A tool that takes any object; `n`, where given, must be an integer. */
export const Tool = Schema.Struct({
  name: Schema.String,
  calls: Schema.optionalKey(Schema.Array(CallSteps)),
  sequential: Schema.optionalKey(Schema.Boolean),
  /** The name of the resource that only one call may use at a time, and what happens before the tool tells it. */
  exclusive: Schema.optionalKey(Schema.Struct({ resource: Schema.String, steps: Schema.optionalKey(steps()) })),
  /** `prepareArguments` throws. */
  failsToPrepare: Schema.optionalKey(Schema.Boolean)
})
export interface Tool extends Schema.Schema.Type<typeof Tool> {}

// ---------------------------------------------------------------------------------------------------------------------
// Hooks and queues
// ---------------------------------------------------------------------------------------------------------------------

const calls = <Members extends ReadonlyArray<Schema.Top>>(...members: Members) =>
  Schema.optionalKey(Schema.Array(steps(...members)))

/** What hooks and polls do, call by call. Without a decision a hook changes nothing, and a poll gives what is queued. */
export const Hooks = Schema.Struct({
  transformContext: calls(Schema.Struct({ type: Schema.tag("append"), text: Schema.String })),
  convertToLlm: calls(),
  beforeToolCall: calls(
    Schema.Struct({ type: Schema.tag("allow"), arguments: Schema.optionalKey(Schema.Json) }),
    Schema.Struct({ type: Schema.tag("block"), reason: Schema.optionalKey(Schema.String) })
  ),
  afterToolCall: calls(
    Schema.Struct({
      type: Schema.tag("override"),
      text: Schema.optionalKey(Schema.String),
      isError: Schema.optionalKey(Schema.Boolean),
      terminate: Schema.optionalKey(Schema.Boolean)
    })
  ),
  prepareNextTurn: calls(
    Schema.Struct({
      type: Schema.tag("next"),
      systemPrompt: Schema.optionalKey(Schema.String),
      model: Schema.optionalKey(Schema.String),
      thinkingLevel: Schema.optionalKey(ThinkingLevel)
    })
  ),
  shouldStopAfterTurn: calls(Schema.Struct({ type: Schema.tag("stop") })),
  resolveApiKey: calls(),
  /** Asks again so much later; without `again`, a failed response is not retried. */
  retry: calls(Schema.Struct({ type: Schema.tag("again"), ms: Ms })),
  steering: calls(),
  followUp: calls()
})
export interface Hooks extends Schema.Schema.Type<typeof Hooks> {}

/** A message that is put into a queue at an instant: the user's, or one of an application's own kind. */
export const Queued = Schema.Struct({ at: Ms, text: Schema.String, role: Schema.optionalKey(Schema.String) })
export interface Queued extends Schema.Schema.Type<typeof Queued> {}

// ---------------------------------------------------------------------------------------------------------------------
// The reader of the events
// ---------------------------------------------------------------------------------------------------------------------

/**
 * When the reader gets the event of that index, at an instant, right after that entry of the log, deep in the run, or after
 * so many steps of fibers: between two of them, where a seed makes them wait for each other.
 */
export const When = Schema.Union([
  Schema.Struct({ event: Count }),
  Schema.Struct({ ms: Ms }),
  Schema.Struct({ entry: Count }),
  Schema.Struct({ step: Count })
])
export type When = typeof When.Type

/**
 * What the reader does beside reading. One that aborts reads on to the end of the run; the others are gone: they are
 * interrupted (`leave`), die of a defect, or have taken all that they wanted.
 */
export const Act = Schema.Union([
  Schema.Struct({ type: Schema.tag("abort"), when: When }),
  Schema.Struct({ type: Schema.tag("leave"), when: When }),
  Schema.Struct({ type: Schema.tag("die"), event: Count }),
  Schema.Struct({ type: Schema.tag("take"), count: Schema.Int.check(Schema.isGreaterThan(0)) })
]).annotate({ expected: "an act of the reader: abort, leave, die or take, with its fields" })
export type Act = typeof Act.Type

/** Reads to the end and at once, unless told otherwise: `slowMs` for each event, and pauses after single ones. */
export const Consumer = Schema.Struct({
  slowMs: Schema.optionalKey(Ms),
  pauses: Schema.optionalKey(Schema.Array(Schema.Struct({ event: Count, ms: Ms }))),
  acts: Schema.optionalKey(Schema.Array(Act))
})
export interface Consumer extends Schema.Schema.Type<typeof Consumer> {}

// ---------------------------------------------------------------------------------------------------------------------
// The application that holds an agent
// ---------------------------------------------------------------------------------------------------------------------

/**
 * What an application does with its agent: it queues a message, withdraws the one that it queued last, empties the queues,
 * has both deliver all at once, aborts, prompts again, closes the agent's scope. It watches the agent, and reads what it
 * is told at once (`watch`), or not before the agent is closed (`watchLate`).
 */
export const Command = Schema.Struct({
  when: When,
  does: Schema.Literals([
    "steer",
    "followUp",
    "withdraw",
    "clearQueues",
    "deliverAll",
    "abort",
    "prompt",
    "close",
    "watch",
    "watchLate"
  ])
})
export interface Command extends Schema.Schema.Type<typeof Command> {}

/**
 * Has the world played by an `Agent` instead of a bare run. What is queued is then queued in the agent, and its polls are
 * its own (the hooks `steering` and `followUp` say nothing). The reader is its first listener: one that leaves interrupts
 * the prompt, one that has enough leaves the agent's stream, and one that dies changes nothing.
 */
export const Agent = Schema.Struct({
  commands: Schema.optionalKey(Schema.Array(Command)),
  steeringMode: Schema.optionalKey(Schema.Literals(["one-at-a-time", "all"])),
  followUpMode: Schema.optionalKey(Schema.Literals(["one-at-a-time", "all"])),
  continueWhenQueued: Schema.optionalKey(Schema.Boolean)
})
export interface Agent extends Schema.Schema.Type<typeof Agent> {}

// ---------------------------------------------------------------------------------------------------------------------
// Worlds
// ---------------------------------------------------------------------------------------------------------------------

export const Limits = Schema.Struct({
  maxTurns: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThan(0))),
  concurrency: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThan(0))),
  toolExecution: Schema.optionalKey(Schema.Literals(["parallel", "sequential"])),
  gracePeriodMs: Schema.optionalKey(Ms)
})
export interface Limits extends Schema.Schema.Type<typeof Limits> {}

export const World = Schema.Struct({
  /**
   * Decides what comes first of what could happen at the same time, and where fibers let others run. Without it, all
   * happens in the order in which Effect itself takes it.
   */
  seed: Schema.optionalKey(Schema.Int),
  /** The transcript before the run. */
  messages: Schema.optionalKey(Schema.Array(Message.Message)),
  /** What the user says; "go" unless given. */
  prompts: Schema.optionalKey(Schema.Array(Schema.String)),
  /** What the model answers, request by request. A request beyond them fails. */
  turns: Schema.Array(Turn),
  /** The greatest number of events that the provider hands over at once. */
  arrays: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThan(0))),
  tools: Schema.optionalKey(Schema.Array(Tool)),
  hooks: Schema.optionalKey(Hooks),
  queues: Schema.optionalKey(
    Schema.Struct({
      steering: Schema.optionalKey(Schema.Array(Queued)),
      followUp: Schema.optionalKey(Schema.Array(Queued))
    })
  ),
  limits: Schema.optionalKey(Limits),
  consumer: Schema.optionalKey(Consumer),
  agent: Schema.optionalKey(Agent),
  /** The hook, the tool or the pull of a response that begins at that entry of the log dies at once. */
  dies: Schema.optionalKey(Count),
  /** The tool or the pull of a response that begins at that entry of the log fails at once, a pull so that it may be retried. */
  fails: Schema.optionalKey(Count)
})
export interface World extends Schema.Schema.Type<typeof World> {}

/** A value that is no world: the types were not looked at. `message` names everything that is wrong, with its path. */
export class InvalidWorld extends Schema.TaggedError<InvalidWorld>()("InvalidWorld", { message: Schema.String }) {}

const decode = Schema.decodeUnknownEffect(Schema.toType(World), {
  errors: "all",
  onExcessProperty: "error",
  reportInput: true
})

/** The same world. Dies with an `InvalidWorld` if it is none: unknown fields are refused, as they would do nothing. */
export const checked = (world: World): Effect.Effect<World> =>
  decode(world).pipe(
    Effect.mapError(({ message }) => new InvalidWorld({ message: `This is no world: ${message}` })),
    Effect.orDie,
    Effect.as(world)
  )

/** The grace period of a world that names none: that of the loop. */
export const GRACE_PERIOD_MS = 5000

/** The world as text: one line a member, to be pasted into a test. */
export const show = (world: World): string => {
  const members = Object.entries(world).map(([key, value]) => `  ${key}: ${JSON.stringify(value)}`)
  return `{\n${members.join(",\n")}\n}`
}
