/**
 * The tool that reads a file: a page of lines of a text, or a whole image.
 *
 * A file is read from its start to the end of the page and no further, in memory that depends neither on its size nor on
 * the length of its lines. What is no file is never opened: opening a named pipe would wait for a writer.
 */
import * as Effect from "effect/Effect"
import * as Base64 from "effect/encoding/Base64"
import type * as FileSystem from "effect/FileSystem"
import * as Schema from "effect/Schema"
import * as Tool from "../Tool.ts"
import * as Formats from "./internal/formats.ts"
import * as Images from "./internal/images.ts"
import { openFile, type Opened, readAll } from "./internal/open.ts"
import * as Page from "./internal/page.ts"
import { cannot, find, type Found, kind } from "./internal/paths.ts"
import { MAX_KEPT_FILE, type Snapshot } from "./internal/seen.ts"
import { count, failure, orElse, plural, result, showName } from "./internal/text.ts"
import { Workspace } from "./Workspace.ts"

/** How many lines one call gives at most, and by default. */
export const MAX_LINES = 2000
/** How many bytes of text one call gives at most. */
export const MAX_BYTES = 50 * 1024
/** How many bytes of a line are given; the rest of the line is cut. */
export const MAX_LINE_BYTES = 4000
/** The longer side, in pixels, of an image as it is shown, and the greatest size of its file. */
export const MAX_IMAGE_SIDE = Images.MAX_SIDE
export const MAX_IMAGE_BYTES = Images.MAX_FILE_BYTES

const CHUNK_BYTES = MAX_KEPT_FILE

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
  ),
  lineNumbers: Schema.optionalKey(
    Schema.Boolean.annotate({ description: "Whether to begin each line with its number and a tab (default false)" })
  )
})

export const tool: Tool.Tool<typeof Parameters.Type, FileSystem.FileSystem | Workspace> = Tool.make({
  name: "read",
  description:
    "Read a file. Of a text file, one call gives at most " +
    `${MAX_LINES} lines and ${MAX_BYTES / 1024} KB, whichever is reached first; a note at the end says from which ` +
    `offset to read on. Lines longer than ${MAX_LINE_BYTES} bytes are cut. Images (PNG, JPEG, GIF, WebP, TIFF, AVIF) up ` +
    `to ${MAX_IMAGE_BYTES / 1024 / 1024} MB are shown as images, at most ${MAX_IMAGE_SIDE} pixels wide and high. ` +
    "Other binary files and PDFs are not shown. For folders use ls.",
  parameters: Parameters,
  execute: Effect.fnUntraced(function* ({ lineNumbers = false, limit = MAX_LINES, offset = 1, path }) {
    const found = yield* find(path)
    if (found.info.type !== "File") return yield* failure(noFile(path, found))
    const keep = (yield* Workspace).seen.begin(found.path)
    return yield* readFile(found, { first: offset, limit, lineNumbers }, keep)
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

interface Wish {
  readonly first: number
  readonly limit: number
  readonly lineNumbers: boolean
}

const readFile = Effect.fnUntraced(
  function* (found: Found, wish: Wish, keep: (snapshot: Snapshot) => void) {
    const opened = yield* openFile(found, "read")
    const { file, info } = opened
    const size = Number(info.size)
    // One byte more than a small file has: then its end is seen at once.
    const buffer = new Uint8Array(size > 0 && size < CHUNK_BYTES ? size + 1 : CHUNK_BYTES)
    let read = yield* file.read(buffer)
    const start = buffer.subarray(0, read)
    const mimeType = Images.typeOf(start)
    if (mimeType !== undefined) return yield* readImage(found, opened, mimeType, keep)

    const isWhole = read === size && read < buffer.length
    const format = Formats.nameOf(start)
    const page = Page.make(wish.first, { lines: wish.limit, bytes: MAX_BYTES, lineBytes: MAX_LINE_BYTES })
    while (read > 0) {
      if (format !== undefined || page.push(buffer.subarray(0, read)) || isWhole || page.isBinary()) break
      read = yield* file.read(buffer)
    }
    if (!page.hasMore()) page.end()
    const raw = page.text(CUT)
    if (format !== undefined || page.isBinary() || raw.includes("\0")) {
      return yield* failure(binary(found, info, format))
    }

    if (wish.first > 1 && wish.first > page.seen()) {
      const has = `${showName(found.given)} has ${plural(page.seen(), "line")}`
      return yield* failure(`Offset ${wish.first} is past the end: ${has}.`)
    }
    keep({ info, content: isWhole ? start : undefined })
    return render(page, raw, wish)
  },
  Effect.scoped,
  (effect, { given }) => Effect.catchTag(effect, "PlatformError", (error) => cannot("read", given)(error))
)

const binary = ({ given }: Found, { size }: FileSystem.File.Info, format: Formats.Format | undefined): string =>
  `${showName(given)} is ${format?.name ?? "a binary file"} (${count(Number(size))} bytes)` +
  (format?.advice ?? ": it has NUL bytes. Use bash with `file`, `strings` or `xxd` to look into it.")

// ---------------------------------------------------------------------------------------------------------------------
// Text
// ---------------------------------------------------------------------------------------------------------------------

const render = (page: Page.Page, raw: string, { first, lineNumbers }: Wish): Tool.ToolResult => {
  const lines = page.lines()
  const next = first + lines
  const details = {
    offset: first,
    lines,
    truncated: page.hasMore(),
    ...(page.hasMore() ? { nextOffset: next } : { totalLines: page.seen() }),
    ...(page.hasCuts() && { hasCutLines: true })
  }
  if (lines === 0) return result("(empty file)", details)

  const notes: Array<string> = []
  if (page.hasMore()) {
    notes.push(`Lines ${first}-${next - 1}. The file goes on: use offset ${next} to read on.`)
  } else if (first > 1) {
    notes.push(`Lines ${first}-${page.seen()}, the end of the file.`)
  }
  if (page.hasCuts()) notes.push(`Lines that end in "${CUT}" are longer: use bash to see the rest.`)
  if (raw.includes("\r\n")) notes.push("Lines end with CR LF.")
  if (raw.includes("\ufffd")) notes.push("Bytes that are not UTF-8 are shown as \ufffd.")

  const text = raw.replaceAll("\r\n", "\n").replace(/\n$/, "")
  const shown = first === 1 && text.startsWith(BOM) ? text.slice(1) : text
  const body = lineNumbers ? numbered(shown, first) : orElse(shown, `(${plural(lines, "blank line")})`)
  return result(notes.length === 0 ? body : `${body}\n\n[${notes.join(" ")}]`, details)
}

const numbered = (text: string, first: number): string =>
  text
    .split("\n")
    .map((line, index) => `${first + index}\t${line}`)
    .join("\n")

const BOM = "\ufeff"
const CUT = `… [cut after ${MAX_LINE_BYTES} bytes]`

// ---------------------------------------------------------------------------------------------------------------------
// Images
// ---------------------------------------------------------------------------------------------------------------------

const readImage = Effect.fnUntraced(function* (
  { given }: Found,
  opened: Opened,
  mimeType: string,
  keep: (snapshot: Snapshot) => void
) {
  const { file, info } = opened
  const size = Number(info.size)
  const is = `${showName(given)} is an image (${mimeType}) of ${count(size)} bytes`
  if (size > MAX_IMAGE_BYTES) {
    return yield* failure(
      `${is}; at most ${count(MAX_IMAGE_BYTES)} can be read. Make a smaller copy with bash and read that.`
    )
  }
  yield* file.seek(0n, "start")
  const bytes = yield* readAll(opened, MAX_IMAGE_BYTES)
  const image = yield* Effect.mapError(Images.prepare(bytes, mimeType), (error) =>
    failure(`${is}, but ${error.message}.`, error)
  )
  keep({ info, content: bytes })
  const { height, original, width } = image
  const shown = original && `, shown as ${image.mimeType} of ${width} × ${height}`
  const text = `${mimeType}, ${count(size)} bytes, ${original?.width ?? width} × ${original?.height ?? height} pixels`
  const content = [
    { type: "text", text: text + (shown ?? "") },
    { type: "image", data: Base64.encode(image.data), mimeType: image.mimeType }
  ] as const
  const details = { mimeType: image.mimeType, bytes: image.data.length, width, height, originalBytes: size }
  return { content, details: { ...details, ...(original && { original }) } } satisfies Tool.ToolResult
})
