/**
 * What a transcript is made of: messages, their content blocks, and what a response cost.
 *
 * Everything here is plain data with a Schema beside it: a message survives JSON and back unchanged, and bad data is
 * refused with the path of what is wrong. Timestamps are milliseconds since 1970-01-01T00:00:00Z.
 */
import * as Schema from "effect/Schema"

// ---------------------------------------------------------------------------------------------------------------------
// Content
// ---------------------------------------------------------------------------------------------------------------------

export const Text = Schema.Struct({
  type: Schema.tag("text"),
  text: Schema.String
})
export interface Text extends Schema.Schema.Type<typeof Text> {}

/** An image as base64, with its media type (`image/png`). */
export const Image = Schema.Struct({
  type: Schema.tag("image"),
  data: Schema.String,
  mimeType: Schema.String
})
export interface Image extends Schema.Schema.Type<typeof Image> {}

/**
 * What the model thought. `thinkingSignature` is the provider's proof of it; for redacted thinking it is the opaque data
 * itself. Both go back only to the model that made them.
 */
export const Thinking = Schema.Struct({
  type: Schema.tag("thinking"),
  thinking: Schema.String,
  thinkingSignature: Schema.optionalKey(Schema.String),
  redacted: Schema.optionalKey(Schema.Boolean)
})
export interface Thinking extends Schema.Schema.Type<typeof Thinking> {}

/**
 * A call that the model asks for. `rawArguments` is the text as received, present only where it was not valid JSON; then
 * `arguments` is a tolerant reading for display and the call never runs.
 */
export const ToolCall = Schema.Struct({
  type: Schema.tag("toolCall"),
  id: Schema.String,
  name: Schema.String,
  arguments: Schema.Json,
  rawArguments: Schema.optionalKey(Schema.String)
})
export interface ToolCall extends Schema.Schema.Type<typeof ToolCall> {}

/** A block that we do not know. It is kept, and given back unchanged to the provider that it came from. */
export const Other = Schema.Struct({
  type: Schema.tag("other"),
  provider: Schema.String,
  data: Schema.Json
})
export interface Other extends Schema.Schema.Type<typeof Other> {}

/** What users and tools can say. */
export const Content = Schema.Union([Text, Image])
export type Content = Text | Image

/** What a model can say. */
export const AssistantContent = Schema.Union([Text, Thinking, ToolCall, Other])
export type AssistantContent = Text | Thinking | ToolCall | Other

// ---------------------------------------------------------------------------------------------------------------------
// Usage
// ---------------------------------------------------------------------------------------------------------------------

/** US dollars for each of the four counts of a `Usage`, and their sum. */
export const Cost = Schema.Struct({
  input: Schema.Finite,
  output: Schema.Finite,
  cacheRead: Schema.Finite,
  cacheWrite: Schema.Finite,
  total: Schema.Finite
})
export interface Cost extends Schema.Schema.Type<typeof Cost> {}

/** Tokens in four disjoint counts, and their sum. `cost` is absent when the price is not known. */
export const Usage = Schema.Struct({
  input: Schema.Finite,
  output: Schema.Finite,
  cacheRead: Schema.Finite,
  cacheWrite: Schema.Finite,
  totalTokens: Schema.Finite,
  cost: Schema.optionalKey(Cost)
})
export interface Usage extends Schema.Schema.Type<typeof Usage> {}

export const emptyUsage: Usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 }

/** The sum of two usages. The cost is known only if each side that counts tokens knows its own. */
export const addUsage = (left: Usage, right: Usage): Usage => {
  if (right.totalTokens === 0 && right.cost === undefined) return left
  if (left.totalTokens === 0 && left.cost === undefined) return right
  const sum = {
    input: left.input + right.input,
    output: left.output + right.output,
    cacheRead: left.cacheRead + right.cacheRead,
    cacheWrite: left.cacheWrite + right.cacheWrite,
    totalTokens: left.totalTokens + right.totalTokens
  }
  return left.cost === undefined || right.cost === undefined ? sum : { ...sum, cost: addCost(left.cost, right.cost) }
}

const addCost = (left: Cost, right: Cost): Cost => ({
  input: left.input + right.input,
  output: left.output + right.output,
  cacheRead: left.cacheRead + right.cacheRead,
  cacheWrite: left.cacheWrite + right.cacheWrite,
  total: left.total + right.total
})

// ---------------------------------------------------------------------------------------------------------------------
// Messages
// ---------------------------------------------------------------------------------------------------------------------

export const UserMessage = Schema.Struct({
  role: Schema.tag("user"),
  content: Schema.Union([Schema.String, Schema.Array(Content)]),
  timestamp: Schema.Finite
})
export interface UserMessage extends Schema.Schema.Type<typeof UserMessage> {}

/**
 * Why a response ended: by itself (`stop`), at the output limit (`length`), to have its tool calls executed (`toolUse`),
 * by a failure (`error`), or because the run was aborted (`aborted`).
 */
export const StopReason = Schema.Literals(["stop", "length", "toolUse", "error", "aborted"])
export type StopReason = typeof StopReason.Type

/** What the provider said of the end beyond `stopReason`: `refusal`, `pause_turn`, `model_context_window_exceeded`, … */
export const StopDetail = Schema.Struct({
  type: Schema.String,
  message: Schema.optionalKey(Schema.String)
})
export interface StopDetail extends Schema.Schema.Type<typeof StopDetail> {}

/** A provider's failure as data: its reason, whether asking again can help, and how long the provider asks to wait. */
export const ResponseError = Schema.Struct({
  reason: Schema.String,
  retryable: Schema.Boolean,
  retryAfterMs: Schema.optionalKey(Schema.Finite)
})
export interface ResponseError extends Schema.Schema.Type<typeof ResponseError> {}

/** `provider` and `model` name who answered; `errorMessage` and `error` say what failed, in words and as data. */
export const AssistantMessage = Schema.Struct({
  role: Schema.tag("assistant"),
  content: Schema.Array(AssistantContent),
  provider: Schema.String,
  model: Schema.String,
  usage: Usage,
  stopReason: StopReason,
  stopDetail: Schema.optionalKey(StopDetail),
  errorMessage: Schema.optionalKey(Schema.String),
  error: Schema.optionalKey(ResponseError),
  timestamp: Schema.Finite
})
export interface AssistantMessage extends Schema.Schema.Type<typeof AssistantMessage> {}

/** The result of one tool call: `content` is for the model, `details` for people and programs. */
export const ToolResultMessage = Schema.Struct({
  role: Schema.tag("toolResult"),
  toolCallId: Schema.String,
  toolName: Schema.String,
  content: Schema.Array(Content),
  details: Schema.optionalKey(Schema.Json),
  addedToolNames: Schema.optionalKey(Schema.Array(Schema.String)),
  isError: Schema.Boolean,
  timestamp: Schema.Finite
})
export interface ToolResultMessage extends Schema.Schema.Type<typeof ToolResultMessage> {}

/** The messages that a model understands. */
export const LlmMessage = Schema.Union([UserMessage, AssistantMessage, ToolResultMessage])
export type LlmMessage = UserMessage | AssistantMessage | ToolResultMessage

/**
 * The kinds of messages that an application adds, by declaration merging:
 *
 * ```ts
 * const Notice = Message.custom("notice", { note: Schema.String })
 *
 * declare module "effect-agent/Message" {
 *   interface CustomMessages {
 *     readonly notice: typeof Notice.Type
 *   }
 * }
 * ```
 *
 * They live in the transcript and in events, and reach the model only if the hook `convertToLlm` translates them.
 */
export interface CustomMessages {}

export type CustomMessage = CustomMessages[keyof CustomMessages]

export type Message = LlmMessage | CustomMessage

/** The Schema of an application's own kind of message. A `role` of the field's own (`user`, …) is refused. */
export const custom = <const Role extends string, const Fields extends Schema.Struct.Fields>(
  role: Role extends LlmMessage["role"] ? never : Role,
  fields: Fields
) => Schema.Struct({ role: Schema.tag<Role>(role), ...fields, timestamp: Schema.Finite })

const llmRoles: ReadonlyArray<string> = ["user", "assistant", "toolResult"] satisfies ReadonlyArray<LlmMessage["role"]>

const AnyCustom = Schema.StructWithRest(
  Schema.Struct({
    role: Schema.String.check(
      Schema.makeFilter((role) => !llmRoles.includes(role), { expected: "an application's own role" })
    ),
    timestamp: Schema.Finite
  }),
  [Schema.Record(Schema.String, Schema.Json)]
)

/** Any message. An application's own kind must be JSON with a `role` and a `timestamp`; `schema` checks more. */
export const Message: Schema.Codec<Message> = Schema.Union([
  UserMessage,
  AssistantMessage,
  ToolResultMessage,
  AnyCustom
]) as Schema.Schema<unknown> as Schema.Codec<Message>

/** Messages with the given kinds of an application, each checked by its own Schema; other kinds are refused. */
export const schema = (...kinds: ReadonlyArray<Schema.Codec<CustomMessage>>): Schema.Codec<Message> =>
  Schema.Union([UserMessage, AssistantMessage, ToolResultMessage, ...kinds])
