/**
 * What an agent is doing, as a fold over its events: `reduce` is the one function from a state and an event to the next
 * state. A client far away that starts from a state and gets the events after it knows what the agent knows.
 *
 * A state is a value: later events do not change it. What it costs to add a message does not depend on how many there are.
 */
import type { AgentEvent } from "./AgentEvent.ts"
import { addUsage, emptyUsage, type Message, type Usage } from "./Message.ts"

export interface AgentState {
  readonly messages: ReadonlyArray<Message>
  /** The message between its `message_start` and its `message_end`, whatever its role; none after a `retry`. */
  readonly streamingMessage: Message | undefined
  /** The ids of the calls between their start and their end, in the order of their starts. */
  readonly pendingToolCalls: ReadonlyArray<string>
  /** What the last turn that failed said; cleared when a run starts. */
  readonly errorMessage: string | undefined
  /** What all runs have cost that have ended; a cost in dollars only if it is known for each. */
  readonly usage: Usage
}

/** The state of an agent that has done nothing yet, on a transcript. */
export const make = (messages: ReadonlyArray<Message> = []): AgentState =>
  new State(Transcript.from(messages), undefined, [], undefined, emptyUsage)

/** The same state with another transcript. */
export const withMessages = (state: AgentState, messages: ReadonlyArray<Message>): AgentState =>
  new State(Transcript.from(messages), state.streamingMessage, state.pendingToolCalls, state.errorMessage, state.usage)

/** The state after an event. */
export const reduce = (state: AgentState, event: AgentEvent): AgentState => {
  const { streamingMessage, pendingToolCalls, errorMessage, usage } = state
  const messages = transcriptOf(state)
  switch (event.type) {
    case "agent_start":
      return new State(messages, undefined, [], undefined, usage)
    case "message_start":
    case "message_update":
      return new State(messages, event.message, pendingToolCalls, errorMessage, usage)
    case "message_end":
      return new State(messages.add(event.message), undefined, pendingToolCalls, errorMessage, usage)
    case "retry":
      return new State(messages, undefined, pendingToolCalls, errorMessage, usage)
    case "tool_execution_start":
      return new State(messages, streamingMessage, [...pendingToolCalls, event.toolCallId], errorMessage, usage)
    case "tool_execution_end":
      return new State(
        messages,
        streamingMessage,
        pendingToolCalls.filter((id) => id !== event.toolCallId),
        errorMessage,
        usage
      )
    case "turn_end":
      return new State(messages, undefined, pendingToolCalls, event.message.errorMessage ?? errorMessage, usage)
    case "agent_end":
      return new State(messages, streamingMessage, pendingToolCalls, errorMessage, addUsage(usage, event.usage))
    default:
      return state
  }
}

const transcriptOf = (state: AgentState): Transcript =>
  state instanceof State ? state.transcript : Transcript.from(state.messages)

/** The messages are a list when somebody looks at them; as an own property, so that copies and encoders see them. */
class State implements AgentState {
  declare readonly messages: ReadonlyArray<Message>
  readonly streamingMessage: Message | undefined
  readonly pendingToolCalls: ReadonlyArray<string>
  readonly errorMessage: string | undefined
  readonly usage: Usage
  readonly #transcript: Transcript

  constructor(
    transcript: Transcript,
    streamingMessage: Message | undefined,
    pendingToolCalls: ReadonlyArray<string>,
    errorMessage: string | undefined,
    usage: Usage
  ) {
    this.#transcript = transcript
    Object.defineProperty(this, "messages", State.#messages)
    this.streamingMessage = streamingMessage
    this.pendingToolCalls = pendingToolCalls
    this.errorMessage = errorMessage
    this.usage = usage
  }

  get transcript(): Transcript {
    return this.#transcript
  }

  static readonly #messages: PropertyDescriptor & ThisType<State> = {
    enumerable: true,
    get() {
      return this.#transcript.messages
    }
  }
}

/** A list that grows: versions share one array, of which each knows how much is its own. */
class Transcript {
  private readonly shared: Array<Message>
  private readonly length: number
  private copy: ReadonlyArray<Message> | undefined

  private constructor(shared: Array<Message>, length: number) {
    this.shared = shared
    this.length = length
  }

  static from(messages: ReadonlyArray<Message>): Transcript {
    return new Transcript([...messages], messages.length)
  }

  get messages(): ReadonlyArray<Message> {
    return (this.copy ??= this.shared.slice(0, this.length))
  }

  add(message: Message): Transcript {
    const isNewest = this.shared.length === this.length
    const shared = isNewest ? this.shared : this.shared.slice(0, this.length)
    shared.push(message)
    return new Transcript(shared, this.length + 1)
  }
}
