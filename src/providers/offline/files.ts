/**
 * Answers about files that a question names: showing them, saying what they are like, and quoting what they say about
 * the words of the question.
 */
import * as Result from "effect/Result"
import { type Intent, on } from "./intent.ts"
import * as Json from "./json.ts"
import { type Attempt, MAX_FILES, noteOf, open, type Opened } from "./open.ts"
import * as Prose from "./prose.ts"
import type { Question } from "./question.ts"
import { count, enumerate, MAX_LINES, oneLine, paragraphs, quote, quoteNumbered } from "./quote.ts"
import { read, type Recipe } from "./recipe.ts"
import { wordsOf } from "./words.ts"

/** One answer from several files, each of which may have failed. */
const forEach = (
  attempts: ReadonlyArray<Attempt>,
  names: ReadonlyArray<string>,
  answer: (file: Opened) => string
): string =>
  paragraphs(
    ...attempts.map((attempt) => Result.match(attempt, { onFailure: (why) => why, onSuccess: answer })),
    names.length > MAX_FILES
      ? `I open at most ${MAX_FILES} files at once and left out ${enumerate(names.slice(MAX_FILES).map(oneLine))}.`
      : undefined
  )

const shareOf = (names: ReadonlyArray<string>): number =>
  Math.max(10, Math.floor(MAX_LINES / Math.max(1, names.length)))

// ---------------------------------------------------------------------------------------------------------------------
// Recipes
// ---------------------------------------------------------------------------------------------------------------------

/** Shows files, or the lines of them that are asked for. */
function* show(question: Question): Recipe {
  const names = question.files
  const lines = rangeOf(question.text)
  const attempts = yield* open(names, (path) => read(path, lines?.range))
  return forEach(attempts, names, (file) => {
    if (file.text === "") return `${file.path} is empty.`
    if (lines?.last !== undefined && file.note !== undefined) {
      return paragraphs(`I do not know how ${file.path} ends.`, noteOf(file))
    }
    if (lines !== undefined) {
      const shown = lines.last === undefined ? file.lines.slice(0, lines.range?.limit) : file.lines.slice(-lines.last)
      return paragraphs(`${file.path}, ${lines.words}:`, quote(shown))
    }
    return paragraphs(`${file.path}:`, quote(file.lines, shareOf(names)), noteOf(file))
  })
}

interface Range {
  /** At most as many lines as an answer shows. */
  readonly range?: { readonly offset?: number; readonly limit: number }
  readonly last?: number
  readonly words: string
}

/** "the first 5 lines", "lines 3 to 7", "line 12", "the last line". */
const rangeOf = (text: string): Range | undefined => {
  const [, end, amount] = /\b(first|last|top|final)\s+(?:(\d{1,6})\s+)?lines?\b/i.exec(text) ?? []
  const size = clamp(Number(amount ?? 1))
  if (end !== undefined) {
    const isLast = /last|final/i.test(end)
    const words = `the ${isLast ? "last" : "first"} ${count(size, "line")}`
    return isLast ? { last: size, words } : { range: { limit: size }, words }
  }
  const [, from, to] = /\blines?\s+(\d{1,9})(?:\s*(?:-|–|to|through|and|until)\s*(\d{1,9}))?/i.exec(text) ?? []
  if (from === undefined) return undefined
  const first = Math.max(1, Number(from))
  const limit = clamp(Number(to ?? first) - first + 1)
  const last = first + limit - 1
  return {
    range: { offset: first, limit },
    words: first === last ? `line ${first}` : `lines ${first} to ${last}`
  }
}

const clamp = (size: number): number => Math.min(MAX_LINES, Math.max(1, size))

function* summarise({ files }: Question): Recipe {
  return forEach(yield* open(files), files, (file) => paragraphs(outline(file, shareOf(files)), noteOf(file)))
}

const outline = (file: Opened, limit: number): string => {
  if (file.text.trim() === "") return `${file.path} is empty.`
  const json = /\.json$/i.test(file.path) ? Json.parse(file.text) : undefined
  return json !== undefined && Result.isSuccess(json)
    ? Json.outline(file.path, json.success)
    : Prose.outline(file.path, file.lines, limit)
}

function* countLines({ files }: Question): Recipe {
  return forEach(yield* open(files), files, (file) =>
    file.note === undefined
      ? `${file.path} has ${count(file.lines.length, "line")}.`
      : paragraphs(`${file.path} has more than ${count(file.lines.length, "line")}.`, noteOf(file))
  )
}

/** Answers any question that names a file, by the words that the two share. */
function* consult(question: Question): Recipe {
  const { files } = question
  const words = aboutOf(question)
  return forEach(yield* open(files), files, (file) => paragraphs(answerFrom(file, words, shareOf(files)), noteOf(file)))
}

/** The words of a question but for the names of its files. */
const aboutOf = ({ text, unmark, files }: Question): ReadonlyArray<string> => {
  const rest = files.reduce((words, file) => words.replaceAll(file, " "), unmark(text))
  return wordsOf(rest.replaceAll(/\b(?:readme|changelog|makefile|dockerfile|licen[sc]e file)\b/gi, " "))
}

/** What a file says about some words; without words, what it is like. */
export const answerFrom = (file: Opened, words: ReadonlyArray<string>, limit: number): string => {
  if (words.length === 0 || file.text.trim() === "") return outline(file, limit)
  const json = /\.json$/i.test(file.path) ? Json.parse(file.text) : undefined
  if (json !== undefined && Result.isSuccess(json)) {
    const members = Json.find(json.success, words)
    if (members.length > 0) return paragraphs(...members.slice(0, 5).map((member) => Json.describe(file.path, member)))
    return paragraphs(`Nothing in ${file.path} has ${named(words)} in its name.`, Json.outline(file.path, json.success))
  }
  const found = /\bdependency|\bdepend|\bimport/.test(words.join(" ")) ? Prose.imports(file.lines) : []
  const lines = found.length > 0 ? found : Prose.passages(file.lines, words, Math.min(limit, 12))
  return lines.length > 0
    ? paragraphs(`${file.path} says:`, quoteNumbered(lines, limit))
    : paragraphs(`No line of ${file.path} has ${named(words)}.`, outline(file, limit))
}

const named = (words: ReadonlyArray<string>): string =>
  words.length === 1
    ? `the word "${oneLine(words[0]!)}"`
    : `one of the words ${enumerate(words.map((word) => `"${oneLine(word)}"`))}`

// ---------------------------------------------------------------------------------------------------------------------
// Intents
// ---------------------------------------------------------------------------------------------------------------------

const onFiles = ({ recognise, ...intent }: Intent): Intent => ({
  ...intent,
  recognise: (question) => (question.files.length === 0 ? undefined : recognise(question))
})

/** Words that say how to show a file, and not what of it. */
const showing = /^(?:print|cat|open|display|view|output|dump|full|whole|source|text|both|license|readme|changelog)$/

export const fileIntents: ReadonlyArray<Intent> = [
  on(
    ["... how (many lines|long) ...", "... count [the] lines ...", "... (number of lines|line count) ..."],
    (_, question) => countLines(question),
    "how many lines does README.md have?"
  ),
  on(
    ["... (summarise|summarize|summary|outline|overview|explain|describe) ...", "what (is|are) ... about"],
    (_, question) => summarise(question),
    "summarise README.md"
  ),
  on(["{anything}"], (_, question) => (rangeOf(question.text) === undefined ? undefined : show(question))),
  on(
    ["(read|show|print|cat|open|display|view|output|dump|give me) ..."],
    (_, question) => (aboutOf(question).every((word) => showing.test(word)) ? show(question) : undefined),
    "read package.json and README.md"
  ),
  on(["{anything}"], (_, question) => consult(question), "what scripts does package.json define?")
].map(onFiles)
