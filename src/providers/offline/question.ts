/**
 * Reads a text of the user as questions: one for each sentence, and for each "and" that begins a request of its own.
 *
 * What stands in quotes or backticks means itself: it is replaced by a mark, so that no pattern of an intent looks into
 * it, and put back where a part of the question is used.
 */
import { isFileName, type Scope, scopeOf } from "./names.ts"

export interface Question {
  /** As it was written. */
  readonly source: string
  /** Without polite words and end punctuation, what was quoted as marks. Patterns are matched against this. */
  readonly text: string
  /** Puts what was quoted back, without its quotes. */
  readonly unmark: (text: string) => string
  /** Puts what was quoted back as it was written. */
  readonly restore: (text: string) => string
  /** What was quoted, in order. */
  readonly quoted: ReadonlyArray<string>
  /** The files that it names; where it says "it", those that were named last. */
  readonly files: ReadonlyArray<string>
  /** Whether it names a file itself. */
  readonly namesFile: boolean
  /** Where to look, as in "… in src", and the text without that. */
  readonly scope: Scope
}

/** The greatest length of a text that is read, in UTF-16 code units. What is beyond, and the sentence before it, is not. */
export const MAX_TEXT = 4000

/** The greatest length of a question: no sentence that is longer is understood. */
const MAX_QUESTION = 400

/** The greatest number of questions that one text is taken for. */
export const MAX_QUESTIONS = 6

const spans = /`([^`\n]+)`|"([^"\n]+)"|“([^”\n]+)”|«([^»\n]+)»|(?<!\w)'([^'\n]+)'(?!\w)/g

/** What a request begins with. An "and" before one of these joins two requests. */
const beginnings = [
  "list|ls|show|read|open|print|cat|display|search|find|grep|look|run|execute|summari[sz]e|explain|describe|count|tell",
  "locate|what|which|where|who|how|does|do|is|are|please"
].join("|")

const boundary = new RegExp(
  [
    "(?<=[.?!])\\s+|\\s*;\\s+|\\s*\\n\\s*",
    `,?\\s+(?:and then|and also|and|then)\\s+(?=(?:${beginnings})\\b)`,
    `,\\s+(?=(?:${beginnings})\\b)`
  ].join("|"),
  "i"
)

const politeWords = [
  "(?:please|ok|okay|so|now|also|just|then|and|hi|hello|hey)\\b[\\s,!.:]*",
  "(?:can|could|would|will) you\\s+",
  "i(?:'d| would) like(?: you)? to\\s+",
  "i (?:want|need)(?: you)? to\\s+",
  "let(?:'s| us)\\s+",
  "tell me\\s+",
  "do you know\\s+",
  "show me (?=what|which|where|how)"
]
const polite = new RegExp(`^(?:${politeWords.join("|")})+`, "i")

const correction = "(?:no|stop|cancel(?: that)?|wait|never ?mind|forget (?:it|that)|instead|actually|rather)\\b"
const corrected = new RegExp(`^\\s*${correction}|\\binstead\\W*$`, "i")
const leading = new RegExp(`^\\s*(?:${correction}[\\s,.!:;]+)+(?=\\S)`, "i")

/** Whether a later message takes back those before it: "no, read b.txt instead". */
export const takesBack = (text: string): boolean => corrected.test(text)

/** `recent`: the files that were named before. */
export const parse = (text: string, recent: ReadonlyArray<string>): ReadonlyArray<Question> => {
  const quotes: Array<{ readonly inner: string; readonly whole: string }> = []
  const marked = text
    .slice(0, MAX_TEXT)
    .replaceAll(/[\uE000\uE001]/g, "")
    .replaceAll(spans, (whole, ...groups) => {
      quotes.push({ inner: groups.slice(0, 5).find((group) => group !== undefined) ?? "", whole })
      return `\uE000${quotes.length - 1}\uE001`
    })
    .replaceAll("’", "'")
    .replace(leading, "")
  const putBack = (part: string, of: "inner" | "whole"): string =>
    part.replaceAll(/\uE000(\d+)\uE001/g, (_, index) => quotes[Number(index)]?.[of] ?? "")
  const unmark = (part: string) => putBack(part, "inner")

  const sources = marked.split(boundary)
  const questions: Array<Question> = []
  let known = recent
  for (const source of text.length > MAX_TEXT ? sources.slice(0, -1) : sources) {
    if (source.trim() === "") continue
    const question = read(source.trim(), unmark, (part) => putBack(part, "whole"), known)
    if (question.namesFile) known = question.files
    questions.push(question)
  }
  return questions
}

const read = (
  source: string,
  unmark: Question["unmark"],
  restore: Question["restore"],
  recent: ReadonlyArray<string>
): Question => {
  // A dot after a word is an end, a dot of its own is this folder.
  const bare = source
    .replace(/[\s?!:,]+$/, "")
    .replace(/(?<=[^\s./])\.+$/, "")
    .replace(/,?\s+(?:please|thanks|thank you|instead)$/i, "")
  const asked = bare.replace(polite, "").replace(/^(what|where|who|how|which)'s\b/i, "$1 is") || bare || source
  const text = asked.length > MAX_QUESTION ? "" : asked
  const scope = scopeOf(text, unmark)
  // In "compilerOptions.target in tsconfig.json" there is one file.
  const named = scope.file === undefined ? filesOf(text, unmark) : [scope.file]
  return {
    source: restore(source),
    text,
    unmark,
    restore,
    quoted: [...text.matchAll(/\uE000\d+\uE001/g)].map(([mark]) => unmark(mark)),
    files:
      named.length === 0 && /\b(?:it|its|them|they|(?:that|this|the same) file|the file)\b/i.test(text)
        ? recent
        : named,
    namesFile: named.length > 0,
    scope
  }
}

/** The files that a text names, in order, each once. */
const filesOf = (text: string, unmark: Question["unmark"]): ReadonlyArray<string> => {
  const phrases = text.replaceAll(/\bthe (?:licen[sc]e) file\b/gi, "LICENSE")
  const tokens = phrases.split(/[\s,;()]+/).map((token) => unmark(token.replace(/(?<=[^.])[.?!:]+$|'s$/, "")))
  return [...new Set(tokens.filter(isFileName))]
}
