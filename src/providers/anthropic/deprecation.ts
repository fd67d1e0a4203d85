/**
 * What the SDK would print at each request for a model that is about to go: here it is said once, in the log, which is where
 * the application wants it.
 */
import * as Effect from "effect/Effect"
import { retirementOf } from "./models.ts"

/** `noticed` has the models of which it was said before. */
export const notice = (model: string, noticed: Set<string>): Effect.Effect<void> =>
  Effect.suspend(() => {
    const day = retirementOf(model)
    if (day === undefined || noticed.has(model)) return Effect.void
    noticed.add(model)
    return Effect.logWarning(`The model ${model} is deprecated; its last day is ${day}. Choose a newer one.`)
  })
