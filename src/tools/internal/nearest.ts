/**
 * What in a file comes nearest to a text that is not in it: so that a model sees what it got wrong without reading the
 * whole file again. The most telling line of the text is compared with each line of the file, and around the best ones
 * the whole text.
 */
import { plural } from "./text.ts"

/** How much is shown, in lines and characters of a line. */
const MAX_LINES = 20
const MAX_LINE = 200
/** How many characters of the file are looked at. */
const MAX_LOOKED_AT = 4_000_000
/** How many lines that are like the telling one are looked at more closely. */
const MAX_CANDIDATES = 20
/** By how many of its lines, from the first on, a text is compared. */
const MAX_RANKED = 50
/** How alike lines are, from 0 to 1, that are worth showing. */
const LEAST = 0.4

/** Says that a text is not there, and shows what is nearest. */
export const describeNearest = (text: string, wanted: string): string => {
  const lines = linesOf(text.slice(0, MAX_LOOKED_AT))
  const wantedLines = linesOf(wanted)
  const anchor = mostTelling(wantedLines.slice(0, MAX_RANKED))
  const likeness = makeLikeness(wantedLines[anchor]!)
  const candidates: Array<{ readonly index: number; readonly score: number }> = []
  for (const [index, line] of lines.entries()) {
    const worst = candidates.at(-1)
    const least = candidates.length < MAX_CANDIDATES ? LEAST : (worst?.score ?? LEAST)
    const score = likeness(line)
    if (score < LEAST || (candidates.length === MAX_CANDIDATES && score <= least)) continue
    candidates.push({ index, score })
    candidates.sort((one, other) => other.score - one.score)
    candidates.splice(MAX_CANDIDATES)
  }
  const measures = wantedLines.slice(0, MAX_RANKED).map(makeLikeness)
  const best = candidates
    .map(({ index }) => {
      const start = Math.max(0, index - anchor)
      const score = measures.reduce((sum, measure, offset) => sum + measure(lines[start + offset] ?? ""), 0)
      return { start, score }
    })
    .toSorted((one, other) => other.score - one.score)[0]
  if (best === undefined) return "oldText is not in the file, and nothing in it is like it. Read the file again."
  return describe(lines.slice(best.start, best.start + wantedLines.length), best.start + 1, wantedLines)
}

const describe = (found: ReadonlyArray<string>, first: number, wanted: ReadonlyArray<string>): string => {
  const shown = found.slice(0, MAX_LINES).map((line) => (line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)}…` : line))
  const rest = found.length - shown.length
  const where = found.length === 1 ? `line ${first}` : `lines ${first}-${first + found.length - 1}`
  const more = rest > 0 ? `\n… and ${plural(rest, "more line")}` : ""
  return `oldText is not in the file.${hint(found, wanted)} The nearest text is (${where}):\n${shown.join("\n")}${more}`
}

const hint = (found: ReadonlyArray<string>, wanted: ReadonlyArray<string>): string => {
  const equal = (change: (line: string) => string) =>
    found.length === wanted.length && found.every((line, index) => change(line) === change(wanted[index]!))
  if (equal((line) => line.replaceAll(/\s+/g, ""))) return " Only blanks are different."
  if (equal((line) => line.toLowerCase())) return " Only upper and lower case are different."
  return ""
}

const linesOf = (text: string): ReadonlyArray<string> => {
  const lines = text.split(/\r?\n/)
  if (lines.length > 1 && lines.at(-1) === "") lines.pop()
  return lines
}

/** The line with the most in it that is no blank. */
const mostTelling = (lines: ReadonlyArray<string>): number => {
  const lengths = lines.map((line) => line.replaceAll(/\s+/g, "").length)
  return lengths.indexOf(Math.max(...lengths))
}

/** How alike lines are to one: the share of pairs of characters that they have in common (Dice), blanks around aside. */
const makeLikeness = (one: string): ((other: string) => number) => {
  const own = pairsOf(one.trim())
  const total = [...own.values()].reduce((sum, count) => sum + count, 0)
  const trimmed = one.trim()
  return (other) => {
    const line = other.trim()
    if (line === trimmed) return 1
    const length = Math.min(line.length, MAX_COMPARED) - 1
    if (length < 1 || total === 0 || (2 * Math.min(total, length)) / (total + length) < LEAST) return 0
    let common = 0
    for (const [pair, count] of pairsOf(line)) common += Math.min(count, own.get(pair) ?? 0)
    return (2 * common) / (total + length)
  }
}

const MAX_COMPARED = 400

const pairsOf = (text: string): Map<number, number> => {
  const pairs = new Map<number, number>()
  for (let at = 0; at < Math.min(text.length, MAX_COMPARED) - 1; at++) {
    const pair = text.charCodeAt(at) * 0x10000 + text.charCodeAt(at + 1)
    pairs.set(pair, (pairs.get(pair) ?? 0) + 1)
  }
  return pairs
}
