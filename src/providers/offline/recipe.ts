/**
 * How an answer is worked out: a recipe yields the calls that it wants made and returns its text.
 *
 * A recipe keeps nothing between requests. Each request follows it anew from its start; the calls that the transcript
 * already has results for are answered from there, and the first ones that it has none for are the next step. So a
 * recipe reads as if it waited for its tools, and ends after as many rounds as it yields.
 */
import type * as Schema from "effect/Schema"
import { cut, firstLine, quote, splitLines } from "./quote.ts"

/** A call that is wanted. Two calls with equal names and arguments are one. */
export interface Call {
  readonly name: "read" | "ls" | "grep" | "bash"
  readonly arguments: { readonly [name: string]: Schema.Json }
}

export const read = (path: string, range?: { readonly offset?: number; readonly limit?: number }): Call => ({
  name: "read",
  arguments: { path, ...range }
})

export const ls = (path?: string): Call => ({ name: "ls", arguments: path === undefined ? {} : { path } })

export const grep = (pattern: string, options?: { readonly [name: string]: Schema.Json }): Call => ({
  name: "grep",
  arguments: { pattern, ...options }
})

export const bash = (command: string): Call => ({ name: "bash", arguments: { command } })

/** A word for the shell that means only itself. */
export const shellWord = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** What became of a call. `Unavailable`: it cannot be made in this run, and `text` says why. */
export interface Outcome {
  readonly _tag: "Done" | "Failed" | "Unavailable"
  readonly call: Call
  readonly text: string
  readonly hasImage?: boolean
}

/** Yields calls, is given their outcomes in the same order, and returns the answer. */
export type Recipe<A = string> = Generator<ReadonlyArray<Call>, A, ReadonlyArray<Outcome>>

type Outcomes<Calls> = { readonly [K in keyof Calls]: Outcome }

/** Has some calls made at once. */
export function* ask<const Calls extends ReadonlyArray<Call>>(...calls: Calls): Recipe<Outcomes<Calls>> {
  return calls.length === 0 ? ([] as Outcomes<Calls>) : ((yield calls) as Outcomes<Calls>)
}

/** A recipe that needs no tool. */
export function* say(text: string): Recipe {
  return text
}

const errands: { readonly [Name in Call["name"]]: (args: Call["arguments"]) => string } = {
  read: ({ path }) => `read ${path}`,
  ls: ({ path }) => `list ${path ?? "this folder"}`,
  grep: ({ pattern, path }) => `search ${path ?? "this folder"} for "${pattern}"`,
  bash: ({ command }) => `run \`${command}\``
}

/** What a call was to do: "read a.txt". */
const errand = (call: Call): string => cut(firstLine(errands[call.name](call.arguments)))

/** Says why an outcome is no success, in the words of whoever refused it. */
export const complain = ({ _tag, call, text }: Outcome): string => {
  if (_tag === "Unavailable") return `I cannot ${errand(call)}: ${text}`
  const lines = splitLines(text.trim())
  if (text.trim() === "") return `I could not ${errand(call)}, and was not told why.`
  if (lines.length === 1 && /^(?:cannot|could not) /i.test(lines[0]!)) return cut(lines[0]!)
  return lines.length === 1
    ? `I could not ${errand(call)}: ${cut(lines[0]!)}`
    : `I could not ${errand(call)}:\n\n${quote(lines, 15)}`
}
