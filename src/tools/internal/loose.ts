/**
 * Finds a text where some differences do not count, and tells where it is in the text as it is.
 */
import * as Search from "./search.ts"

export type How = "lineEndings" | "blanksAndQuotes"

/** From `start` to `end`, in UTF-16 code units. */
export interface Place {
  readonly start: number
  readonly end: number
}

export interface Folded {
  readonly how: How
  readonly original: string
  /** The text without the differences, and of each of its code units the place in the original. */
  readonly text: string
  readonly places: Uint32Array
}

/** CR LF becomes LF; with blanks and quotes, blanks before the end of a line go, and typographic quotes become plain. */
export const fold = (original: string, how: How): Folded => {
  const places = new Uint32Array(original.length + 1)
  const parts: Array<string> = []
  let length = 0
  const take = (from: number, end: number) => {
    parts.push(original.slice(from, end))
    for (let at = from; at < end; at++) places[length++] = at
  }
  let from = 0
  while (from < original.length) {
    const next = original.indexOf("\n", from)
    const lineEnd = next === -1 ? original.length : next
    const ending = next > from && original[next - 1] === "\r" ? next - 1 : lineEnd
    take(from, how === "lineEndings" ? ending : startOfBlanks(original, from, ending))
    if (next === -1) break
    parts.push("\n")
    places[length++] = ending
    from = next + 1
  }
  const text = parts.join("")
  return { how, original, places, text: how === "lineEndings" ? text : plainQuotes(text) }
}

const startOfBlanks = (text: string, from: number, end: number): number => {
  let start = end
  while (start > from && isBlank(text[start - 1])) start--
  return start
}

const isBlank = (char: string | undefined): boolean => char === " " || char === "\t"

const plainQuotes = (text: string): string =>
  text.replaceAll(/[\u2018\u2019\u201a\u201b\u2032]/g, "'").replaceAll(/[\u201c\u201d\u201e\u201f\u2033]/g, '"')

/** The places of a text in the original, at most `most`. */
export const find = (folded: Folded, wanted: string, most: number): ReadonlyArray<Place> => {
  const { how, original, places, text } = folded
  const plain = fold(wanted, how).text
  // Blanks at the end of what is wanted are at the end of a line, or they would count.
  const endsBlank = how === "blanksAndQuotes" && isBlank(wanted.at(-1))
  const found: Array<Place> = []
  if (plain === "") return found
  const search = Search.make(plain)
  for (let at = search(text, 0); at !== -1 && found.length < most; at = search(text, at + 1)) {
    const next = at + plain.length
    if (endsBlank && next < text.length && text[next] !== "\n") continue
    const end = endOfUnit(original, places[next - 1]!)
    found.push({ start: places[at]!, end: endsBlank ? endOfBlanks(original, end) : end })
  }
  return found
}

const endOfUnit = (original: string, place: number): number =>
  original[place] === "\r" && original[place + 1] === "\n" ? place + 2 : place + 1

const endOfBlanks = (original: string, from: number): number => {
  let end = from
  while (isBlank(original[end])) end++
  return end
}
