/**
 * Patterns as in ignore files, for names that are to be kept closed. Where a disk takes several spellings for one name
 * (upper and lower case, invisible characters, dots at the end), a pattern closes them all.
 */
import * as Glob from "effect/Glob"

/** The pattern that closes a path, given by its names from a folder down; none if it is open. */
export type Patterns = (names: ReadonlyArray<string>) => string | undefined

interface Rule {
  readonly pattern: string
  readonly isLifting: boolean
  /** Whether the pattern is a path from the folder, and no name at any depth. */
  readonly isPath: boolean
  readonly glob: Glob.Glob
}

export const make = (patterns: ReadonlyArray<string>): Patterns => {
  const rules = patterns.map(toRule)
  const hasPaths = rules.some((rule) => rule.isPath)
  /** The rules that a name meets wherever it is: a search comes across the same names again and again. */
  const met = new Map<string, ReadonlyArray<Rule>>()

  const rulesOf = (name: string): ReadonlyArray<Rule> => {
    let found = met.get(name)
    if (found === undefined) {
      if (met.size === MAX_REMEMBERED) met.clear()
      met.set(name, (found = rules.filter(({ glob, isPath }) => isPath || Glob.match(glob, name))))
    }
    return found
  }

  /** A folder that is closed closes all that is in it; of several patterns for one name the last one counts. */
  return (names) => {
    const folded = names.map(fold)
    for (let depth = 1; depth <= names.length; depth++) {
      const path = hasPaths ? folded.slice(0, depth).join("/") : ""
      const rule = rulesOf(folded[depth - 1]!).findLast(({ glob, isPath }) => !isPath || Glob.match(glob, path))
      if (rule !== undefined && !rule.isLifting) return rule.pattern
    }
    return undefined
  }
}

const MAX_REMEMBERED = 10_000

const toRule = (pattern: string): Rule => {
  const isLifting = pattern.startsWith("!")
  const body = (isLifting ? pattern.slice(1) : pattern).replace(/\/+$/, "")
  return {
    pattern,
    isLifting,
    isPath: body.includes("/"),
    glob: Glob.make(body.replace(/^\/+/, "").normalize("NFC").toLowerCase(), { dot: true })
  }
}

const fold = (name: string): string =>
  name
    .normalize("NFC")
    .toLowerCase()
    .replaceAll(/[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g, "")
    .replace(/[. ]+$/, "")
