/**
 * The worlds that are generated: the same shape as `World`, in sizes and with names that make things happen. A member that
 * is listed several times comes so much more often; what ends a run early is rare.
 */
import * as Schema from "effect/Schema"
import * as Scripted from "../../providers/Scripted.ts"
import type * as Tool from "../../Tool.ts"

const ms = Schema.Literals([0, 1, 1, 5, 5, 20, 20, 300, 6000])
const shortMs = Schema.Literals([0, 1, 5, 20])
const flag = Schema.optionalKey(Schema.Boolean)
const words = Schema.Literals(["", "a", "hello", "zwei Wörter 🙂"])

const upTo = <A extends Schema.Top>(maximum: number, item: A) => Schema.Array(item).check(Schema.isMaxLength(maximum))
const some = <A extends Schema.Top>(maximum: number, item: A) =>
  Schema.Array(item).check(Schema.isBetweenLength(1, maximum))
const times = <A>(count: number, item: A): ReadonlyArray<A> => Array.from({ length: count }, () => item)
const int = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

// ---------------------------------------------------------------------------------------------------------------------
// Steps
// ---------------------------------------------------------------------------------------------------------------------

const Wait = Schema.Struct({ type: Schema.tag("wait"), ms })
const Deaf = Schema.Struct({ type: Schema.tag("deaf"), ms })
const Finalizer = Schema.Struct({
  type: Schema.tag("finalizer"),
  ms,
  dies: Schema.optionalKey(Schema.Literals([true, false, false, false]))
})
/** What never ends by itself. */
const Endless = Schema.Union([
  Scripted.Stall,
  Schema.Struct({ type: Schema.tag("deaf") }),
  Schema.Struct({ type: Schema.tag("finalizer") })
])
const Die = Schema.Struct({ type: Schema.tag("die"), message: Schema.Literal("it dies") })

const pauses = [
  ...times(16, Wait),
  ...times(3, Deaf),
  ...times(4, Finalizer),
  Schema.Struct({ type: Schema.tag("uninterruptible") }),
  Schema.Union([
    Endless,
    Die,
    Schema.Struct({ type: Schema.tag("interrupt") }),
    Schema.Struct({ type: Schema.tag("abort") })
  ])
]

const toolName = Schema.Literals(["a", "a", "b", "b", "c", "nobody"])
const contentIndex = int(0, 2)

const callOf = (name: Schema.Top, args: Schema.Top) =>
  Schema.Struct({
    type: Schema.tag("toolCall"),
    id: Schema.Literals(["1", "2", "3", "4"]),
    name,
    arguments: args,
    chunk: Schema.optionalKey(int(1, 4))
  })
const brokenCallOf = (name: Schema.Top) =>
  Schema.Struct({
    type: Schema.tag("toolCall"),
    id: Schema.Literals(["1", "5"]),
    name,
    rawArguments: Schema.Literals(["", "{", "[1,", '{"n": 1}', '{"n": "x"}', "nonsense"])
  })

const playedCall = callOf(toolName, Schema.Struct({ n: Schema.optionalKey(Schema.Literals([1, 2, "3"])) }))

/** Calls of real tools, with arguments that they accept, and now and then with some that fit nothing. */
const realCall = (tools: ReadonlyArray<Tool.Any>) =>
  Schema.Union(
    tools.flatMap(({ name, schema }) => [
      ...times(5, callOf(Schema.Literal(name), Schema.toEncoded(schema))),
      callOf(Schema.Literal(name), Schema.Union([Schema.Null, Schema.Literals([7, "x"]), Schema.Struct({})]))
    ])
  )
const Text = Schema.Struct({ type: Schema.tag("text"), text: words, chunk: Schema.optionalKey(int(1, 4)) })
const Thinking = Schema.Struct({ type: Schema.tag("thinking"), text: words, chunk: Schema.optionalKey(int(1, 4)) })
const Fail = Schema.Struct({
  type: Schema.tag("error"),
  reason: Schema.Literals(["overloaded", "network", "network", "aborted"]),
  message: Schema.Literal("it fails"),
  retryable: Schema.Literals([true, true, true, false])
})
const Done = Schema.Struct({ type: Schema.tag("done"), reason: Schema.Literals(["stop", "length", "toolUse"]) })

/** Events in no order at all, as a faulty provider would send them. */
const Nonsense = Schema.Union([
  Schema.Struct({ type: Schema.tag("start") }),
  Schema.Struct({ type: Schema.tag("text_start"), contentIndex }),
  Schema.Struct({ type: Schema.tag("text_delta"), contentIndex, delta: words }),
  Schema.Struct({ type: Schema.tag("text_end"), contentIndex })
])

const turnStep = (call: Schema.Top, name: Schema.Top) =>
  Schema.Union([
    ...times(30, call),
    ...times(12, Text),
    ...times(4, Thinking),
    ...times(14, Wait),
    brokenCallOf(name),
    ...times(4, Fail),
    Deaf,
    Finalizer,
    Schema.Union([Done, Die, Endless, Scripted.Cut, Nonsense])
  ])

const callStep = Schema.Union([
  ...pauses,
  ...times(4, Schema.Struct({ type: Schema.tag("update"), text: words })),
  Schema.Struct({ type: Schema.tag("update"), text: words, times: Schema.Literals([3, 120]) }),
  ...times(6, Schema.Struct({ type: Schema.tag("late"), ms: shortMs, text: words })),
  Schema.Struct({
    type: Schema.tag("succeed"),
    text: Schema.optionalKey(words),
    content: Schema.optionalKey(Schema.Literals(["missing", "null"])),
    terminate: flag
  }),
  Schema.Struct({ type: Schema.tag("fail"), message: Schema.Literal("it fails") }),
  Schema.Struct({ type: Schema.tag("nothing") })
])

// ---------------------------------------------------------------------------------------------------------------------
// Worlds
// ---------------------------------------------------------------------------------------------------------------------

const tool = <const Name extends string>(name: Name) =>
  Schema.Struct({
    name: Schema.Literal(name),
    calls: Schema.optionalKey(some(2, upTo(4, callStep))),
    sequential: Schema.optionalKey(Schema.Literals([true, false, false, false])),
    exclusive: Schema.optionalKey(
      Schema.Struct({
        resource: Schema.Literals(["r", "r", "s"]),
        steps: Schema.optionalKey(upTo(1, Schema.Union(pauses)))
      })
    ),
    failsToPrepare: Schema.optionalKey(Schema.Literals([true, false, false, false, false]))
  })

const calls = <Members extends ReadonlyArray<Schema.Top>>(...members: Members) =>
  Schema.optionalKey(some(2, upTo(2, Schema.Union([...pauses, ...times(14, members).flat()]))))

const Hooks = Schema.Struct({
  transformContext: calls(Schema.Struct({ type: Schema.tag("append"), text: words })),
  convertToLlm: calls(),
  beforeToolCall: calls(
    Schema.Struct({ type: Schema.tag("allow"), arguments: Schema.optionalKey(Schema.Struct({})) }),
    Schema.Struct({ type: Schema.tag("block"), reason: Schema.optionalKey(words) })
  ),
  afterToolCall: calls(
    Schema.Struct({ type: Schema.tag("override"), text: Schema.optionalKey(words), isError: flag, terminate: flag })
  ),
  prepareNextTurn: calls(
    Schema.Struct({
      type: Schema.tag("next"),
      systemPrompt: Schema.optionalKey(words),
      model: Schema.optionalKey(words),
      thinkingLevel: Schema.optionalKey(Schema.Literals(["off", "high"]))
    })
  ),
  shouldStopAfterTurn: calls(Schema.Struct({ type: Schema.tag("stop") })),
  resolveApiKey: calls(),
  retry: calls(Schema.Struct({ type: Schema.tag("again"), ms })),
  steering: calls(),
  followUp: calls()
})

/** Hooks of worlds in which failures are asked for again. */
const Retrying = Schema.Struct({
  ...Hooks.fields,
  retry: some(2, Schema.Tuple([Schema.Struct({ type: Schema.tag("again"), ms })]))
})

const queue = Schema.optionalKey(
  upTo(2, Schema.Struct({ at: ms, text: words, role: Schema.optionalKey(Schema.Literal("notice")) }))
)

const event = int(0, 40)

const When = Schema.Union([
  Schema.Struct({ event }),
  Schema.Struct({ ms: Schema.Literals([0, 1, 2, 5, 7, 20, 25, 300, 310]) }),
  Schema.Struct({ entry: int(0, 80) }),
  Schema.Struct({ step: int(0, 120) })
])

const Act = Schema.Union([
  ...times(3, Schema.Struct({ type: Schema.tag("abort"), when: When })),
  Schema.Struct({ type: Schema.tag("leave"), when: When }),
  Schema.Struct({ type: Schema.tag("die"), event }),
  Schema.Struct({ type: Schema.tag("take"), count: int(1, 40) })
])

/** The schema of one constant value. */
const exactly = (value: Schema.Json): Schema.Top => {
  if (Array.isArray(value)) return Schema.Tuple(value.map(exactly))
  if (typeof value !== "object" || value === null) return value === null ? Schema.Null : Schema.Literal(value as string)
  return Schema.Struct(Object.fromEntries(Object.entries(value).map(([key, member]) => [key, exactly(member)])))
}

/** A transcript in which an id is taken that generated calls use too. */
const history = exactly([
  { role: "user", content: "before", timestamp: 0 },
  {
    role: "assistant",
    content: [{ type: "toolCall", id: "1", name: "a", arguments: {} }],
    provider: "world",
    model: "simulated",
    usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 },
    stopReason: "toolUse",
    timestamp: 0
  },
  { role: "toolResult", toolCallId: "1", toolName: "a", content: [], isError: false, timestamp: 0 }
])

const turnOf = (call: Schema.Top, name: Schema.Top) =>
  Schema.Union([
    ...times(2, some(4, turnStep(call, name))),
    /** Calls side by side. */
    Schema.Array(call).check(Schema.isBetweenLength(2, 3))
  ])

const worldsOf = (turn: Schema.Top, tools: Schema.Top) =>
  Schema.Struct({
    seed: Schema.optionalKey(int(0, 1_000_000)),
    messages: Schema.optionalKey(history),
    prompts: Schema.optionalKey(upTo(2, words)),
    /** The last answer of most worlds asks for nothing. */
    turns: Schema.Union([
      ...times(8, Schema.Tuple([turn, turn, Schema.Tuple([Text])])),
      ...times(2, Schema.Tuple([turn, turn, turn, Schema.Tuple([Text])])),
      some(2, turn)
    ]),
    arrays: Schema.optionalKey(int(1, 3)),
    tools,
    hooks: Schema.Union([Hooks, Hooks, Retrying]),
    queues: Schema.optionalKey(Schema.Struct({ steering: queue, followUp: queue })),
    limits: Schema.optionalKey(
      Schema.Struct({
        maxTurns: Schema.optionalKey(int(1, 3)),
        concurrency: Schema.optionalKey(int(1, 3)),
        toolExecution: Schema.optionalKey(Schema.Literals(["parallel", "sequential"])),
        gracePeriodMs: Schema.optionalKey(Schema.Literals([0, 10, 100, 1000, 5000]))
      })
    ),
    consumer: Schema.optionalKey(
      Schema.Struct({
        slowMs: Schema.optionalKey(shortMs),
        pauses: Schema.optionalKey(upTo(2, Schema.Struct({ event, ms }))),
        acts: Schema.optionalKey(upTo(1, Act))
      })
    )
  })

const mode = Schema.optionalKey(Schema.Literals(["one-at-a-time", "all"]))

const command = Schema.Literals([
  ...times(6, "steer" as const),
  ...times(6, "followUp" as const),
  ...times(3, "withdraw" as const),
  "clearQueues",
  "deliverAll",
  "abort",
  "prompt",
  "close",
  ...times(2, "watch" as const),
  ...times(2, "watchLate" as const)
])

/** An application that holds an agent. */
export const GeneratedAgent = Schema.Struct({
  commands: some(4, Schema.Struct({ when: When, does: command })),
  steeringMode: mode,
  followUpMode: mode,
  continueWhenQueued: Schema.optionalKey(Schema.Literals([true, false, false]))
})

/** Worlds with tools of their own. */
export const Generated = worldsOf(
  turnOf(playedCall, toolName),
  Schema.Union([...times(9, Schema.Tuple([tool("a"), tool("b"), tool("c")])), Schema.Tuple([])])
)

/** Worlds in which real tools are called. */
export const generatedFor = (tools: ReadonlyArray<Tool.Any>) =>
  worldsOf(turnOf(realCall(tools), Schema.Literals(tools.map(({ name }) => name))), Schema.Tuple([]))
