/**
 * Answers from files that are no JSON: the lines that have the words of a question, and an outline made of a file's own
 * headings, comments and declarations. Nothing but quoted lines and counts of them.
 */
import { escape } from "effect/RegExp"
import { count, type Numbered, paragraphs, quote, quoteNumbered } from "./quote.ts"
import { countIn, partsOf } from "./words.ts"

/** The greatest length of a line that is looked at, in UTF-16 code units. */
const MAX_LINE = 2000

/** A heading of Markdown, or the name of a section in TOML. */
const isHeading = (line: string): boolean => /^(?:#{1,6}\s+\S|\[+[\w.-]+\]+\s*$)/.test(line)

const number = (lines: ReadonlyArray<string>): ReadonlyArray<Numbered> =>
  lines.map((line, index) => ({ number: index + 1, line }))

/** The lines that have the most words of a question; for a heading, the section below it. */
export const passages = (
  lines: ReadonlyArray<string>,
  words: ReadonlyArray<string>,
  limit: number
): ReadonlyArray<Numbered> => {
  const ranked = number(lines).map((line) => ({ line, hits: countIn(words, partsOf(line.line.slice(0, MAX_LINE))) }))
  const most = ranked.reduce((sum, { hits }) => Math.max(sum, hits), 0)
  if (most === 0) return []
  const found = ranked.flatMap(({ line, hits }) => (hits === most ? [line] : []))
  const heading = found.find(({ line }) => isHeading(line))
  return heading === undefined ? found.slice(0, limit) : section(number(lines).slice(heading.number - 1), limit)
}

const section = (lines: ReadonlyArray<Numbered>, limit: number): ReadonlyArray<Numbered> => {
  const end = lines.findIndex(({ line }, index) => index > 0 && isHeading(line))
  return lines.slice(0, end < 0 ? limit : Math.min(end, limit)).filter(({ line }) => line.trim() !== "")
}

/** The lines that bring other files or packages in. */
export const imports = (lines: ReadonlyArray<string>): ReadonlyArray<Numbered> =>
  number(lines).filter(({ line }) =>
    /^\s*(?:import\b|export\b.*\bfrom\s*["']|from\s+\S+\s+import\b|use\s+[\w:{]|#include\b|\}\s*from\s*["'])|\brequire\(["']/.test(
      line.slice(0, MAX_LINE)
    )
  )

const modifiers = "(?:(?:export|default|public|pub|async|abstract|declare|static|final)\\s+)*"
const keywords =
  "(?:const|let|var|function\\*?|class|interface|type|enum|namespace|def|fn|func|struct|trait|impl|module)"

const declaration = new RegExp(`^${modifiers}${keywords}\\s+[\\w$]`)

const isDeclaration = (line: string): boolean => declaration.test(line.slice(0, MAX_LINE))

/** Makes a test of whether a line declares a name: as a binding, a type or a function, or as a member of something. */
export const declares = (name: string): ((line: string) => boolean) => {
  const word = `${escape(name)}(?![\\w$])`
  const declaration = new RegExp(`^\\s*${modifiers}${keywords}\\s+${word}`)
  const member = new RegExp(
    `^\\s*(?:(?:public|private|protected|readonly|async|static|get|set)\\s+)+${word}|` +
      `^\\s*${word}\\s*(?:[?:]|=(?!=)|\\([^)]*\\)\\s*(?::[^;]*)?\\{)`
  )
  return (line) => declaration.test(line.slice(0, MAX_LINE)) || member.test(line.slice(0, MAX_LINE))
}

/** The first lines of a file that are a comment. */
const opening = (lines: ReadonlyArray<string>): ReadonlyArray<string> => {
  const start = lines.findIndex((line) => line.trim() !== "" && !line.startsWith("#!"))
  const rest = lines.slice(Math.max(0, start))
  const end = rest.findIndex((line) => !/^\s*(?:\/\/|\/\*|\*|#|--|"""|;;)/.test(line))
  return rest.slice(0, end < 0 ? rest.length : end).filter((line) => /[\p{L}\p{N}]/u.test(line))
}

/** The first lines of a text that are neither headings nor pictures. */
export const firstParagraph = (lines: ReadonlyArray<string>): ReadonlyArray<string> => {
  const start = lines.findIndex(
    (line) => line.trim() !== "" && !isHeading(line) && !/^\s*(?:<|!?\[!?\[|!\[|=+$|-+$)/.test(line)
  )
  if (start < 0) return []
  const end = lines.findIndex((line, index) => index > start && line.trim() === "")
  return lines.slice(start, end < 0 ? undefined : end)
}

const isMarkdown = (file: string): boolean => /\.(?:md|mdx|markdown)$/i.test(file) || /^readme$/i.test(file)

/** What a file is like, in at most about `limit` lines of its own. */
export const outline = (file: string, lines: ReadonlyArray<string>, limit: number): string => {
  const size = `${file} has ${count(lines.length, "line")}`
  if (lines.length <= Math.min(limit, 12)) return paragraphs(`${size}:`, quote(lines))
  if (isMarkdown(file)) return outlineMarkdown(size, lines, limit)
  const comment = opening(lines)
  const declarations = number(lines).filter(({ line }) => isDeclaration(line))
  if (comment.length === 0 && declarations.length === 0) {
    return paragraphs(`${size}. It begins:`, quote(lines.slice(0, Math.min(limit, 10))))
  }
  return paragraphs(
    comment.length === 0 ? `${size}.` : `${size}. It begins by saying:`,
    quote(comment.slice(0, 8)),
    declarations.length === 0 ? undefined : `It declares, on ${count(declarations.length, "line")}:`,
    quoteNumbered(declarations, Math.max(5, limit - 8))
  )
}

const outlineMarkdown = (size: string, lines: ReadonlyArray<string>, limit: number): string => {
  const headings = number(lines).filter(({ line }) => isHeading(line))
  return paragraphs(
    `${size}. It begins:`,
    quote(firstParagraph(lines).slice(0, 8)),
    headings.length === 0 ? undefined : `Its headings:`,
    quoteNumbered(headings, Math.max(5, limit - 8))
  )
}
