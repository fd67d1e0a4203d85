// The cases of the stateful agent, as FORMAT.md describes them (section 6).
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import { Config, head, Messages, Model, RecordedMessage, Script, seen, ToolDefinition, TurnUpdate } from "./scenario.ts"

const optional = Schema.optionalKey

const QueueMode = Schema.Literals(["one-at-a-time", "all"])

// ---------------------------------------------------------------------------------------------------------------------
// Commands
// ---------------------------------------------------------------------------------------------------------------------

/** These take time, and their outcome is recorded. */
const timed = { await: optional(Schema.Boolean) }

export const TimedCommand = Schema.Union([
  Schema.Struct({
    do: Schema.tag("prompt"),
    ...timed,
    text: optional(Schema.String),
    images: optional(Schema.Array(Schema.Record(Schema.String, Schema.String))),
    message: optional(RecordedMessage),
    messages: optional(Messages)
  }),
  Schema.Struct({ do: Schema.tag("continue"), ...timed }),
  Schema.Struct({ do: Schema.tag("waitForIdle"), ...timed })
])
export type TimedCommand = typeof TimedCommand.Type

export const InstantCommand = Schema.Union([
  Schema.Struct({ do: Schema.Literals(["steer", "followUp"]), message: RecordedMessage }),
  Schema.Struct({
    do: Schema.Literals(["clearSteering", "clearFollowUp", "clearAll", "abort", "reset", "snapshot"])
  }),
  Schema.Struct({ do: Schema.Literals(["setSteeringMode", "setFollowUpMode"]), mode: QueueMode }),
  Schema.Struct({ do: Schema.tag("setToolExecution"), mode: Schema.Literals(["parallel", "sequential"]) }),
  Schema.Struct({ do: Schema.tag("setSystemPrompt"), systemPrompt: Schema.String }),
  Schema.Struct({ do: Schema.tag("setModel"), model: Model }),
  Schema.Struct({ do: Schema.tag("setThinkingLevel"), level: Schema.String }),
  Schema.Struct({ do: Schema.tag("setTools"), tools: Schema.Array(Schema.String) }),
  Schema.Struct({ do: Schema.tag("setMessages"), messages: Messages }),
  Schema.Struct({
    do: Schema.tag("subscribe"),
    id: Schema.String,
    only: optional(Schema.Array(Schema.String)),
    delayMs: optional(Schema.Finite),
    throwOn: optional(Schema.Struct({ type: Schema.String, nth: optional(Schema.Int), message: Schema.String })),
    showSignal: optional(Schema.Boolean)
  }),
  Schema.Struct({ do: Schema.tag("unsubscribe"), id: Schema.String })
])
export type InstantCommand = typeof InstantCommand.Type

export const Wait = Schema.Struct({ do: Schema.tag("wait"), ms: Schema.Finite })

export const Trigger = Schema.Struct({
  on: Schema.Struct({
    type: Schema.String,
    nth: Schema.Int,
    update: optional(Schema.String),
    role: optional(Schema.String)
  }),
  run: Schema.Array(Schema.Union([TimedCommand, InstantCommand]))
})
export type Trigger = typeof Trigger.Type

// ---------------------------------------------------------------------------------------------------------------------
// Cases
// ---------------------------------------------------------------------------------------------------------------------

export const AgentScenario = Schema.Struct({
  initial: Schema.Struct({
    systemPrompt: optional(Schema.String),
    model: optional(Model),
    thinkingLevel: optional(Schema.String),
    tools: optional(Schema.Array(Schema.String)),
    messages: optional(Messages)
  }),
  options: Schema.Struct({
    ...Struct.omit(Config.fields, ["steering", "followUp", "shouldStopAfterTurn"]),
    steeringMode: optional(QueueMode),
    followUpMode: optional(QueueMode),
    prepareNextTurnSimple: optional(Schema.Array(Schema.NullOr(TurnUpdate)))
  }),
  tools: Schema.Array(ToolDefinition),
  provider: Script,
  commands: Schema.Array(Schema.Union([TimedCommand, InstantCommand, Wait])),
  triggers: optional(Schema.Array(Trigger))
})
export type AgentScenario = typeof AgentScenario.Type

const Members = Schema.Record(Schema.String, Schema.Json)

/** What is recorded of an agent, and what an agent here is turned into. */
export const AgentRecording = Schema.Struct({
  ...seen,
  states: Schema.Array(Members),
  outcomes: Schema.Array(Members),
  snapshots: optional(Schema.Array(Members)),
  listeners: optional(Schema.Array(Members)),
  final: Members
})
export type AgentRecording = typeof AgentRecording.Type

export const AgentCase = Schema.Struct({ ...head, scenario: AgentScenario, expected: AgentRecording })
export type AgentCase = typeof AgentCase.Type
