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
  /** What a name must begin with, up to the first wildcard: most names are told apart by it, which is far cheaper. */
  readonly start: string
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
      met.set(name, (found = rules.filter((rule) => rule.isPath || meets(rule, name))))
    }
    return found
  }

  /** A folder that is closed closes all that is in it; of several patterns for one name the last one counts. */
  return (names) => {
    const folded = names.map(fold)
    for (let depth = 1; depth <= names.length; depth++) {
      const path = hasPaths ? folded.slice(0, depth).join("/") : ""
      const rule = rulesOf(folded[depth - 1]!).findLast((one) => !one.isPath || meets(one, path))
      if (rule !== undefined && !rule.isLifting) return rule.pattern
    }
    return undefined
  }
}

const MAX_REMEMBERED = 10_000

const toRule = (pattern: string): Rule => {
  const isLifting = pattern.startsWith("!")
  const body = (isLifting ? pattern.slice(1) : pattern).replace(/\/+$/, "")
  const folded = body.replace(/^\/+/, "").normalize("NFC").toLowerCase()
  const isPath = body.includes("/")
  return {
    pattern,
    isLifting,
    isPath,
    glob: Glob.make(folded, { dot: true }),
    // Of a path `./` and `//` count for nothing.
    start: isPath ? "" : (/^[^*?[\]{}\\]*/.exec(folded)?.[0] ?? "")
  }
}

const meets = ({ glob, start }: Rule, name: string): boolean => name.startsWith(start) && Glob.match(glob, name)

const fold = (name: string): string =>
  (isPlain.test(name)
    ? name.toLowerCase()
    : name
        .normalize("NFC")
        .toLowerCase()
        .replaceAll(/[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g, "")
  ).replace(/[. ]+$/, "")

const isPlain = /^[ -~]*$/
