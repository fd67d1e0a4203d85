// The cases of the loop, as FORMAT.md describes them (sections 2 to 6), and what agent cases share with them. Members that
// are not known here are ignored.
import * as Schema from "effect/Schema"

const Args = Schema.Json
const optional = Schema.optionalKey

// ---------------------------------------------------------------------------------------------------------------------
// Messages
// ---------------------------------------------------------------------------------------------------------------------

const count = optional(Schema.Finite)

/** A count that is left out is 0. */
const RecordedUsage = Schema.Struct({ input: count, output: count, cacheRead: count, cacheWrite: count })
export type RecordedUsage = typeof RecordedUsage.Type

/** A message of a transcript. Most members have defaults (section 1), which `messages.ts` fills in. */
export const RecordedMessage = Schema.StructWithRest(Schema.Struct({ role: Schema.String }), [
  Schema.Record(Schema.String, Schema.Json)
])
export type RecordedMessage = typeof RecordedMessage.Type

export const Messages = Schema.Array(RecordedMessage)

export const Model = Schema.Struct({ id: Schema.String, provider: Schema.String })

// ---------------------------------------------------------------------------------------------------------------------
// Provider
// ---------------------------------------------------------------------------------------------------------------------

const index = { contentIndex: Schema.Int }
const delta = { ...index, delta: Schema.String }
const ending = {
  errorMessage: optional(Schema.String),
  usage: optional(RecordedUsage),
  content: optional(Schema.Array(Schema.Record(Schema.String, Schema.Json)))
}

export const ProviderStep = Schema.Union([
  Schema.Struct({ type: Schema.tag("start") }),
  Schema.Struct({ type: Schema.tag("text_start"), ...index }),
  Schema.Struct({ type: Schema.tag("text_delta"), ...delta }),
  Schema.Struct({ type: Schema.tag("text_end"), ...index }),
  Schema.Struct({
    type: Schema.tag("thinking_start"),
    ...index,
    redacted: optional(Schema.Boolean),
    signature: optional(Schema.String)
  }),
  Schema.Struct({ type: Schema.tag("thinking_delta"), ...delta }),
  Schema.Struct({ type: Schema.tag("thinking_end"), ...index, signature: optional(Schema.String) }),
  Schema.Struct({ type: Schema.tag("toolcall_start"), ...index, id: Schema.String, name: Schema.String }),
  Schema.Struct({ type: Schema.tag("toolcall_delta"), ...delta }),
  Schema.Struct({ type: Schema.tag("toolcall_end"), ...index }),
  Schema.Struct({ type: Schema.tag("done"), reason: Schema.Literals(["stop", "length", "toolUse"]), ...ending }),
  Schema.Struct({ type: Schema.tag("error"), reason: Schema.Literals(["error", "aborted"]), ...ending }),
  Schema.Struct({
    type: Schema.tag("end"),
    reason: Schema.Literals(["stop", "length", "toolUse", "error", "aborted"]),
    ...ending
  }),
  Schema.Struct({ type: Schema.tag("wait"), ms: Schema.Finite }),
  Schema.Struct({ type: Schema.tag("callThrow"), message: Schema.String }),
  Schema.Struct({ type: Schema.tag("streamThrow"), message: Schema.String })
])
export type ProviderStep = typeof ProviderStep.Type

export const Script = Schema.Struct({ turns: Schema.Array(Schema.Array(ProviderStep)) })

// ---------------------------------------------------------------------------------------------------------------------
// Tools
// ---------------------------------------------------------------------------------------------------------------------

const atMs = { atMs: Schema.Finite }

/** What a tool gives. `content` may be null; the blocks are taken as they are. */
const Result = Schema.Record(Schema.String, Schema.Json)

export const ToolStep = Schema.Union([
  Schema.Struct({ ...atMs, update: Result }),
  Schema.Struct({ ...atMs, result: Result }),
  Schema.Struct({ ...atMs, throw: Schema.String }),
  Schema.Struct({ ...atMs, throwRaw: Schema.String })
])
export type ToolStep = typeof ToolStep.Type

const PrepareArguments = Schema.Struct({
  throw: optional(Schema.String),
  rename: optional(Schema.Record(Schema.String, Schema.String)),
  defaults: optional(Schema.Record(Schema.String, Schema.Json)),
  drop: optional(Schema.Array(Schema.String))
})
export type PrepareArguments = typeof PrepareArguments.Type

export const ToolDefinition = Schema.Struct({
  name: Schema.String,
  description: Schema.String,
  parameters: Schema.Record(Schema.String, Schema.Json),
  executionMode: optional(Schema.Literals(["sequential", "parallel"])),
  prepareArguments: optional(PrepareArguments),
  behaviour: optional(Schema.Array(ToolStep)),
  behaviours: optional(Schema.Record(Schema.String, Schema.Array(ToolStep)))
})
export type ToolDefinition = typeof ToolDefinition.Type

// ---------------------------------------------------------------------------------------------------------------------
// Configuration
// ---------------------------------------------------------------------------------------------------------------------

const Throw = Schema.Struct({ throw: Schema.String })

const rule = {
  tool: optional(Schema.String),
  call: optional(Schema.Int),
  toolCallId: optional(Schema.String),
  delayMs: optional(Schema.Finite)
}

export const BeforeRule = Schema.Struct({
  ...rule,
  action: optional(Schema.Literals(["allow", "block", "throw"])),
  reason: optional(Schema.String),
  message: optional(Schema.String),
  setArgs: optional(Schema.Record(Schema.String, Args))
})
export type BeforeRule = typeof BeforeRule.Type

export const AfterRule = Schema.Struct({ ...rule, override: optional(Result), throw: optional(Schema.String) })
export type AfterRule = typeof AfterRule.Type

export const TransformContext = Schema.Struct({
  keepLast: optional(Schema.Int),
  inject: optional(RecordedMessage),
  position: optional(Schema.Literals(["start", "end"])),
  dropRole: optional(Schema.String),
  throw: optional(Schema.String)
})
export type TransformContext = typeof TransformContext.Type

export const ConvertToLlm = Schema.Union([Schema.Literals(["dropCustom", "customToUser", "identity"]), Throw])
export type ConvertToLlm = typeof ConvertToLlm.Type

export const TurnUpdate = Schema.Struct({
  context: optional(
    Schema.Struct({
      systemPrompt: optional(Schema.String),
      toolNames: optional(Schema.Array(Schema.String)),
      messages: optional(Messages),
      keepLast: optional(Schema.Int)
    })
  ),
  model: optional(Model),
  thinkingLevel: optional(Schema.String)
})
export type TurnUpdate = typeof TurnUpdate.Type

const Queue = Schema.Array(Schema.NullOr(Messages))

export const Config = Schema.Struct({
  toolExecution: optional(Schema.Literals(["parallel", "sequential"])),
  beforeToolCall: optional(Schema.Array(BeforeRule)),
  afterToolCall: optional(Schema.Array(AfterRule)),
  transformContext: optional(TransformContext),
  convertToLlm: optional(ConvertToLlm),
  getApiKey: optional(Schema.Array(Schema.Union([Schema.NullOr(Schema.String), Throw]))),
  steering: optional(Queue),
  followUp: optional(Queue),
  shouldStopAfterTurn: optional(Schema.Array(Schema.Boolean)),
  prepareNextTurn: optional(Schema.Array(Schema.Union([Throw, Schema.NullOr(TurnUpdate)])))
})
export type Config = typeof Config.Type

// ---------------------------------------------------------------------------------------------------------------------
// Cases
// ---------------------------------------------------------------------------------------------------------------------

export const Scenario = Schema.Struct({
  entry: Schema.Literals(["prompt", "continue"]),
  context: Schema.Struct({
    systemPrompt: optional(Schema.String),
    messages: Messages,
    tools: optional(Schema.Array(Schema.String))
  }),
  prompts: optional(Messages),
  tools: Schema.Array(ToolDefinition),
  model: Model,
  reasoning: optional(Schema.String),
  apiKey: optional(Schema.String),
  provider: Script,
  config: Config
})
export type Scenario = typeof Scenario.Type

/** What is recorded of loops and agents alike. */
export const seen = {
  events: Schema.Array(Schema.Record(Schema.String, Schema.Json)),
  times: Schema.Array(Schema.Finite),
  requests: Schema.Array(Schema.Record(Schema.String, Schema.Json)),
  hooks: Schema.Array(Schema.Record(Schema.String, Schema.Json)),
  endMs: Schema.Finite
}

/** What is recorded of a run, and what a run here is turned into. */
export const Recording = Schema.Struct({
  ...seen,
  newMessages: Schema.NullOr(Messages),
  error: optional(Schema.String)
})
export type Recording = typeof Recording.Type

export const head = {
  id: Schema.String,
  title: Schema.String,
  differs: optional(Schema.Array(Schema.String))
}

export const LoopCase = Schema.Struct({ ...head, scenario: Scenario, expected: Recording })
export type LoopCase = typeof LoopCase.Type
