/**
 * Answers that take a search through the lines of files.
 */
import { noteOf } from "./folders.ts"
import { type Intent, on, within, type Words } from "./intent.ts"
import * as Prose from "./prose.ts"
import type { Question } from "./question.ts"
import { bullets, count, oneLine, paragraphs, quote, splitLines, takeNote } from "./quote.ts"
import { ask, complain, grep, type Outcome, type Recipe } from "./recipe.ts"

/** A matching line as a tool gives it: `path:12:text`. */
interface Match {
  readonly source: string
  readonly path: string
  readonly line: string
}

const matchesOf = (outcome: Outcome): ReadonlyArray<Match> =>
  splitLines(takeNote(outcome.text).text).flatMap((source) => {
    const [, path, line] = /^(.+?):\d+:(.*)$/.exec(source) ?? []
    return path === undefined || line === undefined ? [] : [{ source, path, line }]
  })

interface Found {
  /** What was searched for, and how much there is of it: `"x" is in 2 lines of 1 file`. */
  readonly summary: string
  readonly term: string
  readonly matches: ReadonlyArray<Match>
}

type Show = (found: Found) => string

/** Searches where the question says; a text without capitals is found in capitals too. */
function* search(words: string, { scope }: Question, show: Show): Recipe {
  const [, pattern] = /^\/(.+)\/$/.exec(words) ?? []
  const term = pattern ?? words
  const where = scope.isIn === true ? scope : undefined
  const path = where?.folder ?? where?.file
  const [outcome] = yield* ask(
    grep(term, {
      ...(path !== undefined && { path }),
      ...(where?.glob !== undefined && { glob: where.glob }),
      ...(pattern === undefined && { literal: true }),
      ...(!/\p{Lu}/u.test(term) && { ignoreCase: true })
    })
  )
  if (outcome._tag !== "Done") return complain(outcome)
  const matches = matchesOf(outcome)
  const name = `"${oneLine(term)}"`
  const place = path ?? where?.glob
  const suffix = place === undefined ? "" : ` in ${oneLine(place)}`
  if (matches.length === 0) return `I found no line with ${name}${suffix}.`
  const files = new Set(matches.map((match) => match.path)).size
  const summary = `${name} is in ${count(matches.length, "line")} of ${count(files, "file")}${suffix}`
  return paragraphs(show({ summary, term, matches }), noteOf(outcome))
}

const showLines: Show = ({ summary, matches }) => paragraphs(`${summary}:`, quote(matches.map((match) => match.source)))

const showCount: Show = ({ summary }) => `${summary}.`

const showFiles: Show = ({ summary, matches }) => {
  const files = [...Map.groupBy(matches, (match) => match.path)]
  return paragraphs(`${summary}:`, bullets(files.map(([path, lines]) => `${path}: ${count(lines.length, "line")}`)))
}

const showDefinition: Show = ({ summary, term, matches }) => {
  const isDefinition = Prose.declares(term)
  const definitions = matches.filter(({ line }) => isDefinition(line))
  return definitions.length === 0
    ? paragraphs(`No line looks like a definition of it, but ${summary}:`, quote(matches.map((match) => match.source)))
    : paragraphs(`${summary}. It is defined here:`, quote(definitions.map((match) => match.source)))
}

// ---------------------------------------------------------------------------------------------------------------------
// Intents
// ---------------------------------------------------------------------------------------------------------------------

const kind =
  "[the|a|any|all|every] [function|class|type|variable|constant|word|text|string|interface|method|module|name|pattern]"

/** What people leave in code for themselves. */
const marks = /^(TODO|FIXME|XXX|HACK)s?$/i

/** What was quoted where anything was, else the words themselves; a call stands for its function. */
const searching =
  (show: Show) =>
  ({ term = "" }: Words, question: Question): Recipe | undefined => {
    const quoted = question.quoted.find((text) => term.includes(text))
    const [, mark] = marks.exec(term) ?? []
    const words = quoted ?? mark?.toUpperCase() ?? term.replace(/\(\)$/, "")
    return words === "" ? undefined : search(words, question, show)
  }

export const searchIntents: ReadonlyArray<Intent> = [
  within(
    [
      `where (is|are|do|does|did) [we|you|i] ${kind} {term} [is|are|get] (defined|declared|implemented|come from)`,
      `(find|show) [me] [the] (definition|declaration|implementation) of ${kind} {term}`
    ],
    searching(showDefinition),
    "where is ProviderError defined?"
  ),
  within(
    [
      `where (is|are) ${kind} {term} [being] (used|called|mentioned|referenced|imported|exported|set|thrown|created)`,
      `where (do|does) (we|you|it|i|this) (use|call|mention|reference|import|set) ${kind} {term}`,
      `where (do|does) ${kind} {term} (appear|occur|come up)`,
      `(who|what) (uses|calls|imports|mentions|references) ${kind} {term}`,
      `(find|list|show) [me] [the|all|every|all the] (uses?|usages?|occurrences?|references?|mentions?|lines?|calls?) ` +
        `(of|to|with|that contain|that mention|containing) ${kind} {term}`
    ],
    searching(showLines),
    "where is Stream used in src?"
  ),
  within(
    [`how (often|many times) (is|are|does|do) ${kind} {term} (used|called|mentioned|appear|occur)`],
    searching(showCount)
  ),
  within(
    [
      "[find|list|show] [me] [which|what|all|the] files [that] " +
        `(uses?|mentions?|contains?|imports?|calls?|defines?|references?|have|using|with|containing) ${kind} {term}`
    ],
    searching(showFiles),
    "which files mention Effect.gen?"
  ),
  within(
    [
      `(search|look|scan) [the|this|these|all] [code|files|folder|project|repo|everything|everywhere] for ${kind} {term}`,
      `(grep|search) [for] ${kind} {term}`,
      "(find|show|list|are there|count) [me] [any|all|the] {term}"
    ],
    (words, question) =>
      /^(?:grep|search|look|scan|find)\b/i.test(question.text) || marks.test(words["term"] ?? "")
        ? searching(showLines)(words, question)
        : undefined,
    "search for TODO"
  )
]

/** A name that only code has: `camelCase`, `PascalCase`, `snake_case`, `Module.member`. */
const codeName = /^(?:[a-z]+[A-Z]\w*|[A-Z]\w*[a-z]\w*[A-Z]\w*|\w+_\w+|[A-Z]\w*\.\w+)(?:\(\))?$/

/** For what nobody else understands. */
export const definitionIntents: ReadonlyArray<Intent> = [
  on([`(what is|what are|what does|explain|describe|how does) ${kind} {term} [do|mean|for|work]`], (words, question) =>
    question.quoted.includes(words["term"] ?? "") || codeName.test(words["term"] ?? "")
      ? searching(showDefinition)(words, question)
      : undefined
  )
]
