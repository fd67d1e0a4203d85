/**
 * Scripts: what a model is to do, as data. The steps of a turn are whole blocks, events of a provider, and what can happen
 * instead of an event. A script is checked by its Schema; whatever is wrong is named with its path.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Message from "../../Message.ts"
import { ProviderErrorReason, ProviderEvent } from "../../services/Provider.ts"
import * as Tool from "../../Tool.ts"

/** Lets time pass. */
export const Wait = Schema.Struct({
  type: Schema.tag("wait"),
  ms: Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0))
})

/** Fails with a `ProviderError`; `retryable` is false unless given. */
export const Fail = Schema.Struct({
  type: Schema.tag("error"),
  reason: ProviderErrorReason,
  message: Schema.String,
  retryable: Schema.optionalKey(Schema.Boolean),
  retryAfterMs: Schema.optionalKey(Schema.Finite),
  usage: Schema.optionalKey(Message.Usage)
})

/** Dies with an `Error`, as a faulty provider would. */
export const Die = Schema.Struct({ type: Schema.tag("die"), message: Schema.String })

/** Never goes on. Only an interruption ends it. */
export const Stall = Schema.Struct({ type: Schema.tag("stall") })

/** Closes the stream without `done`, as a connection that breaks without a word. */
export const Cut = Schema.Struct({ type: Schema.tag("cut") })

/** The greatest length of a delta, in UTF-16 code units; one delta for the whole text without it. */
const chunk = Schema.optionalKey(Schema.Int.check(Schema.isGreaterThan(0)))

/** A whole text block: its start, its deltas, its end. */
export const Text = Schema.Struct({ type: Schema.tag("text"), text: Schema.String, chunk })

/** A whole thinking block. */
export const Thinking = Schema.Struct({ type: Schema.tag("thinking"), text: Schema.String, chunk })

/**
 * A whole tool call. It has the fields of a message's `ToolCall`: `rawArguments`, where given, is what is streamed, and may
 * be anything; without both there are no deltas.
 */
export const ToolCall = Schema.Struct({
  type: Schema.tag("toolCall"),
  id: Schema.String,
  name: Schema.String,
  arguments: Schema.optionalKey(Schema.Json),
  rawArguments: Schema.optionalKey(Schema.String),
  chunk
})

export const Step = Schema.Union([
  ...ProviderEvent.members,
  Wait,
  Fail,
  Die,
  Stall,
  Cut,
  Text,
  Thinking,
  ToolCall
]).annotate({
  expected: "a step: a whole block (text, thinking, toolCall), wait, error, die, stall, cut, or an event of a provider"
})
export type Step = typeof Step.Type

/**
 * What answers one request. Events are played as they are; whole blocks take the next free `contentIndex`. Two events need
 * not be written:
 *
 * - `start` comes right before the first whole block, unless it was written before. Without whole blocks there is none.
 * - `done` comes at the end of a turn that has none; its reason is `toolUse` if the turn has a tool call, else `stop`. It is
 *   never reached after `error`, `die`, `stall` or `cut`.
 */
export const Turn = Schema.Array(Step)
export type Turn = typeof Turn.Type

export const Script = Schema.Struct({ turns: Schema.Array(Turn) })
export interface Script extends Schema.Schema.Type<typeof Script> {}

/** A text that is no script. `message` names everything that is wrong, with its path. */
export class InvalidScript extends Schema.TaggedError<InvalidScript>()("InvalidScript", { message: Schema.String }) {}

const strict = { errors: "all", onExcessProperty: "error", reportInput: true } as const
const decodeScript = Schema.decodeUnknownEffect(Script, strict)
const decodeType = Schema.decodeUnknownEffect(Schema.toType(Script), strict)

/** Reads a script from JSON text: `{ "turns": [[ … ], [ … ]] }`. Unknown fields are refused: they would do nothing. */
export const parse = (text: string): Effect.Effect<Script, InvalidScript> =>
  Effect.try(() => JSON.parse(text) as unknown).pipe(
    // The parser's own words say where the text stops being JSON.
    Effect.mapError(({ cause }) => new InvalidScript({ message: `Not JSON: ${Tool.describeDefect(cause)}` })),
    Effect.flatMap((json) => Effect.mapError(decodeScript(json), invalid))
  )

/** A script that was written in code, where nobody may have looked at the types. */
export const check = (script: Script): Effect.Effect<Script, InvalidScript> =>
  Effect.mapError(decodeType(script), invalid)

const invalid = ({ message }: Schema.SchemaError) => new InvalidScript({ message })
