/**
 * An intent is something that the stand-in understands: phrases on one side, a recipe on the other.
 *
 * Phrases are matched against a question without polite words and end punctuation, what was quoted as marks, and
 * whatever the case. In a phrase, `(a|b)` has to be there and `[a|b]` may be; `{name}` is one or more words, which the
 * recipe gets by that name; `...` is any words or none.
 */
import type { Question } from "./question.ts"
import type { Recipe } from "./recipe.ts"

export interface Intent {
  /** Shown in the help. */
  readonly example?: string
  /** The recipe for a question, if it is for this intent. */
  readonly recognise: (question: Question) => Recipe | undefined
}

/** What stood for the names of a phrase, as it was written, without quotes. */
export type Words = { readonly [name: string]: string }

type MakeRecipe = (words: Words, question: Question) => Recipe | undefined

/** Asks some phrases in turn. A recipe of `undefined` says that the question is for another intent after all. */
export const on = (phrases: ReadonlyArray<string>, recipe: MakeRecipe, example?: string): Intent =>
  matching((question) => question.text, phrases, recipe, example)

/** The same, but the phrases do not see an "in src" at the end: `question.scope` has it. */
export const within = (phrases: ReadonlyArray<string>, recipe: MakeRecipe, example?: string): Intent =>
  matching((question) => (question.scope.isIn ? question.scope.rest : question.text), phrases, recipe, example)

const matching = (
  textOf: (question: Question) => string,
  phrases: ReadonlyArray<string>,
  recipe: MakeRecipe,
  example: string | undefined
): Intent => {
  const patterns = phrases.map(compile)
  return {
    ...(example !== undefined && { example }),
    recognise: (question) => {
      for (const pattern of patterns) {
        const match = pattern.exec(textOf(question))
        const found = match === null ? undefined : recipe(wordsOf(match, question), question)
        if (found !== undefined) return found
      }
      return undefined
    }
  }
}

const wordsOf = (match: RegExpExecArray, { unmark }: Question): Words =>
  Object.fromEntries(Object.entries(match.groups ?? {}).map(([name, words]) => [name, unmark(words ?? "").trim()]))

const compile = (phrase: string): RegExp => {
  let source = ""
  let isBegun = false
  for (const item of phrase.match(/\[[^\]]*\]|\([^)]*\)|\S+/g) ?? []) {
    const words = item.replace(/^[([](.*)[)\]]$/, "$1").replaceAll(" ", "\\s+")
    const pattern = item === "..." ? ".+?" : `(?:${words.replace(/\{(\w+)\}/, "(?<$1>.+?)")})`
    if (item !== "..." && !item.startsWith("[")) {
      source += isBegun ? `\\s+${pattern}` : pattern
      isBegun = true
    } else source += isBegun ? `(?:\\s+${pattern})?` : `(?:${pattern}\\s+)?`
  }
  return new RegExp(`^${source}$`, "is")
}
