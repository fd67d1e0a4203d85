/**
 * What an edit must do, worked out on bytes: an oracle for the tool, which works on text. A file is a list of tokens (a
 * line ending, a character, a byte), an old text is looked for at every token, and the pieces are put together again.
 */
export interface Edit {
  readonly oldText: string
  readonly newText: string
  readonly all?: boolean
}

export type Level = "exact" | "lineEndings" | "blanksAndQuotes"

/** The bytes afterwards and how each old text was found; or nothing, if the edits must be refused. */
export type Expected = { readonly bytes: Buffer; readonly levels: ReadonlyArray<Level> } | undefined

interface Span {
  readonly start: number
  readonly end: number
}

interface Token extends Span {
  readonly key: string
}

const [LF, CR, SPACE, TAB] = [10, 13, 32, 9]
const levels: ReadonlyArray<Level> = ["exact", "lineEndings", "blanksAndQuotes"]

export const expected = (file: Buffer, edits: ReadonlyArray<Edit>): Expected => {
  const pieces: Array<Span & { readonly by: Buffer }> = []
  const used: Array<Level> = []
  for (const { all = false, newText, oldText } of edits) {
    if (oldText === "" || oldText === newText) return undefined
    const old = Buffer.from(oldText)
    const level = levels.find((one) => spansOf(file, old, one).length > 0)
    if (level === undefined) return undefined
    const spans = spansOf(file, old, level)
    if (spans.length > 1 && (!all || level === "blanksAndQuotes")) return undefined
    used.push(level)
    let end = -1
    for (const span of spans) {
      if (span.start < end) continue
      end = span.end
      const isLiteral = level === "exact" && (old.includes(CR) || newText.includes("\r"))
      pieces.push({ ...span, by: isLiteral ? Buffer.from(newText) : withEndings(file, span.start, newText) })
    }
  }
  pieces.sort((one, other) => one.start - other.start || one.end - other.end)
  const parts: Array<Buffer> = []
  let at = 0
  for (const { by, end, start } of pieces) {
    if (start < at) return undefined
    parts.push(file.subarray(at, start), by)
    at = end
  }
  const bytes = Buffer.concat([...parts, file.subarray(at)])
  return bytes.equals(file) ? undefined : { bytes, levels: used }
}

const spansOf = (file: Buffer, old: Buffer, level: Level): ReadonlyArray<Span> => {
  const spans: Array<Span> = []
  if (level === "exact") {
    for (let at = 0; at + old.length <= file.length; at++) {
      if (file.compare(old, 0, old.length, at, at + old.length) !== 0) continue
      spans.push({ start: old[0] === LF && file[at - 1] === CR ? at - 1 : at, end: at + old.length })
    }
    return spans
  }
  const tokens = tokensOf(file, level)
  const wanted = tokensOf(old, level)
  if (wanted.length === 0) return []
  const endsBlank = level === "blanksAndQuotes" && isBlank(old.at(-1))
  for (let at = 0; at + wanted.length <= tokens.length; at++) {
    if (!wanted.every(({ key }, index) => tokens[at + index]!.key === key)) continue
    const next = tokens[at + wanted.length]
    if (endsBlank && next !== undefined && next.key !== "\n") continue
    let { end } = tokens[at + wanted.length - 1]!
    if (endsBlank) while (isBlank(file[end])) end++
    spans.push({ start: tokens[at]!.start, end })
  }
  return spans
}

const isBlank = (byte: number | undefined) => byte === SPACE || byte === TAB

const quotes: Record<string, string> = Object.fromEntries([
  ...[..."‘’‚‛′"].map((quote) => [quote, "'"]),
  ...[..."“”„‟″"].map((quote) => [quote, '"'])
])

const tokensOf = (bytes: Buffer, level: Level): ReadonlyArray<Token> => {
  const tokens: Array<Token> = []
  const dropBlanks = () => {
    if (level === "blanksAndQuotes") while ([" ", "\t"].includes(tokens.at(-1)?.key ?? "")) tokens.pop()
  }
  for (let at = 0; at < bytes.length;) {
    const isCrlf = bytes[at] === CR && bytes[at + 1] === LF
    const length = isCrlf ? 2 : lengthOf(bytes, at)
    const raw = bytes.toString("latin1", at, at + length)
    const char = bytes.toString("utf8", at, at + length)
    const key = isCrlf ? "\n" : level === "blanksAndQuotes" ? (quotes[char] ?? raw) : raw
    if (key === "\n") dropBlanks()
    tokens.push({ key, start: at, end: at + length })
    at += length
  }
  dropBlanks()
  return tokens
}

/** How many bytes a character has, as its first one says; one, if the others are not there. */
const lengthOf = (bytes: Buffer, at: number) => {
  const first = bytes[at]!
  const length = first < 0xc2 || first > 0xf4 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4
  const rest = bytes.subarray(at + 1, at + length)
  return rest.length === length - 1 && rest.every((byte) => (byte & 0xc0) === 0x80) ? length : 1
}

const withEndings = (file: Buffer, start: number, newText: string): Buffer => {
  const plain = newText.replaceAll("\r\n", "\n")
  const next = file.indexOf(LF, start)
  const near = next === -1 ? file.subarray(0, start).lastIndexOf(LF) : next
  return Buffer.from(near > 0 && file[near - 1] === CR ? plain.split("\n").join("\r\n") : plain)
}
