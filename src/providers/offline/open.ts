/**
 * Opening the files that a question means, whatever they are called exactly, and reading what tools say of folders.
 */
import * as Result from "effect/Result"
import { isBareName } from "./names.ts"
import { oneLine, paragraphs, quote, splitLines, takeNote } from "./quote.ts"
import { ask, bash, type Call, complain, ls, type Outcome, read, type Recipe, shellWord } from "./recipe.ts"

/** How many files one question opens. */
export const MAX_FILES = 6

/** A file as far as the tool showed it; `note` is what the tool said of the rest. */
export interface Opened {
  readonly path: string
  readonly lines: ReadonlyArray<string>
  readonly text: string
  readonly note: string | undefined
}

const isMissing = (outcome: Outcome): boolean =>
  outcome._tag === "Failed" && /no such|not found|not exist|ENOENT/i.test(outcome.text)

const opened = (path: string, outcome: Outcome): Opened => {
  const { text: shown, note } = takeNote(outcome.text)
  // A tool has to say something of a file in which there is nothing to see.
  const blank = /^\((?:(\d{1,4}) blank lines?|empty file)\)$/.exec(shown.trim())
  const text = blank === null ? shown : "\n".repeat(Number(blank[1] ?? 0))
  const lines = splitLines(text)
  return { path: oneLine(path), text, note, lines: lines.at(-1) === "" ? lines.slice(0, -1) : lines }
}

/** The lines of a result but for a placeholder such as `(empty folder)` or `(no output)`. */
export const linesOf = (outcome: Outcome): ReadonlyArray<string> =>
  outcome._tag === "Done"
    ? splitLines(takeNote(outcome.text).text).filter((line) => line.trim() !== "" && !/^\([\w ]+\)$/.test(line.trim()))
    : []

/** The names in a listing, without sizes and the targets of links; folders end with a slash. */
export const entriesOf = (listing: Outcome): ReadonlyArray<string> =>
  linesOf(listing).map((line) => line.replace(/@ -> .*$|\s{2,}[\d,]+$/, ""))

/** The shell command that finds files by name, but not in what others installed there. */
export const findCommand = (glob: string, folder = "."): string => {
  const test = glob.includes("/") ? "-ipath" : "-iname"
  const pattern = glob.includes("/") ? `*${glob.replace(/^\.?\//, "")}` : glob
  const start = folder.startsWith("-") ? `./${folder}` : folder
  const skip = "\\( -name node_modules -o -name .git \\) -prune"
  return `find ${shellWord(start)} ${skip} -o -type f ${test} ${shellWord(pattern)} -print`
}

/** The paths that `findCommand` printed, in order, and its complaints, of folders that it may not open. */
export const foundIn = (
  outcome: Outcome
): { readonly paths: ReadonlyArray<string>; readonly complaints: ReadonlyArray<string> } => {
  const lines = linesOf(outcome).filter((line) => !/^\[Exit code \d+\]$/.test(line))
  const isComplaint = (line: string) => line.startsWith("find: ")
  const paths = lines.filter((line) => !isComplaint(line)).map((line) => line.replace(/^\.\//, ""))
  return { paths: paths.toSorted(), complaints: lines.filter(isComplaint) }
}

/** A file that was opened, or the words that say why not. */
export type Attempt = Result.Result<Opened, string>

/**
 * Opens files, all at once. A name without an extension is looked up in the folder ("the readme"); a file that is not
 * where the question says is looked for by its name, and opened if there is one of it.
 */
export function* open(
  names: ReadonlyArray<string>,
  calls: (path: string) => Call = read
): Recipe<ReadonlyArray<Attempt>> {
  const wanted = [...new Set(names)].slice(0, MAX_FILES)
  const listing = wanted.some(isBareName) ? (yield* ask(ls()))[0] : undefined
  const paths = wanted.map((name) =>
    isBareName(name) && listing !== undefined ? resolve(name, entriesOf(listing)) : name
  )
  const outcomes = yield* ask(...paths.map((path) => calls(path)))
  const lost = paths.filter(
    (path, index) => isMissing(outcomes[index]!) && !path.startsWith("/") && !path.includes("..")
  )
  const searches = yield* ask(...lost.map((path) => bash(findCommand(isBareName(path) ? `${path}*` : path))))
  const finds = new Map(lost.map((path, index) => [path, foundIn(searches[index]!).paths]))
  const second = paths.map((path) => (finds.get(path)?.length === 1 ? finds.get(path)![0]! : undefined))
  const retries = second.filter((path) => path !== undefined)
  const again = yield* ask(...retries.map((path) => calls(path)))
  return paths.map((path, index) => {
    const other = second[index]
    return other === undefined
      ? attempt(path, outcomes[index]!, finds.get(path))
      : attempt(other, again[retries.indexOf(other)]!)
  })
}

const resolve = (name: string, entries: ReadonlyArray<string>): string => {
  const stem = name.toLowerCase().replace("licence", "license")
  const fits = (entry: string) => {
    const lower = entry.toLowerCase().replace("licence", "license")
    return lower === stem || lower.startsWith(`${stem}.`)
  }
  return entries.find(fits) ?? name
}

const attempt = (path: string, outcome: Outcome, others: ReadonlyArray<string> = []): Attempt => {
  if (outcome.hasImage === true) return Result.fail(`${oneLine(path)} is an image, and I cannot look at images.`)
  if (outcome._tag === "Done") return Result.succeed(opened(path, outcome))
  return Result.fail(
    others.length < 2
      ? complain(outcome)
      : paragraphs(complain(outcome), `There are ${others.length} files of that name; which one?`, quote(others, 10))
  )
}

/** Says that a file was not shown whole, if so. */
export const noteOf = ({ path, note }: Opened): string | undefined =>
  note === undefined ? undefined : `I was shown only a part of ${path}. The tool said:\n\n${quote([note])}`
