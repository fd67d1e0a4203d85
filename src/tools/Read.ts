/**
 * The tool that reads a file: a page of lines of a text, or a whole image.
 *
 * A file is read from its start to the end of the page and no further, in memory that depends neither on its size nor on
 * the length of its lines. What is no file is never opened: opening a named pipe would wait for a writer.
 */
import * as Effect from "effect/Effect"
import * as Base64 from "effect/encoding/Base64"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Tool from "../Tool.ts"
import * as Lines from "./internal/lines.ts"
import { cannot, find, type Found, kind } from "./internal/paths.ts"
import { count, failure, orElse, plural, result, showName } from "./internal/text.ts"
import type { Workspace } from "./Workspace.ts"

/** How many lines one call gives at most, and by default. */
export const MAX_LINES = 2000
/** How many bytes of text one call gives at most. */
export const MAX_BYTES = 50 * 1024
/** How many bytes of a line are given; the rest of the line is cut. */
export const MAX_LINE_BYTES = 4000
/** How large an image may be. As base64 it stays under the 5 MB that providers take. */
export const MAX_IMAGE_BYTES = 3.5 * 1024 * 1024

const CHUNK_BYTES = 256 * 1024

const Parameters = Schema.Struct({
  path: Schema.String.annotate({ description: "The file, relative to the working directory or absolute" }),
  offset: Schema.optionalKey(
    Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)).annotate({
      description: "The first line to read, counted from 1 (default 1)"
    })
  ),
  limit: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: MAX_LINES })).annotate({
      description: `How many lines to read (default and most: ${MAX_LINES})`
    })
  )
})

export const tool: Tool.Tool<typeof Parameters.Type, FileSystem.FileSystem | Workspace> = Tool.make({
  name: "read",
  description:
    "Read a file. Of a text file, one call gives at most " +
    `${MAX_LINES} lines and ${MAX_BYTES / 1024} KB, whichever is reached first; a note at the end says from which ` +
    `offset to read on. Lines longer than ${MAX_LINE_BYTES} bytes are cut. Images (PNG, JPEG, GIF, WebP) up to ` +
    `${MAX_IMAGE_BYTES / 1024 / 1024} MB are shown as images. For folders use ls.`,
  parameters: Parameters,
  execute: Effect.fnUntraced(function* ({ path, offset = 1, limit = MAX_LINES }) {
    const found = yield* find(path)
    if (found.info.type !== "File") return yield* failure(noFile(path, found))
    return yield* readFile(path, found, offset, limit)
  })
})

const noFile = (given: string, { info }: Found): string => {
  const is = `${showName(given)} is ${kind(info)}, not a file`
  switch (info.type) {
    case "Directory":
      return `${is}. Use ls to list it, or read a file in it.`
    case "FIFO":
    case "Socket":
      return `${is}: reading it could wait for ever. Use bash with a timeout if you need what comes out of it.`
    default:
      return `${is}: it may have no end. Use bash with \`head -c\` to see some of it.`
  }
}

const readFile = Effect.fnUntraced(
  function* (given: string, found: Found, offset: number, limit: number) {
    const fs = yield* FileSystem.FileSystem
    const file = yield* fs.open(found.path)
    const first = yield* file.readAlloc(CHUNK_BYTES)
    const mimeType = Option.flatMap(first, imageType)
    if (Option.isSome(mimeType)) return yield* readImage(given, found, mimeType.value)

    const page = makePage(offset, limit)
    let chunk = first
    while (Option.isSome(chunk)) {
      if (chunk.value.includes(0)) return yield* failure(binary(given, found))
      if (page.push(chunk.value)) break
      chunk = yield* file.readAlloc(CHUNK_BYTES)
    }
    if (Option.isNone(chunk)) page.end()

    if (offset > 1 && offset > page.seen()) {
      return yield* failure(`Offset ${offset} is past the end: ${showName(given)} has ${plural(page.seen(), "line")}.`)
    }
    return render(page, offset)
  },
  Effect.scoped,
  (effect, given) => Effect.catchTag(effect, "PlatformError", (error) => cannot("read", given)(error))
)

const binary = (given: string, { info }: Found): string =>
  `${showName(given)} is a binary file (${count(Number(info.size))} bytes): it has NUL bytes. Use bash with \`file\`, ` +
  "`strings` or `xxd` to look into it, or `iconv` if it is a text in UTF-16."

// ---------------------------------------------------------------------------------------------------------------------
// Text
// ---------------------------------------------------------------------------------------------------------------------

interface Page {
  /** Takes the next bytes of the file; true if no more are needed. */
  readonly push: (chunk: Uint8Array) => boolean
  /** The file has ended. */
  readonly end: () => void
  /** How many lines of the file were seen. */
  readonly seen: () => number
  readonly lines: ReadonlyArray<Lines.Line>
  /** Whether the file goes on after the lines. */
  readonly hasMore: () => boolean
}

const makePage = (offset: number, limit: number): Page => {
  const splitter = Lines.make(MAX_LINE_BYTES, offset - 1)
  const lines: Array<Lines.Line> = []
  let bytes = 0
  let isFull = false

  const add = (line: Lines.Line) => {
    bytes += line.bytes + 1
    isFull ||= lines.length === limit || bytes > MAX_BYTES
    if (!isFull) lines.push(line)
  }

  return {
    push: (chunk) => {
      splitter.push(chunk).forEach(add)
      // One byte after the last line tells that there is more; none, that the file may end here.
      isFull ||= lines.length === limit && splitter.pending() > 0
      return isFull
    },
    end: () => {
      const last = splitter.end()
      if (last !== undefined) add(last)
    },
    seen: () => splitter.count(),
    lines,
    hasMore: () => isFull
  }
}

const render = (page: Page, offset: number): Tool.ToolResult => {
  const { lines } = page
  const details = {
    offset,
    lines: lines.length,
    truncated: page.hasMore(),
    ...(page.hasMore() ? { nextOffset: offset + lines.length } : { totalLines: page.seen() })
  }
  if (lines.length === 0) return result("(empty file)", details)

  const notes: Array<string> = []
  if (page.hasMore()) {
    const next = offset + lines.length
    notes.push(`Lines ${offset}-${next - 1}. The file goes on: use offset ${next} to read on.`)
  } else if (offset > 1) {
    notes.push(`Lines ${offset}-${page.seen()}, the end of the file.`)
  }
  if (lines.some((line) => line.isCut)) notes.push(`Lines that end in "${CUT}" are longer: use bash to see the rest.`)
  if (lines.some((line) => line.isCrlf)) notes.push("Lines end with CR LF.")

  const text = lines.map((line) => (line.isCut ? line.text + CUT : line.text)).join("\n")
  const body = orElse(offset === 1 && text.startsWith(BOM) ? text.slice(1) : text, blank(lines.length))
  return result(notes.length === 0 ? body : `${body}\n\n[${notes.join(" ")}]`, details)
}

const blank = (lines: number): string => `(${plural(lines, "blank line")})`

const BOM = "\ufeff"
const CUT = `… [cut after ${MAX_LINE_BYTES} bytes]`

// ---------------------------------------------------------------------------------------------------------------------
// Images
// ---------------------------------------------------------------------------------------------------------------------

const imageType = (start: Uint8Array): Option.Option<string> => {
  const magic = String.fromCharCode(...start.subarray(0, 12))
  if (magic.startsWith("\x89PNG\r\n\x1a\n")) return Option.some("image/png")
  if (magic.startsWith("\xff\xd8\xff")) return Option.some("image/jpeg")
  if (magic.startsWith("GIF87a") || magic.startsWith("GIF89a")) return Option.some("image/gif")
  if (magic.startsWith("RIFF") && magic.endsWith("WEBP")) return Option.some("image/webp")
  return Option.none()
}

const readImage = Effect.fnUntraced(function* (given: string, { path, info }: Found, mimeType: string) {
  const fs = yield* FileSystem.FileSystem
  const size = Number(info.size)
  if (size > MAX_IMAGE_BYTES) {
    return yield* failure(
      `${showName(given)} is an image (${mimeType}) of ${count(size)} bytes; at most ${count(MAX_IMAGE_BYTES)} can be ` +
        "shown. Make a smaller copy with bash and read that."
    )
  }
  const data = Base64.encode(yield* fs.readFile(path))
  const content = [
    { type: "text", text: `${mimeType}, ${count(size)} bytes` },
    { type: "image", data, mimeType }
  ] as const
  return { content, details: { mimeType, bytes: size } } satisfies Tool.ToolResult
})
