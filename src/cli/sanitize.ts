/**
 * Text that does nothing to a terminal: what models, tools and errors say is shown, never obeyed.
 *
 * Every control character but newline and tab is replaced by a visible sign of itself, one character at a time. Without its
 * first character an escape sequence is plain text, so it does not matter how a sequence is split over several texts.
 */

/** Controls (C0, DEL, C1), what turns the direction of writing, and the separators that only some programs break lines at. */
const dangerous = /(?![\n\t])[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/gu

const C0_PICTURES = 0x2400
const DELETE = 0x7f
const DELETE_PICTURE = "\u2421"

const picture = (character: string): string => {
  const code = character.charCodeAt(0)
  if (code < 0x20) return String.fromCharCode(C0_PICTURES + code)
  if (code === DELETE) return DELETE_PICTURE
  return code < 0x100 ? `\\x${code.toString(16)}` : `\\u${code.toString(16)}`
}

/** The text with visible signs for what a terminal would obey: `␛[2J` for the sequence that clears the screen. */
export const sanitize = (text: string): string => text.replace(dangerous, picture)

/** The same as a single line of at most `length` characters, for names, arguments and outcomes. */
export const line = (text: string, length: number): string => {
  const flat = sanitize(text.replace(/\s+/gu, " ").trim())
  // Twice as many units hold at least one character more than there is room for; a pair cut there is not shown.
  const characters = Array.from(flat.slice(0, 2 * length + 2))
  return characters.length > length ? `${characters.slice(0, length - 1).join("")}…` : flat
}

/** The text as JSON escapes, which mean the same to a reader: for JSON that may be printed on a terminal. */
export const escapeJson = (json: string): string =>
  json.replace(dangerous, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`)
