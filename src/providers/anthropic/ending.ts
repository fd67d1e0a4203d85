/**
 * How a response ended, in our terms.
 *
 * | `stop_reason` | |
 * |---|---|
 * | `end_turn`, `stop_sequence` | `stop` |
 * | `tool_use` | `toolUse` |
 * | `max_tokens`, `model_context_window_exceeded` | `length`: it was cut off, so that none of its calls may run |
 * | `refusal` | `stop`; an error where there are calls, for none of them may run |
 * | `pause_turn`, and what nobody knows | `stop` |
 *
 * All but the first four names stand in `stopDetail`, so that an application can tell them apart.
 */
import type { StopDetail } from "../../Message.ts"
import { textOf, wireOf } from "./wire.ts"

export type Ending =
  | { readonly reason: "stop" | "length" | "toolUse"; readonly stopDetail?: StopDetail }
  | { readonly refused: string }

export const endingOf = (stopReason: unknown, stopDetails: unknown, hasCalls: boolean): Ending => {
  const type = textOf(stopReason)
  switch (type) {
    case "end_turn":
    case "stop_sequence":
      return { reason: "stop" }
    case "tool_use":
      return { reason: "toolUse" }
    case "max_tokens":
      return { reason: "length" }
    case "model_context_window_exceeded":
      return { reason: "length", stopDetail: { type } }
    case "refusal": {
      const { explanation, category } = wireOf(stopDetails)
      const message = textOf(explanation) || textOf(category)
      if (hasCalls) return { refused: message }
      return { reason: "stop", stopDetail: message === "" ? { type } : { type, message } }
    }
    case "":
      return { reason: hasCalls ? "toolUse" : "stop" }
    default:
      return { reason: "stop", stopDetail: { type } }
  }
}
