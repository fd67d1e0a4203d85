/**
 * The state of the trace checker between two events: where the run is in the grammar, and what its end will be held
 * against.
 */
import * as HashSet from "effect/HashSet"
import * as Result from "effect/Result"
import type { AgentEvent } from "../../AgentEvent.ts"
import { type AssistantMessage, emptyUsage, type Message, type Usage } from "../../Message.ts"
import type * as Batch from "./batch.ts"
import type * as Response from "./response.ts"
import type { Checked } from "./rules.ts"

/** The event of a type. */
export type Of<Type extends AgentEvent["type"]> = Extract<AgentEvent, { type: Type }>

/** A turn that is over. */
export interface Turn {
  readonly response: AssistantMessage
  readonly batch: Batch.Batch
}

export type Phase =
  | { readonly _tag: "Before" }
  | { readonly _tag: "BetweenTurns" }
  /** Before the response of a turn; `hasCause` says whether it is known why the turn came. */
  | { readonly _tag: "Messages"; readonly hasCause: boolean }
  | { readonly _tag: "Message"; readonly message: Message }
  | {
      readonly _tag: "Response"
      readonly response: Response.Response
      readonly hasCause: boolean
      readonly attempt: number
    }
  | { readonly _tag: "Retrying"; readonly attempt: number }
  | { readonly _tag: "Batch"; readonly turn: Turn }
  | { readonly _tag: "After" }

export type In<Tag extends Phase["_tag"]> = Extract<Phase, { _tag: Tag }>

/** What the messages of a run are kept in: a list to which each step adds at a cost that does not grow. */
export type Told = { readonly message: Message; readonly before: Told } | undefined

export interface State {
  readonly index: number
  readonly phase: Phase
  readonly told: Told
  readonly callIds: HashSet.HashSet<string>
  readonly usage: Usage
  /** The last turn that is over. */
  readonly last: Turn | undefined
}

export const initial = (history: ReadonlyArray<Message>): State => ({
  index: 0,
  phase: { _tag: "Before" },
  told: undefined,
  callIds: HashSet.fromIterable(history.flatMap((message) => (message.role === "assistant" ? callIdsOf(message) : []))),
  usage: emptyUsage,
  last: undefined
})

export const callIdsOf = (message: AssistantMessage): ReadonlyArray<string> =>
  message.content.flatMap((block) => (block.type === "toolCall" ? [block.id] : []))

export const to = (state: State, phase: Phase): Checked<State> => Result.succeed({ ...state, phase })

export const inTurn = (state: State, turn: Turn): State => ({ ...state, phase: { _tag: "Batch", turn } })

export const tell = (state: State, message: Message): State => ({ ...state, told: { message, before: state.told } })
