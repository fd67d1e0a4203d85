/**
 * Answers about folders: what is in them, and which files have a name.
 */
import { type Intent, on, within } from "./intent.ts"
import { globOf, isFileName } from "./names.ts"
import { entriesOf, findCommand, foundIn, linesOf } from "./open.ts"
import type { Question } from "./question.ts"
import { count, oneLine, paragraphs, quote, takeNote } from "./quote.ts"
import { ask, bash, complain, ls, type Outcome, type Recipe } from "./recipe.ts"
import { wordsOf } from "./words.ts"

/** Says that a result does not show everything, if so. */
export const noteOf = (outcome: Outcome): string | undefined => {
  const { note } = takeNote(outcome.text)
  return note === undefined ? undefined : `That is not all. The tool said:\n\n${quote([note])}`
}

function* list(folder: string | undefined): Recipe {
  const [listing] = yield* ask(ls(folder))
  if (listing._tag !== "Done") return complain(listing)
  const name = folder === undefined ? "This folder" : oneLine(folder)
  const entries = entriesOf(listing)
  if (entries.length === 0) return `${name} is empty.`
  const folders = entries.filter((entry) => entry.endsWith("/")).length
  const kinds = folders === 0 ? "" : `, ${count(folders, "of them a folder", "of them folders")}`
  const amount = `${name} has ${count(entries.length, "entry", "entries")}${kinds}:`
  return paragraphs(amount, quote(linesOf(listing)), noteOf(listing))
}

function* find(name: string, folder: string | undefined): Recipe {
  const glob = globOf(name) ?? (isFileName(name) ? name : `*${name}*`)
  const [found] = yield* ask(bash(findCommand(glob, folder)))
  if (found._tag !== "Done") return complain(found)
  const where = folder === undefined ? "" : ` in ${oneLine(folder)}`
  const { paths, complaints } = foundIn(found)
  const are = paths.length === 1 ? "There is" : "There are"
  return paragraphs(
    paths.length === 0
      ? `I found no file${where} with a name like ${oneLine(glob)}.`
      : `${are} ${count(paths.length, "file")}${where} with a name like ${oneLine(glob)}:`,
    quote(paths),
    complaints.length === 0 ? undefined : `I could not look everywhere:\n\n${quote(complaints, 5)}`,
    noteOf(found)
  )
}

// ---------------------------------------------------------------------------------------------------------------------
// Intents
// ---------------------------------------------------------------------------------------------------------------------

export const findIntents: ReadonlyArray<Intent> = [
  within(
    [
      "(find|locate|where is|where are) [the|a|all|all the] [file|files] [named|called] {name} [file|files]",
      "(find|list|show|search for|which|what|how many|are there) ... files? ... (named|called|matching) {name}"
    ],
    ({ name = "" }, { text, scope }) =>
      isFileName(name) || globOf(name) !== undefined || /\bfiles? .*\b(?:named|called|matching)\b/i.test(text)
        ? find(name, scope.folder)
        : undefined,
    "find files named config"
  ),
  within(
    [
      "(find|list|show|are there|which|what|how many|count) [me] [any|all|the|all the] {files} " +
        "[there are|are there|are here|exist]"
    ],
    ({ files = "" }, { scope }) => {
      const glob = /^(?:\S+ files?|\S*\*\S*)$/i.test(files) ? globOf(files) : undefined
      return glob === undefined ? undefined : find(glob, scope.folder)
    },
    "list all TypeScript files"
  )
]

/** Words that say no more than that files are meant. */
const plain =
  /^(?:files?|folders?|subfolders?|directory|directories|entries|names?|ls|list|count|find|search|top|level)$/

const onFolder = (question: Question, words: string): Recipe | undefined =>
  question.namesFile || wordsOf(words).some((word) => !plain.test(word)) ? undefined : list(question.scope.folder)

export const listIntents: ReadonlyArray<Intent> = [
  within(
    [
      "(list|show|display|what|which|how many|count|give me|are there) [me] {what}",
      "what (is|are|do we have) [there] [here]",
      "ls"
    ],
    ({ what = "files" }, question) =>
      /\b(?:files?|folders?|subfolders?|director(?:y|ies)|contents?|entries|everything)\b/i.test(what) ||
      what === "here"
        ? onFolder(question, question.scope.rest)
        : undefined,
    "list the files in src"
  ),
  on(["(what|which) (is|are|files are|files) [there] (in|inside|under) {where}"], (_, question) =>
    question.scope.isIn === true ? onFolder(question, "") : undefined
  ),
  on(["(list|ls) [the] [folder] {folder} [folder]"], ({ folder = "" }, { namesFile }) =>
    namesFile || /\s/.test(folder) ? undefined : list(folder)
  )
]
