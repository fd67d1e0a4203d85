/**
 * How answers show what tools gave. A line that begins with four blanks is quoted: it stands in a result as it stands
 * here, after its number where it has one and up to its " …" where it was too long. Whatever comes from outside is on
 * such a line, or made one short line, so that no file can speak as if it were the answer. Everything is bounded.
 */

/** The greatest number of lines that are quoted in one place. */
export const MAX_LINES = 60

/** The greatest length of a quoted line and of a value, in UTF-16 code units. */
export const MAX_WIDTH = 240

export const splitLines = (text: string): ReadonlyArray<string> => text.split(/\r\n|[\n\r\u2028\u2029]/)

export const firstLine = (text: string): string => splitLines(text)[0]!

/** The text, shortened where it is too long, but not within a surrogate pair. */
export const cut = (text: string, width = MAX_WIDTH): string => {
  if (text.length <= width) return text
  const end = text.codePointAt(width - 1)! > 0xffff ? width - 1 : width
  return `${text.slice(0, end)} …`
}

/** A text that may have any characters on one line. */
export const oneLine = (text: string): string => cut(splitLines(text).join(" "))

/** How many of something: "1 line", "2 lines". */
export const count = (amount: number, one: string, many = `${one}s`): string => `${amount} ${amount === 1 ? one : many}`

/** "a", "a and b", "a, b and c". */
export const enumerate = (names: ReadonlyArray<string>): string =>
  names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`

const more = (hidden: number, one: string): ReadonlyArray<string> =>
  hidden > 0 ? [`(${count(hidden, `more ${one}`)})`] : []

export const quote = (lines: ReadonlyArray<string>, limit = MAX_LINES): string =>
  [...lines.slice(0, limit).map((line) => `    ${cut(line)}`.trimEnd()), ...more(lines.length - limit, "line")].join(
    "\n"
  )

/** A line and where it stands in its file, counted from 1. */
export interface Numbered {
  readonly number: number
  readonly line: string
}

export const quoteNumbered = (lines: ReadonlyArray<Numbered>, limit = MAX_LINES): string =>
  quote(
    lines.map(({ number, line }) => `${number}: ${line}`),
    limit
  )

export const bullets = (items: ReadonlyArray<string>, limit = MAX_LINES): string =>
  [...items.slice(0, limit).map((item) => `- ${oneLine(item)}`), ...more(items.length - limit, "item")].join("\n")

/** The parts of an answer that there are, a blank line between them. */
export const paragraphs = (...parts: ReadonlyArray<string | undefined>): string =>
  parts.filter((part) => part !== undefined && part !== "").join("\n\n")

/** A result without the note that a tool put below it: a last line in brackets after a blank one. */
export interface Noted {
  readonly text: string
  /** The note, if it says that there is more than the result shows. */
  readonly note: string | undefined
}

/** The greatest length of a line that is taken for a note, in UTF-16 code units. */
const MAX_NOTE = 500

export const takeNote = (text: string): Noted => {
  const end = text.trimEnd()
  const start = end.lastIndexOf("\n") + 1
  const note = end.slice(start)
  const isNote =
    note.length <= MAX_NOTE &&
    /^\[.*\b(?:lines?|offset|limit|truncated|bytes|KB|results?|match(?:es)?|entries|output)\b.*\]$/i.test(note)
  if (!isNote || !end.slice(0, start).endsWith("\n\n")) return { text, note: undefined }
  const isPartial = /\b(?:goes on|more|truncated|showing|shown|first|last|limit|longer|only)\b/i.test(note)
  return { text: end.slice(0, start - 2), note: isPartial ? note : undefined }
}
