/** Promises about the execution of tool calls: when they run, and that their results say what came of them. */
import type { ToolResult } from "../../AgentEvent.ts"
import type { AssistantMessage } from "../../Message.ts"
import * as Hooks from "../../services/Hooks.ts"
import * as Tool from "../../Tool.ts"
import type { Activity, Recording } from "../Recording.ts"
import { activitiesOf, callsOf, eventsOf, firstOf, type Invariant, isEqual, isOpenAt, place, say } from "./views.ts"

// ---------------------------------------------------------------------------------------------------------------------
// When calls run
// ---------------------------------------------------------------------------------------------------------------------

interface Batch {
  readonly isSequential: boolean
  /** The executions, in the order in which they began. */
  readonly calls: ReadonlyArray<Activity>
}

const batchesOf = (recording: Recording): ReadonlyArray<Batch> => {
  const { tools, world } = recording
  const executed = activitiesOf(recording, "tool")
  return eventsOf(recording, "message_end").map(({ event: { message } }) => {
    const asked = message.role === "assistant" ? callsIn(message) : []
    const isSequential = tools.some((tool) => tool.isSequential && asked.some(({ name }) => name === tool.name))
    return {
      isSequential: isSequential || world.limits?.toolExecution === "sequential",
      calls: executed.filter(({ callId }) => asked.some(({ id }) => id === callId))
    }
  })
}

const callsIn = (message: AssistantMessage) => message.content.filter((block) => block.type === "toolCall")

const overlaps = (calls: ReadonlyArray<Activity>, { id, began }: Activity): number =>
  calls.filter((other) => other.id !== id && isOpenAt(other, began.position)).length

const resourceOf = ({ world }: Recording, { name }: Activity): string | undefined =>
  world.tools?.find((tool) => tool.name === name)?.exclusive?.resource

const isExclusive = ({ tools }: Recording, name: string): boolean =>
  tools.some((tool) => tool.isExclusive && tool.name === name)

export const callsKeepTheirTurn: Invariant = {
  name: "callsKeepTheirTurn",
  promise:
    "calls of a sequential batch, or of one resource, never overlap, and no more run at a time than are allowed to",
  check: (recording) =>
    firstOf(batchesOf(recording), ({ calls, isSequential }) =>
      firstOf(calls, (call) => {
        const resource = resourceOf(recording, call)
        const rivals = calls.filter((other) => resource !== undefined && resourceOf(recording, other) === resource)
        const isOver = overlaps(calls, call) >= (recording.world.limits?.concurrency ?? Infinity)
        if (isSequential && overlaps(calls, call) > 0) return `${say(call)} does not wait for its turn`
        if (overlaps(rivals, call) > 0) return `${say(call)} does not wait for ${resource}`
        return isOver && `${say(call)} is one too many ${place(call.began)}`
      })
    )
}

export const callsRunSideBySide: Invariant = {
  name: "callsRunSideBySide",
  promise: "calls of a parallel batch that need not wait for anything start at the same instant",
  check: (recording) =>
    recording.world.limits?.concurrency !== undefined
      ? undefined
      : firstOf(batchesOf(recording), ({ calls, isSequential }) => {
          const free = calls.filter(({ name }) => !isExclusive(recording, name))
          const late = free.find(({ began }) => began.at !== free[0]!.began.at)
          return late && !isSequential && `${say(late)} starts late, ${place(late.began)}`
        })
}

// ---------------------------------------------------------------------------------------------------------------------
// What their results say
// ---------------------------------------------------------------------------------------------------------------------

interface Told {
  readonly result: ToolResult
  readonly isError: boolean
}

export const resultsAreTrue: Invariant = {
  name: "resultsAreTrue",
  promise:
    "a result says what came of its call: its value, its failure or defect, what the hook made of it, or an error",
  check: (recording) =>
    firstOf(eventsOf(recording, "tool_execution_end"), ({ event }) => {
      const expected = expectationsOf(recording, event.toolCallId)
      return (
        !expected.some((one) => matches(one, event)) &&
        `call "${event.toolCallId}" ended with ${JSON.stringify(event.result)}, which is not what came of it`
      )
    })
}

/** An error of any kind, what a hook has made of one, or exactly this. */
type Expected = "error" | "mended" | Told

const matches = (expected: Expected, { result, isError }: Told): boolean =>
  typeof expected === "string"
    ? isError === (expected === "error")
    : isError === expected.isError && isEqual(result, expected.result)

/** What a call may have come to. Where it ends just when the run is stopped, both sides may have been first. */
const expectationsOf = (recording: Recording, callId: string): ReadonlyArray<Expected> => {
  const tool = activitiesOf(recording, "tool").findLast((activity) => activity.callId === callId)
  if (tool === undefined) return ["error"]
  const hook = callsOf(recording, "afterToolCall").findLast((activity) => activity.callId === callId)
  const { stop } = recording
  if (stop?.heard !== undefined && isAfter(tool, stop.heard.position)) return ["error"]
  const done = executed(tool)
  const all: Array<Expected> = [hook === undefined ? done : afterHook(done, hook)]
  if (stop === undefined) return all
  if (isAfter(tool, stop.asked.position) || tool.settled!.at === stop.asked.at) all.push("error")
  if (hook !== undefined) all.push(done)
  return all
}

const isAfter = ({ settled }: Activity, position: number): boolean =>
  settled === undefined || settled.position > position

const executed = ({ outcome, result }: Activity): Expected => {
  if (outcome === "failed" || outcome === "died") {
    return { result: Tool.errorResult(Tool.describeDefect(result)), isError: true }
  }
  if (outcome !== "done" || result === undefined) return "error"
  return { result: Tool.resultOf(result as string | ToolResult), isError: false }
}

const afterHook = (done: Expected, { outcome, result }: Activity): Expected => {
  if (outcome !== "done") return "error"
  if (result === undefined) return done
  const override = result as Hooks.ToolResultOverride
  if (typeof done !== "string") return Hooks.applyOverride(done, override)
  return override.isError === false ? "mended" : done
}
