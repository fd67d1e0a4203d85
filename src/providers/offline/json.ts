/**
 * Answers from JSON: which members a question means, and what they are. Nothing is said that is not a name or a value
 * of the file.
 */
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import { bullets, count, oneLine, paragraphs } from "./quote.ts"
import { countIn, partsOf } from "./words.ts"

export interface Member {
  readonly path: ReadonlyArray<string>
  readonly value: unknown
}

/** How deep and how far a file is searched. */
const MAX_DEPTH = 5
const MAX_MEMBERS = 5000

/** Reads JSON; a file that is none may still be after its comments and last commas are taken out (`tsconfig.json`). */
export const parse = (text: string): Result.Result<unknown, unknown> =>
  Result.orElse(
    Result.try(() => JSON.parse(text) as unknown),
    () => Result.try(() => JSON.parse(withoutComments(text)) as unknown)
  )

const withoutComments = (text: string): string =>
  text
    .replaceAll(/("(?:[^"\\\n]|\\.)*")|\/\/.*|\/\*[^]*?(?:\*\/|$)/g, (_, string) => string ?? "")
    .replaceAll(/("(?:[^"\\\n]|\\.)*")|,(?=\s*[}\]])/g, (_, string) => string ?? "")

const entriesOf = (value: unknown): ReadonlyArray<readonly [string, unknown]> =>
  Predicate.isObjectOrArray(value) ? Object.entries(value) : []

/** The members of a value at any depth, the outer ones first. */
const membersOf = (root: unknown): ReadonlyArray<Member> => {
  const members: Array<Member> = []
  let level: ReadonlyArray<Member> = [{ path: [], value: root }]
  for (let depth = 0; depth < MAX_DEPTH && level.length > 0; depth++) {
    level = level.flatMap(({ path, value }) =>
      entriesOf(value).map(([name, inner]) => ({ path: [...path, name], value: inner }))
    )
    for (const member of level) {
      if (members.length === MAX_MEMBERS) return members
      members.push(member)
    }
  }
  return members
}

/** The members that fit the words best: by name, or where no name fits, by a value that has a word. */
export const find = (root: unknown, words: ReadonlyArray<string>): ReadonlyArray<Member> => {
  const members = membersOf(root)
  const named = best(
    members.map((member) => {
      const own = partsOf(member.path.at(-1)!)
      const hits = countIn(words, own)
      return {
        member,
        rank: hits === 0 ? [0] : [countIn(words, member.path.flatMap(partsOf)), hits / own.length, -member.path.length]
      }
    })
  )
  if (named.length > 0) return named
  return best(
    members.map((member) => ({
      member,
      rank: [typeof member.value === "string" ? countIn(words, partsOf(member.value.slice(0, 1000))) : 0]
    }))
  )
}

interface Ranked {
  readonly member: Member
  /** Compared from the first on; a first of 0 means that the member does not fit. */
  readonly rank: ReadonlyArray<number>
}

const compare = (left: ReadonlyArray<number>, right: ReadonlyArray<number>): number => {
  const index = left.findIndex((value, position) => value !== right[position])
  return index < 0 ? 0 : left[index]! - (right[index] ?? 0)
}

const best = (ranked: ReadonlyArray<Ranked>): ReadonlyArray<Member> => {
  const fitting = ranked.filter(({ rank }) => rank[0]! > 0)
  const top = fitting.reduce<ReadonlyArray<number>>((most, { rank }) => (compare(rank, most) > 0 ? rank : most), [0])
  return fitting.filter(({ rank }) => compare(rank, top) === 0).map(({ member }) => member)
}

const isPlain = (value: unknown): boolean => !Predicate.isObjectOrArray(value)

/** A value in few words: a text as it is, anything with members as their number. */
const brief = (value: unknown): string => {
  if (typeof value === "string") return oneLine(value)
  if (isPlain(value)) return String(value)
  const entries = entriesOf(value)
  if (entries.length === 0) return Array.isArray(value) ? "[]" : "{}"
  return Array.isArray(value) && value.every(isPlain) && value.length <= 8
    ? oneLine(value.map(String).join(", "))
    : count(entries.length, Array.isArray(value) ? "element" : "member")
}

export const describe = (file: string, { path, value }: Member): string => {
  const name = oneLine(path.join("."))
  if (typeof value === "string") return `${file} says ${name}: "${oneLine(value)}".`
  if (isPlain(value)) return `${file} says ${name}: ${String(value)}.`
  const entries = entriesOf(value)
  if (entries.length === 0) return `${file} has ${name}, which is empty.`
  const items = Array.isArray(value) ? value.map(brief) : entries.map(([key, inner]) => `${key}: ${brief(inner)}`)
  const isPlural = path.length === 1 && items.length > 1 && /^[a-z]+[^s\W]s$/i.test(name)
  const amount = isPlural
    ? count(items.length, name.replace(/ies$/, "y").replace(/s$/, ""), name)
    : `${name} with ${count(items.length, Array.isArray(value) ? "element" : "member")}`
  return paragraphs(`${file} has ${amount}:`, bullets(items))
}

/** The members of a file, without what is in them. */
export const outline = (file: string, value: unknown): string => {
  const entries = entriesOf(value)
  if (isPlain(value)) return `${file} is one JSON value: ${brief(value)}`
  if (entries.length === 0) return `${file} is empty: ${brief(value)}.`
  if (Array.isArray(value))
    return paragraphs(`${file} is a JSON array of ${count(entries.length, "element")}:`, bullets(value.map(brief), 10))
  return paragraphs(
    `${file} is a JSON object with ${count(entries.length, "member")}:`,
    bullets(entries.map(([name, inner]) => `${name}: ${brief(inner)}`))
  )
}
