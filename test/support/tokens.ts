// A run in words: one short token an event, so that a test can show a whole run in a line.
import type { AgentEvent } from "../../src/AgentEvent.ts"
import type { Message } from "../../src/Message.ts"

/**
 * - `run(`, `turn(`, `turn)`; `run) completed` with the reason
 * - `user`, `assistant`, `notice`: a whole message; `result a`: that of call `a`
 * - `assistant(` … `assistant) stop`: a response that was streamed, with its stop reason; `.text_delta`: an update of it
 * - `start a`, `update a`, `end a`, `error a`: the execution of call `a`, an `error` being an end with `isError`
 * - `retry 1`
 */
export const token = (event: AgentEvent): string => {
  switch (event.type) {
    case "agent_start":
      return "run("
    case "agent_end":
      return `run) ${event.reason}`
    case "turn_start":
      return "turn("
    case "turn_end":
      return "turn)"
    case "message_start":
      return `${nameOf(event.message)}(`
    case "message_end":
      return `${nameOf(event.message)})${event.message.role === "assistant" ? ` ${event.message.stopReason}` : ""}`
    case "message_update":
      return `.${event.assistantMessageEvent.type}`
    case "tool_execution_start":
      return `start ${event.toolCallId}`
    case "tool_execution_update":
      return `update ${event.toolCallId}`
    case "tool_execution_end":
      return `${event.isError ? "error" : "end"} ${event.toolCallId}`
    case "retry":
      return `retry ${event.attempt}`
  }
}

const nameOf = (message: Message): string =>
  message.role === "toolResult" ? `result ${message.toolCallId}` : message.role

/** All tokens; a message that starts and ends at once is one token. */
export const tokens = (events: ReadonlyArray<AgentEvent>): ReadonlyArray<string> => {
  const all: Array<string> = []
  for (const [index, event] of events.entries()) {
    const before = events[index - 1]
    if (event.type === "message_end" && before?.type === "message_start") {
      all[all.length - 1] = event.message.role === "assistant" ? token(event).replace(")", "") : nameOf(event.message)
    } else all.push(token(event))
  }
  return all
}

/** The tokens without the updates of responses. */
export const outline = (events: ReadonlyArray<AgentEvent>): ReadonlyArray<string> =>
  tokens(events.filter((event) => event.type !== "message_update"))

/** The tokens of the executions alone. */
export const executions = (events: ReadonlyArray<AgentEvent>): ReadonlyArray<string> =>
  tokens(events.filter((event) => event.type.startsWith("tool_execution")))
