/**
 * What the stand-in says about itself, and when.
 */
import { type Intent, on } from "./intent.ts"
import { bullets, paragraphs } from "./quote.ts"
import { say } from "./recipe.ts"

const realModel = "Set ANTHROPIC_API_KEY to ask a real model instead: README.md says how."

/** What it is, what it can do, and how to have a real model instead. */
export const introduction = (examples: ReadonlyArray<string>): string =>
  paragraphs(
    "I am the offline stand-in of effect-agent: a small deterministic program without a language model, which answers " +
      "where no other provider is chosen. I look at the files of this folder, and understand plain English requests like these:",
    bullets(examples),
    realModel
  )

/** What is put below the first answer of a conversation. */
export const CLOSING = `(This is the offline stand-in, without a language model. ${realModel})`

export const aboutIntents = (introduce: () => string): ReadonlyArray<Intent> => [
  on(
    [
      "(hi|hello|hey|help) [there|all|me]",
      "good (morning|afternoon|evening|day)",
      "[what|who] (who|what|which model|which llm) (are you|is this model|do you use)",
      "... what can (you|i|one) (do|ask) ...",
      "are you (a|an|the|real|chatgpt|claude|gpt) ..."
    ],
    () => say(introduce())
  ),
  on(["(thanks|thank you|thx|great|nice|perfect|cool) [a lot|so much|very much]"], () => say("You are welcome.")),
  on(["(stop|cancel|never mind|nevermind|forget it|forget that|no|wait)"], () => say("All right."))
]
