// What a run was seen to do, in the form of the recordings: without the members that only this project has, and with the
// placeholders of section 8 for the texts that are its own.
import * as Schema from "effect/Schema"

/** This project's own texts, each as a pattern for the whole of it. */
const texts: ReadonlyArray<readonly [RegExp, string]> = [
  [/^The arguments of "[^]*" do not fit its parameters:\n[^]+$/, "<validation error>"],
  [/^The arguments of "[^]*" are not valid JSON, so the call was not executed\. [^]+$/, "<validation error>"],
  [/^There is no tool "[^]*"\. (No tools are available|Available tools: [^]+)\.$/, "<tool not found>"],
  [/^The call of "[^]*" was blocked\.$/, "<blocked>"],
  [/^The response reached the output limit, so the arguments of this call may be cut off [^]+$/, "<arguments cut off>"],
  [/^Operation aborted$/, "<aborted>"],
  [/^There is nothing to (resume|continue): the transcript is empty\. [^]+$/, "<nothing to continue>"],
  [/^The agent is running\. [^]+$/, "<busy>"],
  [
    /^The transcript ends with an assistant message(,| and nothing is queued\.) [^]+$/,
    "<cannot continue from assistant>"
  ]
]

const toPlaceholder = (text: string): string => texts.find(([pattern]) => pattern.test(text))?.[1] ?? text

type Members = Readonly<Record<string, unknown>>

const without = (members: Members, ...names: ReadonlyArray<string>): Members =>
  Object.fromEntries(Object.entries(members).filter(([name]) => !names.includes(name)))

const isZero = (usage: unknown): boolean =>
  typeof usage === "object" && usage !== null && Object.values(usage).every((count) => count === 0)

/** Leaves out of an object what a recording does not have there. */
const prune = (members: Members): Members => {
  if (typeof members["role"] === "string" && "timestamp" in members) {
    const message = without(members, "timestamp", "error", "stopDetail")
    return isZero(message["usage"]) ? without(message, "usage") : message
  }
  switch (members["type"]) {
    case "agent_end":
      return without(members, "reason", "usage")
    case "toolCall":
      return without(members, "rawArguments")
    case "toolcall_start":
      return without(members, "id", "name")
    case "thinking_start":
      return without(members, "redacted", "signature")
    case "thinking_end":
      return without(members, "signature")
    default:
      return members
  }
}

const clean = (value: unknown): unknown => {
  if (typeof value === "string") return toPlaceholder(value)
  if (Array.isArray(value)) return value.map(clean)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(prune(value as Members)).map(([name, member]) => [name, clean(member)]))
}

/** By way of JSON, so that what is absent and what is undefined are the same. */
export const normalise = <A>(recording: Schema.Codec<A, unknown>, seen: unknown): A =>
  Schema.decodeUnknownSync(recording)(clean(JSON.parse(JSON.stringify(seen))))
