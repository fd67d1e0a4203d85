// Whole runs, valid by construction, rendered from a generated plan.
import * as Schema from "effect/Schema"
import type { AssistantMessageEvent, EndReason, ToolResult } from "../../src/AgentEvent.ts"
import { finishCall, readTolerant } from "../../src/internal/preview.ts"
import type { AssistantContent, AssistantMessage } from "../../src/Message.ts"
import {
  answer,
  call,
  done,
  end,
  type Events,
  failed,
  notice,
  partial,
  progress,
  resultOf,
  retry,
  run,
  start,
  turn,
  update,
  user,
  whole
} from "./events.ts"

// ---------------------------------------------------------------------------------------------------------------------
// Plans
// ---------------------------------------------------------------------------------------------------------------------

const upTo = (maximum: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum }))

const Chunks = Schema.Array(Schema.String.check(Schema.isMinLength(1))).check(Schema.isMaxLength(3))

const Args = Schema.Union([
  Schema.Struct({
    path: Schema.String,
    limit: Schema.optionalKey(Schema.Int),
    all: Schema.optionalKey(Schema.Boolean)
  }),
  Schema.Array(Schema.NullOr(Schema.Int)).check(Schema.isMaxLength(3)),
  Schema.Literal("text")
])

const Block = Schema.Union([
  Schema.Struct({ kind: Schema.Literal("text"), chunks: Chunks }),
  Schema.Struct({
    kind: Schema.Literal("thinking"),
    chunks: Chunks,
    isRedacted: Schema.Boolean,
    isSigned: Schema.Boolean
  }),
  Schema.Struct({ kind: Schema.Literal("call"), args: Args, length: upTo(8), isBroken: Schema.Boolean }),
  Schema.Struct({ kind: Schema.Literal("other") })
])
type Block = typeof Block.Type

/** Numbers that decide what comes next where there is a choice. */
const Picks = Schema.Array(upTo(6)).check(Schema.isMaxLength(6))
type Picks = typeof Picks.Type

const Attempt = Schema.Struct({
  blocks: Schema.Array(Block).check(Schema.isMaxLength(3)),
  picks: Picks,
  hasStart: Schema.Boolean,
  /** How many events are folded before the message is opened. */
  early: upTo(3)
})
type Attempt = typeof Attempt.Type

const Outcome = Schema.Struct({
  updates: upTo(2),
  isError: Schema.Boolean,
  isRefused: Schema.Boolean,
  terminate: Schema.Boolean,
  content: Schema.Literals(["text", "null", "absent"]),
  details: Schema.optionalKey(Args),
  addedToolNames: Schema.optionalKey(Schema.Array(Schema.String).check(Schema.isMaxLength(1)))
})
type Outcome = typeof Outcome.Type

const Turn = Schema.Struct({
  messages: Schema.Array(Schema.Literals(["user", "notice"])).check(Schema.isMaxLength(2)),
  retries: Schema.Array(Attempt).check(Schema.isMaxLength(2)),
  attempt: Attempt,
  ending: Schema.Literals(["done", "done too", "length", "error", "aborted"]),
  isParallel: Schema.Boolean,
  outcomes: Schema.Array(Outcome).check(Schema.isMaxLength(3)),
  picks: Picks
})
type Turn = typeof Turn.Type

export const Plan = Schema.Struct({
  turns: Schema.Array(Turn).check(Schema.isMinLength(1), Schema.isMaxLength(3)),
  ending: Schema.Literals(["natural", "stopped", "limit", "aborted", "dying hook"])
})
export type Plan = typeof Plan.Type

// ---------------------------------------------------------------------------------------------------------------------
// Rendering
// ---------------------------------------------------------------------------------------------------------------------

/** One of the first events of each list after another, as the picks say, until all are there. */
const merge = <A>(lists: ReadonlyArray<ReadonlyArray<A>>, picks: Picks): ReadonlyArray<A> => {
  const left = lists.filter((list) => list.length > 0)
  if (left.length === 0) return []
  const chosen = left[(picks[0] ?? 0) % left.length]!
  const rest = left.map((list) => (list === chosen ? list.slice(1) : list))
  return [chosen[0]!, ...merge(rest, picks.slice(1))]
}

/** What happens to a message: an event, and what it makes of the content. */
interface Change {
  readonly event: AssistantMessageEvent
  readonly apply: (content: ReadonlyArray<AssistantContent>) => ReadonlyArray<AssistantContent>
}

const change = (event: AssistantMessageEvent, block: AssistantContent): Change => ({
  event,
  apply: (content) => Object.assign([...content], { [event.contentIndex]: block })
})

const textChanges = (block: Extract<Block, { kind: "text" }>, contentIndex: number): ReadonlyArray<Change> => {
  const at = (count: number) => block.chunks.slice(0, count).join("")
  return [
    change({ type: "text_start", contentIndex }, { type: "text", text: "" }),
    ...block.chunks.map((delta, i) =>
      change({ type: "text_delta", contentIndex, delta }, { type: "text", text: at(i + 1) })
    ),
    change({ type: "text_end", contentIndex, content: at(3) }, { type: "text", text: at(3) })
  ]
}

const thinkingChanges = (block: Extract<Block, { kind: "thinking" }>, contentIndex: number): ReadonlyArray<Change> => {
  const first = block.isRedacted ? "[Reasoning redacted]" : ""
  const redacted = block.isRedacted ? { redacted: true, thinkingSignature: "opaque" } : {}
  const at = (count: number) => first + block.chunks.slice(0, count).join("")
  return [
    change(
      { type: "thinking_start", contentIndex, ...(block.isRedacted && { redacted: true, signature: "opaque" }) },
      { type: "thinking", thinking: first, ...redacted }
    ),
    ...block.chunks.map((delta, i) =>
      change({ type: "thinking_delta", contentIndex, delta }, { type: "thinking", thinking: at(i + 1), ...redacted })
    ),
    change(
      { type: "thinking_end", contentIndex, content: at(3), ...(block.isSigned && { signature: "proof" }) },
      { type: "thinking", thinking: at(3), ...redacted, ...(block.isSigned && { thinkingSignature: "proof" }) }
    )
  ]
}

const callChanges = (
  block: Extract<Block, { kind: "call" }>,
  contentIndex: number,
  id: string
): ReadonlyArray<Change> => {
  const json = JSON.stringify(block.args)
  const text = block.isBroken ? `${json}?` : json
  const length = block.length + 1
  const cuts = Array.from({ length: Math.ceil(text.length / length) }, (_, i) => i * length)
  const finished = finishCall(id, "read", text)
  return [
    change({ type: "toolcall_start", contentIndex, id, name: "read" }, { ...call(id), arguments: {} }),
    ...cuts.map((from) =>
      change(
        { type: "toolcall_delta", contentIndex, delta: text.slice(from, from + length) },
        call(id, readTolerant(text.slice(0, from + length)))
      )
    ),
    change({ type: "toolcall_end", contentIndex, toolCall: finished }, finished)
  ]
}

/** The changes of all blocks, interleaved; the blocks begin in order. */
const changesOf = ({ blocks, picks }: Attempt, id: () => string): ReadonlyArray<Change> => {
  const all = blocks.map((block, index): ReadonlyArray<Change> => {
    switch (block.kind) {
      case "text":
        return textChanges(block, index)
      case "thinking":
        return thinkingChanges(block, index)
      case "call":
        return callChanges(block, index, id())
      case "other": {
        const data = { kind: index }
        return [change({ type: "other", contentIndex: index, data }, { type: "other", provider: "acme", data })]
      }
    }
  })
  const merged = merge(all, picks)
  const starts = all.map((changes) => changes[0])
  // Whatever comes first of a block that is not due yet changes places with the start that is.
  return picks.length % 2 === 0 || merged.filter((one) => starts.includes(one)).some((one, i) => one !== starts[i])
    ? all.flat()
    : merged
}

const argumentText = (changes: ReadonlyArray<Change>, index: number): string =>
  changes
    .flatMap(({ event }) => (event.type === "toolcall_delta" && event.contentIndex === index ? [event.delta] : []))
    .join("")

/** The events of an attempt up to its end, and the content that it leaves. */
const renderAttempt = (attempt: Attempt, isCut: boolean, id: () => string) => {
  const all = changesOf(attempt, id)
  const changes = isCut ? all.slice(0, Math.ceil(all.length / 2)) : all
  const contents = changes.reduce(
    (before, { apply }) => [...before, apply(before.at(-1)!)],
    [[] as ReadonlyArray<AssistantContent>]
  )
  // The text of a call that began early is not told, and so its deltas could not be judged.
  const call = changes.findIndex(({ event }) => event.type === "toolcall_start")
  const early = Math.min(attempt.early, call === -1 ? changes.length : call)
  const events: Events = [
    { type: "message_start", message: partial(contents[early]!) },
    ...changes.slice(early).map(({ event }, i) => update(contents[early + i + 1]!, event))
  ]
  const content = contents
    .at(-1)!
    .map((block, index) =>
      block.type === "toolCall" ? finishCall(block.id, block.name, argumentText(changes, index)) : block
    )
  return { events: attempt.hasStart ? events : [], content }
}

const refused: Outcome = { updates: 0, isError: true, isRefused: true, terminate: false, content: "text" }

const toResult = ({ content, details, terminate, addedToolNames }: Outcome): ToolResult => ({
  ...(content === "text" && done),
  ...(content === "null" && { content: null }),
  ...(details !== undefined && { details }),
  ...(terminate && { terminate }),
  ...(addedToolNames !== undefined && { addedToolNames })
})

const renderBatch = (plan: Turn, response: AssistantMessage) => {
  const calls = response.content.filter((block) => block.type === "toolCall")
  const isCutOff = response.stopReason === "length"
  const all = calls.map((of, index) => {
    const planned = plan.outcomes[index % plan.outcomes.length] ?? refused
    const isRefused = isCutOff || of.rawArguments !== undefined || planned.isRefused
    const outcome = isRefused ? refused : planned
    const result = toResult(outcome)
    const updates = Array.from({ length: outcome.updates }, () => progress(of))
    return {
      of,
      result,
      isRefused,
      isError: outcome.isError,
      execution: [...updates, end(of, result, outcome.isError)]
    }
  })
  const messages = all.map(({ of, result, isError }) => whole(resultOf(of, result, isError)))
  const isParallel = plan.isParallel && !isCutOff
  const events = isParallel
    ? [
        ...all.flatMap(({ of, isRefused, execution }) => [start(of), ...(isRefused ? execution : [])]),
        ...merge(
          all.filter(({ isRefused }) => !isRefused).map(({ execution }) => execution),
          plan.picks
        ),
        ...messages.flat()
      ]
    : all.flatMap(({ of, execution }, index) => [start(of), ...execution, ...messages[index]!])
  return { events, wantsToGoOn: calls.length > 0 && all.some(({ result }) => result.terminate !== true) }
}

const renderTurn = (plan: Turn, needsMessage: boolean, id: () => string) => {
  const kinds = needsMessage && plan.messages.length === 0 ? (["user"] as const) : plan.messages
  const isFailure = plan.ending === "error" || plan.ending === "aborted"
  const { events, content } = renderAttempt(plan.attempt, isFailure, id)
  const response = isFailure
    ? failed(plan.ending, content)
    : answer(content, plan.ending === "length" ? { stopReason: "length" } : {})
  const batch = isFailure ? { events: [], wantsToGoOn: false } : renderBatch(plan, response)
  return {
    isFailure,
    wantsToGoOn: batch.wantsToGoOn,
    reason: isFailure ? (plan.ending as "error" | "aborted") : response.stopReason,
    hasCalls: batch.events.length > 0,
    events: turn(
      ...kinds.flatMap((kind) => whole(kind === "user" ? user("hello") : notice)),
      ...plan.retries.flatMap((attempt, index) => [...renderAttempt(attempt, true, id).events, retry(index + 1)]),
      ...(events.length > 0 ? events : [{ type: "message_start" as const, message: response }]),
      { type: "message_end", message: response },
      ...batch.events
    )
  }
}

/** A valid run. */
export const render = (plan: Plan): Events => {
  let ids = 0
  const id = () => `c${ids++}`
  const turns: Array<ReturnType<typeof renderTurn>> = []
  for (const turnPlan of plan.turns) {
    const last = turns.at(-1)
    if (last?.isFailure === true) break
    turns.push(renderTurn(turnPlan, last?.wantsToGoOn === false, id))
  }
  const last = turns.at(-1)!
  const events = turns.flatMap((each) => each.events)
  if (last.isFailure) return run(last.reason as EndReason, events)
  if (plan.ending === "dying hook") return run("error", events, turn(...whole(failed("error"))))
  if (plan.ending === "natural" || (plan.ending === "limit" && !last.wantsToGoOn)) {
    if (last.wantsToGoOn) return run("limit", events)
    return run(last.hasCalls ? "terminated" : "completed", events)
  }
  return run(plan.ending, events)
}
