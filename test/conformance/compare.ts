// Where two recordings differ first.
import * as JsonPatch from "effect/JsonPatch"
import type * as Schema from "effect/Schema"
import { isDeepStrictEqual } from "node:util"
import type { AgentRecording } from "./agentScenario.ts"
import type { Recording } from "./scenario.ts"

export interface Difference {
  readonly path: string
  readonly wanted: string
  readonly got: string
}

/** What a person looks at first comes first: the events tell more than the instants at which they came. */
const loopMembers = ["error", "events", "newMessages", "requests", "hooks", "times", "endMs"] as const
const agentMembers = [
  "events",
  "requests",
  "hooks",
  "outcomes",
  "states",
  "snapshots",
  "final",
  "listeners",
  "times",
  "endMs"
] as const

/** All that section 6 lists of loop cases is compared. `undefined` if the recordings are equal. */
export const firstDifference = (wanted: Recording, got: Recording): Difference | undefined =>
  firstOf(loopMembers, wanted, got)

/** The same for agent cases, or for parts of what is recorded of them. */
export const firstAgentDifference = (
  wanted: Partial<AgentRecording>,
  got: Partial<AgentRecording>
): Difference | undefined => firstOf(agentMembers, wanted, got)

const firstOf = <Member extends string>(
  members: ReadonlyArray<Member>,
  wanted: Partial<Record<Member, unknown>>,
  got: Partial<Record<Member, unknown>>
): Difference | undefined => {
  for (const member of members) {
    if (isDeepStrictEqual(wanted[member], got[member])) continue
    const [first] = JsonPatch.get(toJson(wanted[member]), toJson(got[member]))
    if (first === undefined) continue
    const pointer = first.path.split("/").slice(1)
    return {
      path: `${member}${pointer.map((key) => (/^\d+$/.test(key) ? `[${key}]` : `.${key}`)).join("")}`,
      wanted: show(at(wanted[member], pointer)),
      got: show(at(got[member], pointer))
    }
  }
  return undefined
}

const toJson = (value: unknown) => (value ?? null) as Schema.Json

const at = (value: unknown, pointer: ReadonlyArray<string>): unknown =>
  pointer.reduce<unknown>(
    (inner, key) => (inner as Record<string, unknown> | undefined)?.[key.replaceAll("~1", "/").replaceAll("~0", "~")],
    value
  )

const MAX_SHOWN = 200

const show = (value: unknown): string => {
  const json = value === undefined ? "nothing" : JSON.stringify(value)
  return json.length > MAX_SHOWN ? `${json.slice(0, MAX_SHOWN)}…` : json
}
