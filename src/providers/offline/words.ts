/**
 * The words of a question that say what it is about, and how they are found again in names and lines. Crude on purpose:
 * "scripts" finds `script`, "depends" finds `dependencies`, "check types" finds `checkTypes`.
 */

const empty = new Set(
  (
    "a an the this that these those it its is are was were be been am i you we they me my your our us he she of in on at to for from by " +
    "with about into as and or but if then than so not no yes do does did done can could would will shall should may might must " +
    "have has had having get got give gives given what which who whom whose where when why how there here any some all every each " +
    "much many more most file folder project repo repository say says said tell tells mention mentions mentioned define defines defined " +
    "contain contains contained content contents list show read find see look know please according written state states set call called " +
    "use uses used need needs work works thing things exactly currently inside"
  ).split(" ")
)

const synonyms: { readonly [word: string]: string } = {
  licence: "license",
  licenced: "license",
  licensed: "license",
  maintainer: "author",
  wrote: "author",
  command: "script",
  commands: "script",
  library: "dependency",
  libraries: "dependency",
  requires: "dependency",
  require: "dependency"
}

/** The parts of a text that are words, in lower case; `checkTypes`, `check-types` and "check types" have the same. */
export const partsOf = (text: string): ReadonlyArray<string> =>
  text
    .replaceAll(/(\p{Ll}|\d)(\p{Lu})/gu, "$1 $2")
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu) ?? []

/** The words that a text is about, each once. */
export const wordsOf = (text: string): ReadonlyArray<string> => {
  const words = partsOf(text).filter((word) => !empty.has(word))
  return [...new Set(words.map((word) => (Object.hasOwn(synonyms, word) ? synonyms[word]! : word)))].slice(0, 12)
}

/** Whether two words are forms of one: equal, or one begins with the other but for its ending. */
const isSame = (left: string, right: string): boolean => {
  if (left === right) return true
  const [short, long] = left.length < right.length ? [left, right] : [right, left]
  return short.length >= 3 && long.startsWith(stem(short)) && long.length - short.length <= 7 && stem(short).length >= 3
}

const stem = (word: string): string =>
  word.length > 4 ? word.replace(/(?:ies|y|ing|ed|es|e|s)$/, "") : word.replace(/s$/, "")

/** How many of the words a list of parts has. */
export const countIn = (words: ReadonlyArray<string>, parts: ReadonlyArray<string>): number =>
  words.filter((word) => parts.some((part) => isSame(word, part))).length
