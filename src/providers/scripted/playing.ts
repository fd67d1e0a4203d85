/**
 * Plays one turn of a script, pull by pull. It is compiled once: whole blocks are taken apart into events, and all events
 * between two waits arrive in arrays of a greatest length, without an effect for each.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Pull from "effect/Pull"
import * as Stream from "effect/Stream"
import { ProviderError, type ProviderEvent } from "../../services/Provider.ts"
import type { Fail, Step, Text, Thinking, ToolCall, Turn } from "./script.ts"

type Events = readonly [ProviderEvent, ...Array<ProviderEvent>]
type Play = Pull.Pull<Events, ProviderError>

/** What one pull does, given the pull that follows it. */
export type Act = (next: Play) => Play

export const play = (acts: ReadonlyArray<Act>): Stream.Stream<ProviderEvent, ProviderError> =>
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

export const fail = ({ type: _, ...error }: typeof Fail.Type): Act => {
  const pull = Effect.fail(new ProviderError({ retryable: false, ...error }))
  return () => pull
}

export const compile = (turn: Turn, arrays: number): ReadonlyArray<Act> => {
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
