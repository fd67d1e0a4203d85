/**
 * The tool that changes parts of a file: one or several texts, each found exactly once, are replaced by others. All are
 * replaced or none is, and every byte that is not replaced stays: line endings, byte order mark, bytes that are no text.
 */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import type * as Path from "effect/Path"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Tool from "../Tool.ts"
import { toBytes, toText } from "./internal/bytes.ts"
import * as Changes from "./internal/changes.ts"
import { editsOf } from "./internal/diff.ts"
import * as Formats from "./internal/formats.ts"
import { isThere } from "./internal/paths.ts"
import { replaceFile } from "./internal/replace.ts"
import * as Replacements from "./internal/replacements.ts"
import { count, failure, plural, result, showName } from "./internal/text.ts"
import type { Workspace } from "./Workspace.ts"

/** How large a file may be, in bytes. */
export const MAX_BYTES = 8 * 1024 * 1024
/** How many replacements one call may have. */
export const MAX_EDITS = 100

const Parameters = Schema.Struct({
  path: Schema.String.annotate({ description: "The file, relative to the working directory or absolute" }),
  edits: Schema.Array(
    Schema.Struct({
      oldText: Schema.String.annotate({ description: "The text to replace, exactly as it is in the file" }),
      newText: Schema.String.annotate({ description: "The text to put in its place" }),
      all: Schema.optionalKey(
        Schema.Boolean.annotate({ description: "Replace every place where oldText is (default false)" })
      )
    })
  )
    .check(Schema.isMinLength(1), Schema.isMaxLength(MAX_EDITS))
    .annotate({ description: `The replacements (at most ${MAX_EDITS}), each against the file as it is now` })
})

const isObject = (args: Schema.Json): args is Schema.JsonObject => Predicate.isObject(args)

/** One replacement beside the path, as other tools have it. */
const prepareArguments = (args: Schema.Json): unknown => {
  if (!isObject(args) || !("oldText" in args) || "edits" in args) return args
  const { path, ...edit } = args
  return { path, edits: [edit] }
}

export const tool: Tool.Tool<typeof Parameters.Type, FileSystem.FileSystem | Path.Path | Workspace> = Tool.make({
  name: "edit",
  description:
    "Replace parts of a text file. Each oldText must be in the file exactly once, or have `all` set: give enough of the " +
    "text around it. Several edits in one call are all made or none is; they must not overlap, and each is looked for in " +
    "the file as it was before. Where oldText is not found, differences in line endings, blanks at the ends of lines and " +
    "typographic quotes are ignored if that is unique, and the result says so. New lines get the line endings of the " +
    "file. A file that was changed on disk since you last read or wrote it is not edited: read it again first. Files " +
    `over ${MAX_BYTES / 1024 / 1024} MB are not edited: use bash for them.`,
  parameters: Parameters,
  prepareArguments,
  exclusive: Changes.exclusive,
  execute: Effect.fnUntraced(function* ({ edits, path }) {
    const location = yield* Changes.locateForChange(path)
    if (!isThere(location)) {
      return yield* failure(`Cannot edit ${showName(path)}: there is no such file. Use write to create it.`)
    }
    const { content, info } = yield* Changes.readBytes(location, "edit", MAX_BYTES)
    if (content.length > MAX_BYTES) {
      const size = count(Math.max(Number(info.size), content.length))
      return yield* failure(
        `${showName(path)} has ${size} bytes; files of at most ${count(MAX_BYTES)} can be edited. Use bash for it.`
      )
    }
    const format = Formats.nameOf(content)?.name ?? (content.includes(0) ? "a binary file" : undefined)
    if (format !== undefined) {
      return yield* failure(`${showName(path)} is ${format}, which cannot be edited. Use bash for it.`)
    }
    yield* Changes.checkUnchanged(location, { info, content }, "edited")

    const before = toText(content)
    const found = Replacements.find(before, edits.map(wellFormed))
    if (Result.isFailure(found)) return yield* failure(`${showName(path)} was not edited. ${found.failure}`)
    const after = Replacements.apply(before, found.success.changes)
    if (after === before) {
      return yield* failure(`${showName(path)} was not edited: the edits change nothing in it.`)
    }
    yield* replaceFile(location, toBytes(after), "edit")
    return render(path, before, found.success)
  })
})

const wellFormed = ({ newText, oldText, ...rest }: Replacements.Replacement): Replacements.Replacement => ({
  oldText: oldText.toWellFormed(),
  newText: newText.toWellFormed(),
  ...rest
})

// ---------------------------------------------------------------------------------------------------------------------
// The result
// ---------------------------------------------------------------------------------------------------------------------

/** How many places are named by their lines. */
const MAX_NAMED = 20

const render = (path: string, before: string, { changes, matches }: Replacements.Outcome) => {
  const edits = editsOf(before, changes)
  const lines = Changes.countChanges(edits)
  const places = changes.slice(0, MAX_NAMED).map(({ start }) => Replacements.lineAt(before, start))
  const more = changes.length > MAX_NAMED ? ", …" : ""
  const where = `line${changes.length === 1 ? "" : "s"} ${places.join(", ")}${more}`
  const notes = matches.flatMap((match, index) => {
    const which = matches.length === 1 ? "oldText" : `The oldText of edit ${index + 1}`
    return match === "exact" ? [] : [`${which} was found with ${IGNORED[match]} ignored.`]
  })
  const summary =
    `Edited ${showName(path)}: ${plural(changes.length, "replacement")} (${where}), ` +
    `${plural(lines.added, "line")} added and ${count(lines.removed)} removed.`
  return result([summary, ...notes].join(" "), {
    replacements: changes.length,
    matches: [...matches],
    ...lines,
    ...Changes.diffOf(edits, path)
  })
}

const IGNORED = {
  lineEndings: "line endings",
  blanksAndQuotes: "blanks at the ends of lines, typographic quotes and line endings"
}
