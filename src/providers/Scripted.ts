/**
 * A provider that plays turns given as data: the n-th request is answered by the n-th turn, always in the same way, on the
 * virtual clock where there is one. For tests of agents, for benchmarks, and for demonstrations (`--script FILE`).
 *
 * All events between two waits arrive as one array, without an effect for each. A script is checked by its Schema; the
 * requests that were made, and how many streams were opened and closed, can be read while it plays.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Pull from "effect/Pull"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Message from "../Message.ts"
import * as Tool from "../Tool.ts"
import {
  Provider,
  ProviderError,
  ProviderErrorReason,
  ProviderEvent,
  type ProviderRequest
} from "../services/Provider.ts"

// ---------------------------------------------------------------------------------------------------------------------
// Scripts
// ---------------------------------------------------------------------------------------------------------------------

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
const checkScript = Schema.decodeUnknownEffect(Schema.toType(Script), strict)

/** Reads a script from JSON text: `{ "turns": [[ … ], [ … ]] }`. Unknown fields are refused: they would do nothing. */
export const parse = (text: string): Effect.Effect<Script, InvalidScript> =>
  Effect.try(() => JSON.parse(text) as unknown).pipe(
    // The parser's own words say where the text stops being JSON.
    Effect.mapError(({ cause }) => new InvalidScript({ message: `Not JSON: ${Tool.describeDefect(cause)}` })),
    Effect.flatMap((json) => Effect.mapError(decodeScript(json), invalid))
  )

const invalid = ({ message }: Schema.SchemaError) => new InvalidScript({ message })

// ---------------------------------------------------------------------------------------------------------------------
// Provider
// ---------------------------------------------------------------------------------------------------------------------

export interface Options {
  /**
   * The greatest number of events in one array; 1 unless given. A run is aborted between arrays: the events of one that has
   * come are all told.
   */
  readonly arrays?: number | undefined
}

/** The provider that plays a script, and what it saw so far. */
export class Scripted extends Context.Service<
  Scripted,
  Provider["Service"] & {
    /** The requests so far, in order. A request is made when its stream is first pulled. */
    readonly requests: ReadonlyArray<ProviderRequest>
    /** How many streams were opened, and how many of them their consumers have closed. */
    readonly streams: { readonly opened: number; readonly closed: number }
  }
>()("effect-agent/providers/Scripted") {}

/** Dies with an `InvalidScript` where the types were not looked at, and the script is none. */
export const make = (script: Script, options?: Options): Effect.Effect<Scripted["Service"]> =>
  Effect.map(Effect.orDie(Effect.mapError(checkScript(script), invalid)), () => {
    const turns = script.turns.map((turn) => compile(turn, Math.max(1, options?.arrays ?? 1)))
    const requests: Array<ProviderRequest> = []
    const streams = { opened: 0, closed: 0 }
    const open = (request: ProviderRequest) =>
      Effect.sync(() => {
        streams.opened += 1
        requests.push(request)
        return turns[requests.length - 1] ?? [noTurnLeft(requests.length, turns.length)]
      })
    const close = Effect.sync(() => {
      streams.closed += 1
    })
    return {
      requests,
      streams,
      stream: (request) =>
        Stream.unwrap(
          Effect.map(
            Effect.acquireRelease(open(request), () => close),
            play
          )
        )
    }
  })

/** Each build of the layer plays the script from its beginning. */
export const layer = (script: Script, options?: Options): Layer.Layer<Provider | Scripted> =>
  Layer.effectContext(
    Effect.map(make(script, options), (scripted) =>
      Context.make(Scripted, scripted).pipe(Context.add(Provider, scripted))
    )
  )

const noTurnLeft = (request: number, turns: number): Act =>
  fail({
    type: "error",
    reason: "invalidRequest",
    message: `The script has no turn left: it has ${turns}, and this is request ${request}.`
  })

// ---------------------------------------------------------------------------------------------------------------------
// Playing
// ---------------------------------------------------------------------------------------------------------------------

type Events = readonly [ProviderEvent, ...Array<ProviderEvent>]
type Play = Pull.Pull<Events, ProviderError>

/** What one pull does, given the pull that follows it. */
type Act = (next: Play) => Play

const play = (acts: ReadonlyArray<Act>): Stream.Stream<ProviderEvent, ProviderError> =>
  Stream.fromPull(
    Effect.sync(() => {
      let position = 0
      const pull: Play = Effect.suspend(() => acts[position++]?.(pull) ?? Cause.done())
      return pull
    })
  )

const give = (events: Events): Act => {
  const pull = Effect.succeed(events)
  return () => pull
}

const wait =
  (ms: number): Act =>
  (next) =>
    Effect.andThen(Effect.sleep(ms), next)

const fail = ({ type: _, ...error }: typeof Fail.Type): Act => {
  const pull = Effect.fail(new ProviderError({ retryable: false, ...error }))
  return () => pull
}

const compile = (turn: Turn, arrays: number): ReadonlyArray<Act> => {
  const acts: Array<Act> = []
  let events: Array<ProviderEvent> = []
  const flush = () => {
    for (let from = 0; from < events.length; from += arrays) {
      acts.push(give(events.slice(from, from + arrays) as unknown as Events))
    }
    events = []
  }
  for (const step of expand(turn)) {
    const act = toAct(step)
    if (act === undefined) {
      events.push(step as ProviderEvent)
      continue
    }
    flush()
    acts.push(act)
  }
  flush()
  return acts
}

const toAct = (step: Primitive): Act | undefined => {
  switch (step.type) {
    case "wait":
      return wait(step.ms)
    case "error":
      return fail(step)
    case "die":
      return () => Effect.die(new Error(step.message))
    case "stall":
      return () => Effect.never
    case "cut":
      return () => Cause.done()
    default:
      return undefined
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Whole blocks
// ---------------------------------------------------------------------------------------------------------------------

type Block = typeof Text.Type | typeof Thinking.Type | typeof ToolCall.Type
type Primitive = Exclude<Step, Block>

/** The steps of a turn with whole blocks taken apart, and with the `start` and `done` that need not be written. */
const expand = (turn: Turn): ReadonlyArray<Primitive> => {
  const steps: Array<Primitive> = []
  let isStarted = false
  let contentIndex = 0
  for (const step of turn) {
    if (!isBlock(step)) {
      if (step.type === "start") isStarted = true
      if ("contentIndex" in step) contentIndex = Math.max(contentIndex, step.contentIndex + 1)
      steps.push(step)
      continue
    }
    if (!isStarted) steps.push({ type: "start" })
    isStarted = true
    for (const event of blockEvents(step, contentIndex++)) steps.push(event)
  }
  if (steps.some((step) => step.type === "done")) return steps
  const isToolUse = steps.some((step) => step.type === "toolcall_start")
  return [...steps, { type: "done", reason: isToolUse ? "toolUse" : "stop" }]
}

const isBlock = (step: Step): step is Block =>
  step.type === "text" || step.type === "thinking" || step.type === "toolCall"

const blockEvents = (block: Block, contentIndex: number): ReadonlyArray<ProviderEvent> => {
  switch (block.type) {
    case "text":
      return [
        { type: "text_start", contentIndex },
        ...slices(block.text, block.chunk).map((delta) => ({ type: "text_delta" as const, contentIndex, delta })),
        { type: "text_end", contentIndex }
      ]
    case "thinking":
      return [
        { type: "thinking_start", contentIndex },
        ...slices(block.text, block.chunk).map((delta) => ({ type: "thinking_delta" as const, contentIndex, delta })),
        { type: "thinking_end", contentIndex }
      ]
    case "toolCall":
      return [
        { type: "toolcall_start", contentIndex, id: block.id, name: block.name },
        ...slices(argumentText(block), block.chunk).map((delta) => ({
          type: "toolcall_delta" as const,
          contentIndex,
          delta
        })),
        { type: "toolcall_end", contentIndex }
      ]
  }
}

const argumentText = (call: typeof ToolCall.Type): string =>
  call.rawArguments ?? (call.arguments === undefined ? "" : JSON.stringify(call.arguments))

/** The text in pieces. A piece is one unit shorter or longer rather than to cut a surrogate pair. */
const slices = (text: string, length = Infinity): ReadonlyArray<string> => {
  const pieces: Array<string> = []
  for (let from = 0, to; from < text.length; from = to) {
    to = Math.min(from + length, text.length)
    if (isInsidePair(text, to)) to += to - from === 1 ? 1 : -1
    pieces.push(text.slice(from, to))
  }
  return pieces
}

const isInsidePair = (text: string, position: number): boolean => text.codePointAt(position - 1)! > 0xffff
