// What must hold in a loop case that differs from its recording on purpose (FORMAT.md, section 8): that the run ends and obeys
// the grammar is asked of every case, so each check here asks only for what its item of section 9 promises.
import type * as Schema from "effect/Schema"
import { firstDifference } from "./compare.ts"
import type { LoopCase, Recording, Scenario } from "./scenario.ts"
import { prepare } from "./tools.ts"

/** What is wrong, if something is. */
type Check = (of: LoopCase, got: Recording) => string | undefined

type Members = Readonly<Record<string, Schema.Json>>

const describe = (what: string, wanted: Recording, got: Recording): string | undefined => {
  const difference = firstDifference(wanted, got)
  return difference && `${what}: ${difference.path} is ${difference.got}, not ${difference.wanted}`
}

const isMembers = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Compares only the first of our events, requests and hooks: as many as were recorded. */
const startsAs = ({ expected }: LoopCase, got: Recording): string | undefined =>
  describe(
    "before the difference",
    { ...expected, newMessages: null, endMs: 0, error: "" },
    {
      events: got.events.slice(0, expected.events.length),
      times: got.times.slice(0, expected.times.length),
      requests: got.requests.slice(0, expected.requests.length),
      hooks: got.hooks.slice(0, expected.hooks.length),
      newMessages: null,
      endMs: 0,
      error: ""
    }
  )

// ---------------------------------------------------------------------------------------------------------------------
// 9.2 No request after an abort
// ---------------------------------------------------------------------------------------------------------------------

/** A loop case has one run, and its abort is a response with that stop reason: the requests up to it are all there are. */
const noRequestAfterAbort: Check = ({ expected }, got) => {
  if (got.requests.length > expected.requests.length) return "a request was made that the recording does not have"
  const requests = expected.requests.slice(0, got.requests.length)
  return describe("the requests", { ...got, requests }, got)
}

// ---------------------------------------------------------------------------------------------------------------------
// 9.3 A failure keeps the grammar and what was streamed
// ---------------------------------------------------------------------------------------------------------------------

const failureIsTold: Check = (of, got) => {
  const early = startsAs(of, got)
  if (early !== undefined) return early
  if (got.requests.length > of.expected.requests.length) return "a request was made after the failure"
  const last = got.newMessages?.at(-1)
  if (last?.role !== "assistant" || last["stopReason"] !== "error") return "the last message tells of no error"
  if (last["errorMessage"] !== of.expected.error) return `the error is told as ${JSON.stringify(last["errorMessage"])}`
  const streamed = of.expected.events.at(-1)
  const content = streamed?.["type"] === "message_update" ? (streamed["message"] as Members)["content"] : []
  return JSON.stringify(last["content"]) === JSON.stringify(content) ? undefined : "what was streamed is lost"
}

// ---------------------------------------------------------------------------------------------------------------------
// 9.6 Calls with the same id
// ---------------------------------------------------------------------------------------------------------------------

/** That ids are unique and results pair up is of the grammar. Apart from the ids, all is as recorded. */
const sameButForIds: Check = ({ expected }, got) =>
  describe("apart from the ids", withoutSuffixes(expected), withoutSuffixes(got))

const withoutSuffixes = (recording: Recording): Recording =>
  JSON.parse(JSON.stringify(recording), (key, value: unknown) =>
    (key === "id" || key === "toolCallId") && typeof value === "string" ? value.replace(/_\d+$/, "") : value
  ) as Recording

// ---------------------------------------------------------------------------------------------------------------------
// 9.7 Nulls
// ---------------------------------------------------------------------------------------------------------------------

/** Asks for no more of a case than loops and agents have in common. */
export const nullsAreNoValues = (
  { scenario, expected }: { readonly scenario: Pick<Scenario, "tools">; readonly expected: Pick<Recording, "hooks"> },
  got: Pick<Recording, "events" | "hooks">
): string | undefined => {
  for (const event of got.events) {
    if (event["type"] !== "tool_execution_start") continue
    const definition = scenario.tools.find((tool) => tool.name === event["toolName"])
    if (definition === undefined) continue
    const id = event["toolCallId"] as string
    const { prepareArguments, parameters } = definition
    const sent = prepareArguments === undefined ? event["args"]! : prepare(prepareArguments, event["args"]!)
    const wrong = checkNulls(sent, parameters as Members, executedWith(got, id), executedWith(expected, id))
    if (wrong !== undefined) return `call "${id}": ${wrong}`
  }
  return undefined
}

const executedWith = ({ hooks }: Pick<Recording, "hooks">, id: string): Schema.Json | undefined =>
  hooks.find((call) => call["hook"] === "execute" && call["toolCallId"] === id)?.["args"]

/** `given` is what the tool was executed with here, `recorded` in the recording; `undefined` where it was refused. */
const checkNulls = (
  sent: Schema.Json,
  schema: Members,
  given: Schema.Json | undefined,
  recorded: Schema.Json | undefined
): string | undefined => {
  const nulls = nullsOf(sent, schema)
  if (nulls.some(({ isRequired }) => isRequired)) {
    return given === undefined ? undefined : "it was executed though a required argument was null"
  }
  if (recorded === undefined) {
    return given !== undefined && nulls.length === 0
      ? "it was executed, and in the recording it was refused"
      : undefined
  }
  const wanted = nulls.reduce<Schema.Json>((args, { path }) => leaveOut(args, path), recorded)
  if (given === undefined) return "it was refused, and in the recording it was executed"
  return JSON.stringify(sorted(wanted)) === JSON.stringify(sorted(given))
    ? undefined
    : `it was executed with ${JSON.stringify(given)}, not with ${JSON.stringify(wanted)}`
}

interface Null {
  readonly path: ReadonlyArray<string>
  readonly isRequired: boolean
}

/** The nulls in places for which the schema wants something. An item of a list counts as required. */
const nullsOf = (
  value: Schema.Json,
  schema: unknown,
  path: ReadonlyArray<string> = [],
  isRequired = true
): ReadonlyArray<Null> => {
  if (!isMembers(schema)) return []
  if (value === null) return [{ path, isRequired }]
  if (Array.isArray(value)) return value.flatMap((item, index) => nullsOf(item, schema["items"], [...path, `${index}`]))
  if (!isMembers(value)) return []
  const { properties, required } = schema
  return Object.entries(value).flatMap(([key, member]) =>
    nullsOf(
      member,
      isMembers(properties) ? properties[key] : undefined,
      [...path, key],
      Array.isArray(required) && required.includes(key)
    )
  )
}

const leaveOut = (value: Schema.Json, [key, ...rest]: ReadonlyArray<string>): Schema.Json => {
  if (!isMembers(value) || key === undefined) return value
  if (rest.length > 0) return { ...value, [key]: leaveOut(value[key]!, rest) }
  return Object.fromEntries(Object.entries(value).filter(([name]) => name !== key))
}

const sorted = (value: Schema.Json): Schema.Json => {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isMembers(value)) return value
  return Object.fromEntries(
    Object.keys(value)
      .toSorted()
      .map((key) => [key, sorted(value[key]!)])
  )
}

// ---------------------------------------------------------------------------------------------------------------------
// 9.10 Broken arguments
// ---------------------------------------------------------------------------------------------------------------------

/** Whether the text of a call is JSON shows in what the script streams. */
const brokenArgumentsNeverRun: Check = ({ scenario }, got) => {
  const brokenIds = scenario.provider.turns.flatMap((turn) => {
    const started = turn.flatMap((step) => (step.type === "toolcall_start" ? [step] : []))
    const textOf = (index: number) =>
      turn
        .flatMap((step) => (step.type === "toolcall_delta" && step.contentIndex === index ? [step.delta] : []))
        .join("")
    return started.filter(({ contentIndex }) => !isJson(textOf(contentIndex))).map(({ id }) => id)
  })
  const broken = new Set<unknown>(brokenIds)
  const ran = got.hooks.find((call) => call["hook"] === "execute" && broken.has(call["toolCallId"]))
  return ran && `call "${ran["toolCallId"] as string}" ran, and its arguments are not valid JSON`
}

const isJson = (text: string): boolean => {
  if (text.trim() === "") return true
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// All of them
// ---------------------------------------------------------------------------------------------------------------------

const checks: Record<string, Check> = {
  "9.2": noRequestAfterAbort,
  "9.3": failureIsTold,
  "9.6": sameButForIds,
  "9.7": nullsAreNoValues,
  "9.10": brokenArgumentsNeverRun
}

/** What is wrong in a case that differs on purpose. */
export const checkDiffering = (of: LoopCase, got: Recording): string | undefined => {
  for (const item of of.differs ?? []) {
    const check = checks[item]
    if (check === undefined) return `there is no check for what item ${item} promises`
    const wrong = check(of, got)
    if (wrong !== undefined) return `item ${item}: ${wrong}`
  }
  return undefined
}
