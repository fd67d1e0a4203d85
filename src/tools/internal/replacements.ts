/**
 * Replacements in a text: each old text must be found exactly once, in the text as it was before, and what is not replaced
 * stays as it is.
 *
 * An old text is looked for as it is; if it is nowhere, with line endings ignored (a reader of a file sees LF for CR LF);
 * if it still is nowhere, with typographic quotes and blanks at the ends of lines ignored as well. The new text gets the
 * line endings of the place that it comes to, unless the model wrote a CR itself.
 */
import * as Result from "effect/Result"
import * as Loose from "./loose.ts"
import { describeNearest } from "./nearest.ts"
import * as Search from "./search.ts"
import { count } from "./text.ts"

export interface Replacement {
  readonly oldText: string
  readonly newText: string
  readonly all?: boolean
}

/** What is replaced. */
export interface Change extends Loose.Place {
  readonly newText: string
  /** The replacement that it belongs to, counted from 0. */
  readonly index: number
}

export interface Outcome {
  /** In the order of the text, and without overlaps. */
  readonly changes: ReadonlyArray<Change>
  /** How the replacements were found: `exact`, or what was ignored. */
  readonly matches: ReadonlyArray<Match>
}

export type Match = "exact" | "lineEndings" | "blanksAndQuotes"

/** Finds what is to be replaced, or says why it cannot be. Nothing is replaced if one replacement cannot be. */
export const find = (text: string, replacements: ReadonlyArray<Replacement>): Result.Result<Outcome, string> => {
  const looks = makeLooks(text)
  const found = replacements.map((replacement, index) => findOne(looks, text, replacement, index))
  const mistakes = found.flatMap((one, index) =>
    Result.isFailure(one) ? [replacements.length === 1 ? one.failure : `Edit ${index + 1}: ${one.failure}`] : []
  )
  if (mistakes.length > 0) return Result.fail(mistakes.join("\n\n"))
  const all = found.flatMap((one) => (Result.isSuccess(one) ? [one.success] : []))
  const changes = all.flatMap((one) => one.changes).toSorted((a, b) => a.start - b.start || a.end - b.end)
  for (const [index, change] of changes.entries()) {
    const next = changes[index + 1]
    if (next !== undefined && next.start < change.end) {
      const [one, other] = [change.index + 1, next.index + 1].toSorted((a, b) => a - b)
      return Result.fail(`Edits ${one} and ${other} overlap: make one of them.`)
    }
  }
  return Result.succeed({ changes, matches: all.map((one) => one.match) })
}

/** The text with the changes made. */
export const apply = (text: string, changes: ReadonlyArray<Change>): string => {
  const parts: Array<string> = []
  let at = 0
  for (const { end, newText, start } of changes) {
    parts.push(text.slice(at, start), newText)
    at = end
  }
  parts.push(text.slice(at))
  return parts.join("")
}

// ---------------------------------------------------------------------------------------------------------------------
// One replacement
// ---------------------------------------------------------------------------------------------------------------------

/** A way to look for a text, up to so many places. */
type Look = (oldText: string, all: boolean) => ReadonlyArray<Loose.Place>

/** The ways to look at a text, each made when it is first needed. */
const makeLooks = (text: string): ReadonlyArray<readonly [Match, Look]> => {
  const loosely = (how: Loose.How): Look => {
    let folded: Loose.Folded | undefined
    return (oldText, all) =>
      Loose.find((folded ??= Loose.fold(text, how)), oldText, all ? MAX_PLACES + 1 : MAX_NAMED + 1)
  }
  return [
    ["exact", (oldText, all) => findExactly(text, oldText, all)],
    ["lineEndings", loosely("lineEndings")],
    ["blanksAndQuotes", loosely("blanksAndQuotes")]
  ]
}

const findOne = (
  looks: ReadonlyArray<readonly [Match, Look]>,
  text: string,
  { all = false, newText, oldText }: Replacement,
  index: number
): Result.Result<{ readonly changes: ReadonlyArray<Change>; readonly match: Match }, string> => {
  if (oldText === "") return Result.fail("oldText is empty. Give the text to replace; to write a whole file use write.")
  if (oldText === newText) return Result.fail("oldText and newText are the same, so there is nothing to change.")
  for (const [match, look] of looks) {
    const places = look(oldText, all)
    if (places.length === 0) continue
    // What is found only with blanks and quotes ignored may differ from place to place.
    if (places.length > 1 && (!all || match === "blanksAndQuotes")) return Result.fail(tooMany(text, places, match))
    if (places.length > MAX_PLACES) return Result.fail(`oldText is in the file more than ${count(MAX_PLACES)} times.`)
    const isLiteral = match === "exact" && (oldText.includes("\r") || newText.includes("\r"))
    const plain = newText.replaceAll("\r\n", "\n")
    const changes = withoutOverlaps(places).map(({ end, start }) => ({
      start,
      end,
      newText: isLiteral ? newText : withEndingsOf(text, start, plain),
      index
    }))
    return Result.succeed({ changes, match })
  }
  return Result.fail(describeNearest(text, oldText))
}

/**
 * Without `all`, overlapping places count: of `aa` in `aaa` nobody can say which is meant. An old text that begins with the
 * LF of a CR LF takes the CR along, since half a line ending is none.
 */
const findExactly: (text: string, ...args: Parameters<Look>) => ReadonlyArray<Loose.Place> = (text, oldText, all) => {
  const places: Array<Loose.Place> = []
  const step = all ? oldText.length : 1
  const most = all ? MAX_PLACES : MAX_NAMED
  const search = Search.make(oldText)
  for (let at = search(text, 0); at !== -1 && places.length <= most; at = search(text, at + step)) {
    const start = oldText[0] === "\n" && text[at - 1] === "\r" ? at - 1 : at
    places.push({ start, end: at + oldText.length })
  }
  return places
}

const withoutOverlaps = (places: ReadonlyArray<Loose.Place>): ReadonlyArray<Loose.Place> => {
  let end = 0
  return places.filter((place) => {
    if (place.start < end) return false
    end = place.end
    return true
  })
}

/** How many places are named, and how many can be replaced at once. */
const MAX_NAMED = 10
const MAX_PLACES = 100_000

const tooMany = (text: string, places: ReadonlyArray<Loose.Place>, match: Match): string => {
  const lines = places.slice(0, MAX_NAMED).map(({ start }) => lineAt(text, start))
  const where = `lines ${lines.join(", ")}${places.length > MAX_NAMED ? ", …" : ""}`
  const times = places.length > MAX_NAMED ? `more than ${MAX_NAMED}` : `${places.length}`
  return match === "blanksAndQuotes"
    ? `oldText is not in the file as it is, and ${times} places are like it (${where}). ` +
        "Copy it exactly from the file, with more of the text around it."
    : `oldText is in the file ${times} times (${where}). Give more of the text around it, or set all.`
}

/** The number of the line that a place is in, counted from 1. */
export const lineAt = (text: string, place: number): number => {
  let line = 1
  for (let at = text.indexOf("\n"); at !== -1 && at < place; at = text.indexOf("\n", at + 1)) line++
  return line
}

/** A new text with the line endings of the place: the first one from there on, else the last one before. */
const withEndingsOf = (text: string, start: number, newText: string): string => {
  if (!newText.includes("\n")) return newText
  const next = text.indexOf("\n", start)
  const ending = next === -1 ? text.lastIndexOf("\n", start) : next
  return ending > 0 && text[ending - 1] === "\r" ? newText.replaceAll("\n", "\r\n") : newText
}
