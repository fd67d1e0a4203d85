// The runs of a recorded agent: which events are whose, and in which run each request was made.
import type * as Schema from "effect/Schema"
import type { AgentRecording } from "./agentScenario.ts"

export type Members = Readonly<Record<string, Schema.Json>>

export const isMembers = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value)

export interface Run {
  readonly events: ReadonlyArray<Members>
  readonly requests: ReadonlyArray<Members>
  /** The messages of `agent_end`, and the last of them. */
  readonly newMessages: ReadonlyArray<Members>
  readonly last: Members | undefined
}

export const runsOf = ({ events, requests, hooks }: AgentRecording): ReadonlyArray<Run> => {
  const starts = events.flatMap((event, index) => (event["type"] === "agent_start" ? [index] : []))
  return starts.map((start, index) => {
    const end = starts[index + 1] ?? Infinity
    const own = events.slice(start, end)
    const newMessages = (own.at(-1)?.["messages"] ?? []) as ReadonlyArray<Members>
    const made = hooks.filter(({ hook, at }) => hook === "provider" && Number(at) > start && Number(at) <= end)
    return {
      events: own,
      requests: made.map(({ request }) => requests[request as number]!),
      newMessages,
      last: newMessages.at(-1)
    }
  })
}
