/**
 * What was seen of a run in a simulated world, from its first event until long after its end: the events, every activity
 * of provider, tools and hooks with its beginning and its end, and what was still alive when it should not be.
 *
 * It is data, and knows nothing of how it came about: invariants are functions of it.
 */
import type { AgentBusy, CannotContinue, Delivery, EventsSkipped, NotDelivered, RunResult } from "../Agent.ts"
import type { AgentEvent } from "../AgentEvent.ts"
import type { AgentState } from "../AgentState.ts"
import type { Message } from "../Message.ts"
import type { ProviderRequest } from "../services/Provider.ts"
import type { World } from "./World.ts"

/** A place in the log, and the instant in virtual milliseconds from the start of the run. */
export interface Moment {
  readonly at: number
  readonly position: number
}

/**
 * - `stream`: a response's stream, from the request to its closing; `pull`: one pull of it
 * - `tool`: the execution of a call; `update`: one update that it sends; `straggler`: what it leaves behind
 * - `hook`: a call of a hook, by its name; also of a poll, the retry policy, the key and the resource of a tool
 * - `finalizer`: a finalizer of one of these
 * - `timer`: a sleep of the loop's own
 * - `consumer`: the reader is busy with something else than reading
 * - `other`: any of these, in another run of the same agent
 */
export type Kind =
  | "stream"
  | "pull"
  | "tool"
  | "update"
  | "straggler"
  | "hook"
  | "finalizer"
  | "timer"
  | "consumer"
  | "other"

export type Outcome = "done" | "failed" | "died" | "interrupted"

/** Something that went on for a while. */
export interface Activity {
  readonly id: number
  readonly kind: Kind
  readonly name: string
  /** The tool call that it belongs to. */
  readonly callId?: string | undefined
  /** Code of the application, not of the world: what it waits for, nobody knows. */
  readonly isReal?: true | undefined
  /** The activity that it is part of. */
  readonly parent?: number | undefined
  /** What it was given: the transcript that a hook sees, the milliseconds of a timer. */
  readonly given?: unknown
  readonly began: Moment
  /** Absent while it goes on, which may be for ever. */
  readonly settled?: Moment | undefined
  readonly outcome?: Outcome | undefined
  /** What it failed with or died of, or the value that it gave. */
  readonly result?: unknown
  /** When it could not be interrupted; the last span may be open. */
  readonly shields: ReadonlyArray<{ readonly from: Moment; readonly to?: Moment | undefined }>
}

export type Entry = { readonly at: number } & (
  | { readonly type: "event"; readonly index: number }
  /** The reader asks for more. */
  | { readonly type: "read" }
  | { readonly type: "begin" | "settle"; readonly activity: number }
  /** The reader wants the end of the run. */
  | { readonly type: "stop"; readonly how: Stop["how"] }
  /** The reader is through with the run. */
  | { readonly type: "end" }
  /** What the application does with its agent, and what becomes of a message that it queued. */
  | { readonly type: "command"; readonly does: string }
  | { readonly type: "receipt"; readonly queued: number; readonly says: string }
  /** Something in another run of the same agent. */
  | { readonly type: "other" }
)

export interface Received extends Moment {
  readonly event: AgentEvent
}

export interface Request extends Moment {
  readonly request: ProviderRequest
}

/** How the reader stopped the run. */
export interface Stop {
  readonly how: "abort" | "leave" | "die" | "take" | "close"
  /** Nobody asked for it, but nothing else would have happened any more. */
  readonly isRescue: boolean
  readonly asked: Moment
  /** From here on the run knew of it: absent where it never had to. */
  readonly heard?: Moment | undefined
}

/** What is alive at a moment: fibers and timers by their number, activities by their ids. */
export interface Alive {
  readonly fibers: number
  readonly timers: number
  readonly activities: ReadonlyArray<number>
}

/** A tool of the run, the world's own or a real one. */
export interface ToolOfRun {
  readonly name: string
  readonly isSequential: boolean
  readonly isExclusive: boolean
}

export interface Recording {
  readonly world: World
  readonly tools: ReadonlyArray<ToolOfRun>
  /** When the run began. */
  readonly start: Moment
  readonly log: ReadonlyArray<Entry>
  readonly events: ReadonlyArray<Received>
  readonly requests: ReadonlyArray<Request>
  readonly activities: ReadonlyArray<Activity>
  readonly stop?: Stop | undefined
  /** When the reader was through with the run; absent where that never came. */
  readonly end?: Moment | undefined
  /** The reader followed the run to its end: all that is promised of its events can be expected. */
  readonly isWhole: boolean
  /** What was alive once everything had happened that was due at the instant of the end. */
  readonly aliveAtEnd: Alive
  /** What was alive when every timer had fired. */
  readonly aliveLater: Alive
  /** What was handed out and has changed afterwards, in words. */
  readonly changes: ReadonlyArray<string>
  /** In a world with an agent. All else is then of the agent's first run. */
  readonly session?: Session | undefined
}

// ---------------------------------------------------------------------------------------------------------------------
// Agents
// ---------------------------------------------------------------------------------------------------------------------

/** A message that was queued, and what was heard of it. */
export interface Queued extends Moment {
  readonly queue: "steering" | "followUp"
  readonly message: Message
  /** What the receipt said: the turn in which the message was delivered, or why it was not. */
  readonly receipts: ReadonlyArray<Moment & { readonly says: Delivery | NotDelivered["reason"] }>
  /** What became of attempts to withdraw it. */
  readonly withdrawals: ReadonlyArray<Moment & { readonly isTaken: boolean }>
}

/** The agent at a moment at which it is in no run. */
export interface Idle extends Moment {
  readonly state: AgentState
  readonly isStreaming: boolean
  readonly isQueued: boolean
  /** How many messages had been queued. */
  readonly queued: number
  /** The messages of which no receipt had said anything, by their places in `Session.queued`. */
  readonly pending: ReadonlyArray<number>
}

/** A watcher of the agent, and what it was shown. */
export interface Watched extends Moment {
  /** How many events the agent's listener had been told. */
  readonly told: number
  /** The state that it began with. */
  readonly state: AgentState
  readonly read: ReadonlyArray<AgentEvent | EventsSkipped>
}

/** What was seen of an agent from its first prompt until its scope was closed, its queues emptied by further runs. */
export interface Session {
  /** The log of all runs; events and activities are counted through all of them. */
  readonly log: ReadonlyArray<Entry>
  /** The runs after the first. */
  readonly later: ReadonlyArray<Recording>
  readonly queued: ReadonlyArray<Queued>
  /** The state at each event, of all runs. */
  readonly states: ReadonlyArray<AgentState>
  readonly idles: ReadonlyArray<Idle>
  readonly watched: ReadonlyArray<Watched>
  /** What prompts and continuations came to: the result, or how they failed. */
  readonly results: ReadonlyArray<RunResult | AgentBusy | CannotContinue | "interrupted" | "died">
  /** When its scope began to be closed, and when that was done. */
  readonly closing?: { readonly asked: Moment; readonly ended?: Moment | undefined } | undefined
}

// ---------------------------------------------------------------------------------------------------------------------
// Questions
// ---------------------------------------------------------------------------------------------------------------------

export type Of<Type extends AgentEvent["type"]> = Received & { readonly event: Extract<AgentEvent, { type: Type }> }

/** The events of some types, in order, with their moments. */
export const eventsOf = <Type extends AgentEvent["type"]>(
  { events }: Recording,
  ...types: ReadonlyArray<Type>
): ReadonlyArray<Of<Type>> =>
  events.filter((received): received is Of<Type> => types.some((type) => received.event.type === type))

/** The messages of the run, as the reader was told of them. */
export const messagesOf = (recording: Recording): ReadonlyArray<Message> =>
  eventsOf(recording, "message_end").map(({ event }) => event.message)

/** Why the run ended; undefined where the reader did not see its end. */
export const reasonOf = (recording: Recording) => eventsOf(recording, "agent_end").at(-1)?.event.reason

/** The log as text, one line an entry: the instant, the position, what happened. Of an agent, the log of all its runs. */
export const show = (recording: Recording): string => {
  const whole = wholeOf(recording)
  return whole.log
    .map(
      (entry, position) =>
        `${String(entry.at).padStart(7)} ms ${String(position).padStart(4)}  ${sayEntry(whole, entry)}`
    )
    .join("\n")
}

type Whole = Pick<Recording, "log" | "events" | "activities">

const wholeOf = (recording: Recording): Whole => {
  const { session } = recording
  if (session === undefined) return recording
  const runs = [recording, ...session.later]
  return {
    log: session.log,
    events: runs.flatMap(({ events }) => events),
    activities: recording.activities.map(
      (activity, id) => runs.map(({ activities }) => activities[id]!).find(({ kind }) => kind !== "other") ?? activity
    )
  }
}

const sayEntry = ({ events, activities }: Whole, entry: Entry): string => {
  switch (entry.type) {
    case "event":
      return `  ${sayEvent(events[entry.index]!.event)}`
    case "begin":
      return `> ${sayActivity(activities[entry.activity]!)}`
    case "settle":
      return `< ${sayActivity(activities[entry.activity]!)}: ${activities[entry.activity]!.outcome}`
    case "read":
      return "..."
    case "stop":
      return `! ${entry.how}`
    case "command":
      return `# ${entry.does}`
    case "receipt":
      return `# queued ${entry.queued}: ${entry.says}`
    default:
      return entry.type
  }
}

const sayActivity = ({ kind, name, callId }: Activity): string =>
  [kind, name, ...(callId === undefined ? [] : [callId])].join(" ")

const sayEvent = (event: AgentEvent): string => {
  if ("toolCallId" in event) return `${event.type} ${event.toolName} ${event.toolCallId}`
  if (event.type === "message_start" || event.type === "message_end") return `${event.type} ${event.message.role}`
  if (event.type === "message_update") return `${event.type} ${event.assistantMessageEvent.type}`
  return event.type === "agent_end" ? `${event.type} ${event.reason}` : event.type
}
