// Every generated run is accepted, and a single change to it is refused, unless it is one of those that are shown here to
// leave a run that is as valid as before.
import { describe, expect, it } from "@effect/vitest"
import * as Equal from "effect/Equal"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { AgentEvent } from "../../src/AgentEvent.ts"
import * as TraceChecker from "../../src/testing/TraceChecker.ts"
import { type Events, tokens } from "./events.ts"
import { Plan, render } from "./plans.ts"

const options = { arbitrary: { runs: 300 } }

/** Where a change is made: a number that chooses among the places there are. */
const Place = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10_000 }))

/** Whether an event belongs to an attempt that is discarded: nobody is told what its last events came to. */
const isDiscarded = (events: Events, index: number): boolean => {
  const next = events.slice(index).find((event) => event.type !== "message_start" && event.type !== "message_update")
  return next?.type === "retry"
}

/** Holds a change at a place to be refused, unless it is neutral: then it must be accepted. */
const expectVerdict = (changed: Events, isNeutral: boolean, events: Events, index: number) => {
  if (isDiscarded(events, index)) return
  expect(Option.getOrUndefined(TraceChecker.check(changed))?.message).toSatisfy(
    (violation: string | undefined) => (violation === undefined) === isNeutral
  )
}

// ---------------------------------------------------------------------------------------------------------------------
// Neutral changes
// ---------------------------------------------------------------------------------------------------------------------

const isToolUpdate = (event: AgentEvent | undefined) => event?.type === "tool_execution_update"

/** The end of a block says nothing new, except for a signature and for arguments that are not JSON. */
const isSilentEnd = (event: AgentEvent | undefined): boolean => {
  if (event?.type !== "message_update") return false
  const told = event.assistantMessageEvent
  switch (told.type) {
    case "text_end":
      return true
    case "thinking_end":
      return told.signature === undefined
    case "toolcall_end":
      return told.toolCall.rawArguments === undefined
    default:
      return false
  }
}

/** The reading of broken arguments shows them as such only in what comes after: nothing, if the response ends there. */
const isLastEnd = (events: Events, index: number): boolean => {
  const event = events[index]
  return (
    event?.type === "message_update" &&
    event.assistantMessageEvent.type === "toolcall_end" &&
    events[index + 1]?.type === "message_end"
  )
}

const isNeutralDrop = (events: Events, index: number) =>
  isToolUpdate(events[index]) || isSilentEnd(events[index]) || isLastEnd(events, index)

/** Events of two calls that run side by side may change places. */
const isExecution = (event: AgentEvent) => event.type === "tool_execution_update" || event.type === "tool_execution_end"

const callOf = (event: AgentEvent) => ("toolCallId" in event ? event.toolCallId : undefined)

/** A call that is refused may end before or after the next one starts. */
const isRefusedBesideStart = (events: Events, first: AgentEvent, second: AgentEvent): boolean => {
  const [starting, ending] = first.type === "tool_execution_start" ? [first, second] : [second, first]
  return (
    starting.type === "tool_execution_start" &&
    ending.type === "tool_execution_end" &&
    ending.isError &&
    !events.some((event) => isToolUpdate(event) && callOf(event) === ending.toolCallId)
  )
}

const messageOf = (event: AgentEvent | undefined) => (event && "message" in event ? event.message : undefined)

/** Two updates about different blocks, of which neither shows in the message. */
const areSilent = (events: Events, index: number): boolean => {
  const [before, first, second] = events.slice(index - 1)
  return (
    first?.type === "message_update" &&
    second?.type === "message_update" &&
    first.assistantMessageEvent.contentIndex !== second.assistantMessageEvent.contentIndex &&
    Equal.equals(messageOf(before), first.message) &&
    Equal.equals(first.message, second.message)
  )
}

const isNeutralSwap = (events: Events, index: number): boolean => {
  const first = events[index]!
  const second = events[index + 1]!
  if (Equal.equals(first, second)) return true
  if ((isToolUpdate(first) && isToolUpdate(second)) || areSilent(events, index)) return true
  if (callOf(first) === undefined || callOf(second) === undefined || callOf(first) === callOf(second)) return false
  return (isExecution(first) && isExecution(second)) || isRefusedBesideStart(events, first, second)
}

// ---------------------------------------------------------------------------------------------------------------------
// Edits
// ---------------------------------------------------------------------------------------------------------------------

/** Edits of one event. None of them can leave a valid run. */
const edits: ReadonlyArray<(event: AgentEvent) => object | undefined> = [
  (event) => ("toolCallId" in event ? { toolCallId: "x" } : undefined),
  (event) => ("toolName" in event ? { toolName: "x" } : undefined),
  (event) => ("args" in event ? { args: { edited: true } } : undefined),
  (event) => ("isError" in event ? { isError: !event.isError } : undefined),
  (event) => (event.type === "tool_execution_end" ? { result: { content: [{ type: "text", text: "x" }] } } : undefined),
  (event) => (event.type === "retry" ? { attempt: event.attempt + 1 } : undefined),
  (event) => (event.type === "retry" ? { error: { ...event.error, retryable: false } } : undefined),
  (event) => (event.type === "retry" ? { usage: tokens(9, 9) } : undefined),
  (event) => (event.type === "message_end" ? { message: { ...event.message, timestamp: 99 } } : undefined),
  (event) =>
    event.type === "turn_end" ? { message: { ...event.message, content: [{ type: "text", text: "x" }] } } : undefined,
  (event) =>
    event.type === "turn_end" && event.toolResults.length > 0 ? { toolResults: event.toolResults.slice(1) } : undefined,
  (event) => (event.type === "agent_end" ? { messages: event.messages.slice(1) } : undefined),
  (event) => (event.type === "agent_end" ? { usage: tokens(9, 9) } : undefined),
  (event) => (event.type === "agent_end" ? { reason: event.reason === "error" ? "completed" : "error" } : undefined),
  (event) => (event.type === "message_update" ? { message: { ...event.message, stopReason: "length" } } : undefined),
  (event) => (event.type === "message_update" ? { message: { ...event.message, usage: tokens(9, 9) } } : undefined),
  (event) => (event.type === "message_update" ? { message: { ...event.message, model: "x" } } : undefined),
  (event) => (event.type === "message_update" ? { message: { ...event.message, content: [] } } : undefined),
  (event) =>
    event.type === "message_update"
      ? { assistantMessageEvent: { ...event.assistantMessageEvent, contentIndex: 7 } }
      : undefined,
  (event) =>
    event.type === "message_update" && "delta" in event.assistantMessageEvent
      ? { assistantMessageEvent: { ...event.assistantMessageEvent, delta: `${event.assistantMessageEvent.delta}!` } }
      : undefined,
  (event) =>
    event.type === "message_update" && "content" in event.assistantMessageEvent
      ? {
          assistantMessageEvent: { ...event.assistantMessageEvent, content: `${event.assistantMessageEvent.content}!` }
        }
      : undefined,
  () => ({ type: "unknown" })
]

describe("generated runs", () => {
  it.prop(
    "are accepted",
    [Plan],
    ([plan]) => expect(Option.getOrUndefined(TraceChecker.check(render(plan)))).toBeUndefined(),
    options
  )

  it.prop(
    "are refused without one of their events",
    [Plan, Place],
    ([plan, place]) => {
      const events = render(plan)
      const index = place % events.length
      expectVerdict(events.toSpliced(index, 1), isNeutralDrop(events, index), events, index)
    },
    options
  )

  it.prop(
    "are refused with an event that comes twice",
    [Plan, Place],
    ([plan, place]) => {
      const events = render(plan)
      const index = place % events.length
      expectVerdict(events.toSpliced(index, 0, events[index]!), isToolUpdate(events[index]), events, index)
    },
    options
  )

  it.prop(
    "are refused with two neighbours changed",
    [Plan, Place],
    ([plan, place]) => {
      const events = render(plan)
      const index = place % (events.length - 1)
      const swapped = events.toSpliced(index, 2, events[index + 1]!, events[index]!)
      expectVerdict(swapped, isNeutralSwap(events, index), events, index)
    },
    options
  )

  it.prop(
    "are refused with one event edited",
    [Plan, Place, Place],
    ([plan, place, choice]) => {
      const events = render(plan)
      const edit = edits[choice % edits.length]!
      const changes = events.flatMap((event, index) => {
        const change = edit(event)
        return change === undefined ? [] : [{ index, event: { ...event, ...change } as AgentEvent }]
      })
      if (changes.length === 0) return
      const { index, event } = changes[place % changes.length]!
      expectVerdict(events.with(index, event), false, events, index)
    },
    options
  )
})
