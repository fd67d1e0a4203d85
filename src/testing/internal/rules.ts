/**
 * The rules that the trace checker holds events against, by name, and how a broken one is reported.
 */
import * as JsonPatch from "effect/JsonPatch"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"

/** Every rule, and what it asks. */
export const rules = {
  shape: "every event is an AgentEvent: plain data that survives JSON and back",
  snapshot: "what an event carries never changes afterwards",

  "run-start": "a run begins with agent_start, which comes once",
  "run-end": "nothing comes after agent_end",
  "run-unfinished": "a run ends with agent_end",
  "turn-start": "whatever happens between agent_start and agent_end happens in a turn",
  "turn-order": "a turn is: messages, then one response, then its batch of tool calls",
  "turn-cause":
    "a turn after the first has a batch that wants to go on before it, or messages in it, or tells of an error",
  "turn-after-failure": "a response that failed or was aborted is the last one of the run",
  "turn-end": "turn_end has the turn's response, and the results of its batch in order",

  "message-pair": "a message_end belongs to the message_start right before it, and has the same message",
  "update-outside": "message_update comes only within a response",
  "update-partial": "a message in progress has stop reason stop, zero usage and no error",
  "update-fold": "a message in progress is what the events of its response make of it, from scratch",
  "update-block": "an event of a response is about a block that is open, and tells of it truly",
  "response-end": "a finished response has the content that was streamed of it, with arguments read strictly",
  "response-model": "a response has one provider and one model",
  "call-id": "the ids of tool calls are unique in the transcript",
  "retry-place": "a retry comes only where a response is due or in progress, and another attempt follows it",
  "retry-attempt": "the attempts of a response are counted from 1",
  "retry-retryable": "only a retryable error is retried",

  "batch-place": "tools are executed only after a response that has tool calls and did not fail",
  "call-pair": "each tool call has one tool_execution_start and one tool_execution_end after it",
  "call-order": "tool calls start in the order of the response",
  "call-data": "the events of a tool call name its tool and have its arguments as the model sent them",
  "call-update": "updates of a tool call come between its start and its end",
  "call-refused": "calls that were cut off, or whose arguments are not JSON, never run: no update, an error at once",
  "batch-mode": "a batch is sequential (start, end and result, call by call) or parallel (all ends, then all results)",
  "batch-preparation": "in a parallel batch nothing runs before the last call has started",
  "result-missing": "each tool call has a result, before any other message and before turn_end",
  "result-order": "results come once each, after the end of their call, in the order of the response",
  "result-data": "a result message says what tool_execution_end said",

  "end-messages": "agent_end has the messages of all message_end, in order",
  "end-usage": "agent_end has the sum of what the responses cost, discarded ones included",
  "end-reason": "the reason of agent_end is how the run ended"
} as const

export type Rule = keyof typeof rules

/** A rule that does not hold, and what is wrong there. */
export interface Broken {
  readonly rule: Rule
  readonly what: string
}

/** The next state, or the rule that forbids it. */
export type Checked<A> = Result.Result<A, Broken>

export const broken = (rule: Rule, what: string): Result.Result<never, Broken> => Result.fail({ rule, what })

const holds = Result.succeed<void>(undefined)

/** Holds the condition, or breaks the rule. */
export const demand = (condition: boolean, rule: Rule, what: string): Checked<void> =>
  condition ? holds : broken(rule, what)

/** Holds two values to be equal, and names the first place where they are not. */
export const demandEqual = (wanted: unknown, given: unknown, rule: Rule, name: string): Checked<void> => {
  if (Object.is(wanted, given)) return holds
  const [first] = JsonPatch.get(wanted as Schema.Json, given as Schema.Json)
  return first === undefined ? holds : broken(rule, `${name} is not what it should be at "${first.path}"`)
}
