/**
 * What the stand-in understands: the first intent in this order that is for a question answers it.
 *
 * To add one, write its phrases and its recipe into the file of its subject, and an example if the help is to name it;
 * a test holds that each example reaches its own intent.
 */
import { aboutIntents, introduction } from "./about.ts"
import { commandIntents, refusalIntents } from "./commands.ts"
import { fileIntents } from "./files.ts"
import { findIntents, listIntents } from "./folders.ts"
import type { Intent } from "./intent.ts"
import { projectIntents } from "./project.ts"
import type { Question } from "./question.ts"
import type { Recipe } from "./recipe.ts"
import { definitionIntents, searchIntents } from "./searches.ts"
import { taskIntents } from "./tasks.ts"

/** What the stand-in says about itself. */
export const introduce = (): string =>
  introduction(intents.flatMap(({ example }) => (example === undefined ? [] : [example])))

export const intents: ReadonlyArray<Intent> = [
  ...aboutIntents(introduce),
  ...commandIntents,
  ...taskIntents,
  ...refusalIntents,
  ...findIntents,
  ...searchIntents,
  ...projectIntents,
  ...listIntents,
  ...fileIntents,
  ...definitionIntents
]

export const recognise = (question: Question): Recipe | undefined => {
  for (const intent of intents) {
    const recipe = intent.recognise(question)
    if (recipe !== undefined) return recipe
  }
  return undefined
}
