/**
 * The difference that known changes make to a text, line by line: only the lines that they touch are compared.
 */
import * as TextDiff from "effect/TextDiff"
import type { Change } from "./replacements.ts"

/** Lines with their ends, as `TextDiff` has them. */
const linesOf = (text: string): Array<string> => {
  const lines: Array<string> = []
  for (let from = 0, end = 0; from < text.length; from = end) {
    end = text.indexOf("\n", from) + 1 || text.length
    lines.push(text.slice(from, end))
  }
  return lines
}

export const editsOf = (before: string, changes: ReadonlyArray<Change>): ReadonlyArray<TextDiff.Edit<string>> => {
  const edits: Array<TextDiff.Edit<string>> = []
  let at = 0
  for (let first = 0; first < changes.length;) {
    const { end, last, start } = regionOf(before, changes, first)
    const after = changed(before, start, end, changes.slice(first, last + 1))
    edits.push({ _tag: "Equal", items: linesOf(before.slice(at, start)) })
    edits.push(...TextDiff.lines(before.slice(start, end), after, { maxEdits: 200 }))
    at = end
    first = last + 1
  }
  edits.push({ _tag: "Equal", items: linesOf(before.slice(at)) })
  return edits.filter(({ items }) => items.length > 0)
}

/** The whole lines that changes touch, and become whole lines: from the change `first` on to the change `last`. */
const regionOf = (text: string, changes: ReadonlyArray<Change>, first: number) => {
  const change = changes[first]!
  const start = change.start === 0 ? 0 : text.lastIndexOf("\n", change.start - 1) + 1
  let last = first
  let end = change.end
  const isWhole = () => {
    const { end: lastEnd, newText } = changes[last]!
    const isDeletion = newText === "" && last === first && start === change.start
    return text[end - 1] === "\n" && (lastEnd < end || newText.endsWith("\n") || isDeletion)
  }
  while (end < text.length && !isWhole()) {
    end = text.indexOf("\n", end) + 1 || text.length
    while (last + 1 < changes.length && changes[last + 1]!.start < end) last++
    end = Math.max(end, changes[last]!.end)
  }
  return { start, end, last }
}

const changed = (text: string, start: number, end: number, changes: ReadonlyArray<Change>): string => {
  const parts: Array<string> = []
  let at = start
  for (const change of changes) {
    parts.push(text.slice(at, change.start), change.newText)
    at = change.end
  }
  return parts.join("") + text.slice(at, end)
}
