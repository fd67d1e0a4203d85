/**
 * Text mode: the answer goes to standard output as it comes; tool calls, thinking, retries and how the run ended go to
 * standard error.
 *
 * Nothing that a model, a tool or a provider says reaches an output but through `sanitize`. Standard output has the texts of
 * the model only, each ended by a newline.
 */
import type { AgentEvent, AssistantMessageEvent, EndReason, ToolResult } from "../AgentEvent.ts"
import type { AssistantMessage, Content, Message } from "../Message.ts"
import { encode } from "./json.ts"
import type { Format, Write } from "./print.ts"
import { line, sanitize } from "./sanitize.ts"

/** The greatest length of the name, the arguments and the outcome of a call, in characters. */
export const MAX_LENGTH = 100

/** The greatest length of what a provider says of a failure, in characters. */
export const MAX_ERROR_LENGTH = 500

export interface State {
  /** The output whose last line is not ended. */
  readonly open: Write["to"] | undefined
  /** Something of the response that is being given was shown. */
  readonly isShown: boolean
  /** By block, the first half of a character whose second half comes with the block's next delta. */
  readonly halves: ReadonlyMap<number, string>
  /** By id, the lines of the calls that are being executed. */
  readonly calls: ReadonlyMap<string, string>
  /** The call whose line is the last one: its outcome needs no name. */
  readonly lastCall: string | undefined
}

type Step = readonly [State, ReadonlyArray<Write>]
type EventOf<Type extends AgentEvent["type"]> = Extract<AgentEvent, { readonly type: Type }>
type Paint = (colour: number, text: string) => string

const DIM = 2
const RED = 31
const GREEN = 32
const YELLOW = 33
const CYAN = 36

/** With `colours`, what goes to standard error is coloured. */
export const format = (options: { readonly colours: boolean }): Format<State> => {
  const paint: Paint = (colour, text) => (options.colours ? `\x1b[${colour}m${text}\x1b[0m` : text)
  return {
    initial: { open: undefined, isShown: false, halves: new Map(), calls: new Map(), lastCall: undefined },
    step: (state, event) => step(state, event, paint)
  }
}

const step = (state: State, event: AgentEvent, paint: Paint): Step => {
  switch (event.type) {
    case "message_start":
      return answer(state, sanitize(textSoFar(event.message)))
    case "message_update":
      return update(state, event.assistantMessageEvent, paint)
    case "message_end":
      return note({ ...state, isShown: false, halves: new Map() }, describeEnd(event.message, paint))
    case "tool_execution_start":
      return startCall(state, event, paint)
    case "tool_execution_end":
      return endCall(state, event, paint)
    case "retry":
      return note({ ...state, isShown: false, halves: new Map() }, [describeRetry(state, event, paint)])
    case "agent_end":
      return note(state, describeReason(event.reason, paint))
    default:
      return [state, []]
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Outputs
// ---------------------------------------------------------------------------------------------------------------------

/** Adds to the answer. A line of standard error that is still open is ended first: both may be the same screen. */
const answer = (state: State, text: string): Step => {
  if (text === "") return [state, []]
  const writes: ReadonlyArray<Write> = [{ to: "stdout", text }]
  return [
    { ...state, isShown: true, open: text.endsWith("\n") ? undefined : "stdout", lastCall: undefined },
    state.open === "stderr" ? [{ to: "stderr", text: "\n" }, ...writes] : writes
  ]
}

/** Whole lines for standard error, after the end of the line that is open. */
const note = (state: State, lines: ReadonlyArray<string>): Step => [
  { ...state, open: undefined, lastCall: undefined },
  [...endLine(state), ...lines.map((text): Write => ({ to: "stderr", text: `${text}\n` }))]
]

const endLine = (state: State): ReadonlyArray<Write> =>
  state.open === undefined ? [] : [{ to: state.open, text: "\n" }]

// ---------------------------------------------------------------------------------------------------------------------
// Responses
// ---------------------------------------------------------------------------------------------------------------------

/** What a response holds when it is first heard of; deltas that came before that give no update of their own. */
const textSoFar = (message: Message): string =>
  message.role === "assistant"
    ? (message as AssistantMessage).content.map((block) => (block.type === "text" ? block.text : "")).join("")
    : ""

const update = (state: State, event: AssistantMessageEvent, paint: Paint): Step => {
  switch (event.type) {
    case "text_delta": {
      const [next, text] = takeDelta(state, event)
      return answer(next, text)
    }
    case "text_end":
      return note(state, [])
    case "thinking_delta": {
      const [next, text] = takeDelta(state, event)
      return think(next, text, paint)
    }
    case "thinking_end":
      return note(state, [])
    default:
      return [state, []]
  }
}

const takeDelta = (
  state: State,
  event: { readonly contentIndex: number; readonly delta: string }
): readonly [State, string] => {
  const half = state.halves.get(event.contentIndex) ?? ""
  const text = half + event.delta
  const cut = /[\ud800-\udbff]$/.test(text) ? text.length - 1 : text.length
  if (half === "" && cut === text.length) return [state, sanitize(text)]
  const halves = new Map(state.halves).set(event.contentIndex, text.slice(cut))
  return [{ ...state, halves }, sanitize(text.slice(0, cut))]
}

const think = (state: State, text: string, paint: Paint): Step => {
  if (text === "") return [state, []]
  const opening = state.open === "stderr" ? "" : "thinking: "
  const writes: ReadonlyArray<Write> = [{ to: "stderr", text: paint(DIM, opening + text) }]
  return [
    { ...state, isShown: true, open: "stderr", lastCall: undefined },
    // The answer's line is not ended here: its next delta goes on where it stopped.
    state.open === "stdout" ? [{ to: "stderr", text: "\n" }, ...writes] : writes
  ]
}

const describeEnd = (message: Message, paint: Paint): ReadonlyArray<string> => {
  if (message.role !== "assistant") return []
  const { errorMessage, stopDetail, stopReason } = message as AssistantMessage
  const lines: Array<string> = []
  if (stopReason === "error")
    lines.push(paint(RED, `✗ ${line(errorMessage || "The response failed.", MAX_ERROR_LENGTH)}`))
  if (stopReason === "length") lines.push(paint(YELLOW, "! The answer was cut off at the model's output limit."))
  if (stopDetail !== undefined) {
    const detail = [stopDetail.type, stopDetail.message].filter(Boolean).join(": ")
    lines.push(paint(YELLOW, `! The provider says of the end: ${line(detail, MAX_ERROR_LENGTH)}`))
  }
  return lines
}

const describeRetry = (
  { isShown }: State,
  { attempt, delayMs, errorMessage }: EventOf<"retry">,
  paint: Paint
): string => {
  const retry = `Retry ${attempt} begins in ${Math.round(delayMs / 100) / 10} s`
  const discarded = isShown ? "; what was shown of this answer is discarded" : ""
  return paint(YELLOW, `↻ ${line(errorMessage, MAX_ERROR_LENGTH)} ${retry}${discarded}.`)
}

const describeReason = (reason: EndReason, paint: Paint): ReadonlyArray<string> => {
  switch (reason) {
    case "aborted":
      return [paint(YELLOW, "! aborted")]
    case "limit":
      return [paint(YELLOW, "! The run was stopped at its limit of turns (--max-turns).")]
    default:
      return []
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Tool calls
// ---------------------------------------------------------------------------------------------------------------------

const startCall = (state: State, event: EventOf<"tool_execution_start">, paint: Paint): Step => {
  const args = encode(event.args)
  const label = line(event.toolName, MAX_LENGTH) + (args === "{}" ? "" : ` ${line(args, MAX_LENGTH)}`)
  const [next, writes] = note(state, [`${paint(CYAN, "▸")} ${label}`])
  return [{ ...next, calls: new Map(state.calls).set(event.toolCallId, label), lastCall: event.toolCallId }, writes]
}

const endCall = (state: State, event: EventOf<"tool_execution_end">, paint: Paint): Step => {
  const mark = event.isError ? paint(RED, "✗") : paint(GREEN, "✓")
  const outcome = paint(DIM, describeResult(event.result))
  const label = state.calls.get(event.toolCallId) ?? line(event.toolName, MAX_LENGTH)
  const calls = new Map(state.calls)
  calls.delete(event.toolCallId)
  return note({ ...state, calls }, [
    state.lastCall === event.toolCallId ? `  ${mark} ${outcome}` : `${mark} ${label}: ${outcome}`
  ])
}

/** The first line that says something, and how much more there is. */
const describeResult = ({ content }: ToolResult): string => {
  const text = (content ?? []).map(describeContent).join("\n").trim()
  if (text === "") return "no output"
  const lines = text.split("\n")
  const first = line(lines[0]!, MAX_LENGTH)
  return lines.length === 1 ? first : `${first} (+${lines.length - 1} line${lines.length === 2 ? "" : "s"})`
}

const describeContent = (content: Content): string =>
  content.type === "text" ? content.text : `[${content.mimeType} image]`
