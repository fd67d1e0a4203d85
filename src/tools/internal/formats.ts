/**
 * Files that are no text, known by their first bytes, and what to do with them instead of reading them.
 */
export interface Format {
  readonly name: string
  /** The rest of the sentence, from what follows the size. */
  readonly advice: string
}

export const nameOf = (start: Uint8Array): Format | undefined => {
  const magic = String.fromCharCode(...start.subarray(0, 16))
  return formats.find(([prefix]) => magic.startsWith(prefix))?.[1]
}

const UTF_16: Format = {
  name: "a text in UTF-16",
  advice: ", which is not shown. Use bash with `iconv -f UTF-16 -t UTF-8` to see it."
}
const ZIP: Format = {
  name: "a ZIP archive",
  advice: " or a format that is one (docx, xlsx, jar). Use bash with `unzip -l` to see what is in it."
}

const formats: ReadonlyArray<readonly [prefix: string, format: Format]> = [
  ["%PDF-", { name: "a PDF", advice: ". Use bash with `pdftotext` to get its text." }],
  ["PK\x03\x04", ZIP],
  ["PK\x05\x06", ZIP],
  ["\x1f\x8b", { name: "a gzip file", advice: ". Use bash with `zcat` to see what is in it." }],
  [
    "SQLite format 3\0",
    { name: "an SQLite database", advice: ". Use bash with `sqlite3 -readonly` to query it, if it is installed." }
  ],
  ["\xff\xfe", UTF_16],
  ["\xfe\xff", UTF_16]
]
