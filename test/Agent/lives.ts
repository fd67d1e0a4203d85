// The lives of agents, generated: scripts with all that can happen in a run, hooks and tools that die or do not react, a
// listener that takes its time, and commands at any event and at any instant. Everything is deterministic on the test clock.
import * as Arbitrary from "effect/Arbitrary"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { Receipt } from "../../src/Agent.ts"
import type { LlmMessage, Message, UserMessage } from "../../src/Message.ts"
import type * as Scripted from "../../src/providers/Scripted.ts"
import { allow, type Hooks } from "../../src/services/Hooks.ts"
import { call, failing, pause, policy, say, tool, user } from "../support/make.ts"
import { type Harness, isDone, make, pass, start } from "./harness.ts"

// ---------------------------------------------------------------------------------------------------------------------
// Plans
// ---------------------------------------------------------------------------------------------------------------------

const upTo = (maximum: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum }))

const listOf = <S extends Schema.Top>(schema: S, maximum: number) =>
  Schema.Array(schema).check(Schema.isMaxLength(maximum))

const Block = Schema.Union([
  Schema.Struct({ kind: Schema.Literal("text"), length: upTo(3) }),
  Schema.Struct({ kind: Schema.Literal("wait"), ms: upTo(3) }),
  Schema.Struct({
    kind: Schema.Literal("call"),
    tool: Schema.Literals(["quick", "slow", "reporting", "failing", "dying", "last", "stuck", "deaf", "unknown"])
  })
])

const Turn = Schema.Struct({
  blocks: listOf(Block, 4),
  ending: Schema.Literals(["done", "done", "done", "done", "error", "retryable", "die", "cut", "stall", "length"])
})

const What = Schema.Literals(["steer", "followUp", "abort", "clearQueues", "withdraw", "modes", "prompt"])

const Plan = Schema.Struct({
  turns: listOf(Turn, 5).check(Schema.isMinLength(1)),
  /** What dies, and at which of its calls. */
  dying: Schema.Struct({
    hook: Schema.Literals([
      "none",
      "transformContext",
      "convertToLlm",
      "beforeToolCall",
      "afterToolCall",
      "prepareNextTurn",
      "shouldStopAfterTurn"
    ]),
    call: upTo(2)
  }),
  listenerMs: upTo(2),
  isListenerDying: Schema.Boolean,
  isSequential: Schema.Boolean,
  continueWhenQueued: Schema.Boolean,
  maxTurns: upTo(5),
  queuedBefore: upTo(3),
  /** What is done in a listener at the n-th event. */
  atEvents: listOf(Schema.Struct({ event: upTo(40), what: What }), 4),
  /** What is done by another fiber at an instant, and that at which the agent is closed. */
  atInstants: listOf(Schema.Struct({ ms: upTo(20), what: What }), 3)
})

export interface Life extends Schema.Schema.Type<typeof Plan> {}

export const Life: Arbitrary.Arbitrary<Life> = Arbitrary.schema(Plan)

// ---------------------------------------------------------------------------------------------------------------------
// Living
// ---------------------------------------------------------------------------------------------------------------------

export interface Queued {
  readonly message: UserMessage
  readonly receipt: Receipt
  /** How the receipt was settled, in the order of settling. */
  readonly outcomes: ReadonlyArray<string>
}

export interface Lived extends Harness {
  /** All that was queued, in order. */
  readonly queued: ReadonlyArray<Queued>
  /** Whether the last run was over when it had to be. */
  readonly isOver: boolean
  /** Lets the agent go on until nothing is queued. */
  readonly drain: Effect.Effect<void>
}

const stepsOf = ({ blocks, ending }: Life["turns"][number], turn: number): Scripted.Turn => [
  ...blocks.map((block, index): Scripted.Step => {
    if (block.kind === "text") return say("x".repeat(block.length), 1)
    return block.kind === "wait" ? pause(block.ms) : call(block.tool, {}, `${block.tool}-${turn}-${index}`)
  }),
  ...endings[ending]
]

const endings: Record<Life["turns"][number]["ending"], Scripted.Turn> = {
  done: [],
  error: [failing("no")],
  retryable: [failing("not yet", true)],
  die: [{ type: "die", message: "broken" }],
  cut: [{ type: "cut" }],
  stall: [{ type: "stall" }],
  length: [{ type: "done", reason: "length" }]
}

/** So that a run can also come to an end by itself. */
const lastTurns: ReadonlyArray<Scripted.Turn> = Array.from({ length: 4 }, () => [say("end", 1)])

const tools = [
  tool("quick"),
  tool("slow", () => Effect.delay(Effect.succeed("slow done"), 4)),
  tool("reporting", (_, { update }) =>
    Effect.gen(function* () {
      yield* update({ content: [{ type: "text", text: "half" }] })
      yield* Effect.forkDetach(Effect.delay(update({ content: [] }), 10))
      return "reported"
    })
  ),
  tool("failing", () => Effect.die("failed")),
  tool("dying", () => Effect.interrupt),
  tool("last", () => Effect.succeed({ content: [], terminate: true })),
  tool("stuck", () => Effect.never),
  tool("deaf", () => Effect.uninterruptible(Effect.never))
]

/** A hook that changes nothing, but for the call at which it dies. */
const hooksOf = ({ dying }: Life): Hooks => {
  let calls = 0
  const unless =
    <In, Out>(neutral: (input: In) => Out) =>
    (input: In): Effect.Effect<Out> =>
      Effect.suspend(() => (calls++ === dying.call ? Effect.die("hook") : Effect.succeed(neutral(input))))
  const hooks: Hooks = {
    transformContext: unless((messages) => messages),
    convertToLlm: unless((messages) => messages.filter(isLlmMessage)),
    beforeToolCall: unless(() => allow),
    afterToolCall: unless(() => undefined),
    prepareNextTurn: unless(() => undefined),
    shouldStopAfterTurn: unless(() => false)
  }
  return dying.hook === "none" ? {} : { [dying.hook]: hooks[dying.hook] }
}

const isLlmMessage = (message: Message): message is LlmMessage =>
  ["user", "assistant", "toolResult"].includes(message.role)

/** Grace period and the time within which everything is over once it was aborted. */
export const GRACE_MS = 50

/** Lives a life to its end: a prompt, what is planned meanwhile, an abort of what does not end, and then no more. */
export const live = Effect.fnUntraced(function* (
  life: Life,
  watch: (harness: Harness) => Effect.Effect<void, never, Scope.Scope> = () => Effect.void
) {
  const harness = yield* make([...life.turns.map(stepsOf), ...lastTurns], {
    tools,
    arrays: 2,
    hooks: hooksOf(life),
    toolExecution: life.isSequential ? "sequential" : "parallel",
    continueWhenQueued: life.continueWhenQueued,
    maxTurns: life.maxTurns === 0 ? undefined : life.maxTurns,
    gracePeriod: Duration.millis(GRACE_MS),
    retry: policy((_, attempt) => Effect.succeed(attempt > 1 ? Option.none() : Option.some(Duration.millis(2))))
  })
  const { agent, events } = harness
  const queued: Array<Queued> = []

  const enqueue = (kind: "steer" | "followUp") =>
    Effect.gen(function* () {
      const message = user(`queued ${queued.length}`)
      const receipt = yield* agent[kind](message)
      const outcomes: Array<string> = []
      queued.push({ message, receipt, outcomes })
      yield* Effect.forkDetach(
        Effect.match(receipt.delivered, {
          onSuccess: ({ turn }) => void outcomes.push(`delivered in turn ${turn}`),
          onFailure: ({ reason }) => void outcomes.push(reason)
        }),
        { startImmediately: true }
      )
    })

  const perform = (what: typeof What.Type): Effect.Effect<void> => {
    switch (what) {
      case "steer":
      case "followUp":
        return enqueue(what)
      case "abort":
      case "clearQueues":
        return agent[what]
      case "withdraw":
        return Effect.asVoid(queued.at(-1)?.receipt.withdraw ?? Effect.void)
      case "modes":
        return Effect.asVoid(Effect.andThen(agent.setSteeringMode("all"), agent.setFollowUpMode("all")))
      case "prompt":
        return Effect.asVoid(Effect.forkDetach(Effect.ignore(agent.prompt("another")), { startImmediately: true }))
    }
  }

  yield* watch(harness)
  yield* agent.subscribe((event) =>
    Effect.gen(function* () {
      for (const { what } of life.atEvents.filter((planned) => planned.event === events.length)) yield* perform(what)
      if (life.listenerMs > 0 && event.type !== "message_update") yield* Effect.sleep(life.listenerMs)
      if (life.isListenerDying && event.type === "turn_end") return yield* Effect.die("listener")
    })
  )
  for (let count = 0; count < life.queuedBefore; count++) yield* enqueue(count % 2 === 0 ? "steer" : "followUp")
  for (const { ms, what } of life.atInstants) yield* Effect.forkDetach(Effect.delay(perform(what), ms))
  /** Ends a run that does not end by itself. */
  const toIdle = Effect.gen(function* () {
    yield* pass(2000)
    yield* agent.abort
    yield* pass(GRACE_MS + 200)
  })
  yield* start(Effect.exit(agent.prompt("go")))
  yield* toIdle
  const idle = yield* start(agent.waitForIdle)
  const drain = Effect.gen(function* () {
    yield* perform("modes")
    for (let runs = 0; runs < life.turns.length + lastTurns.length && (yield* agent.state).isQueued; runs++) {
      yield* start(Effect.exit(agent.continue))
      yield* toIdle
    }
  })
  return { ...harness, queued, isOver: isDone(idle), drain } satisfies Lived as Lived
})
