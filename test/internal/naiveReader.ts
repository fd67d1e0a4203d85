// A tolerant reader of the beginning of a JSON text that is as simple as can be, and quadratic: it tries ever shorter texts.

/**
 * The value of the longest way to read the beginning of a JSON text: white space at its end is dropped, what is open is
 * closed, and what is unfinished is taken away until `JSON.parse` takes the rest.
 */
export const naive = (beginning: string): unknown => {
  for (let text = beginning.replace(/[ \t\n\r]+$/, ""); text !== ""; text = text.slice(0, -1)) {
    const closed = close(text)
    if (closed === undefined) continue
    try {
      return JSON.parse(closed)
    } catch {
      // One character less, then.
    }
  }
  return {}
}

/** The text with everything closed that is open at its end; nothing if it ends where that is no value yet. */
const close = (text: string): string | undefined => {
  const closers: Array<string> = []
  let inString = false
  for (let at = 0; at < text.length; at++) {
    const char = text[at]
    if (inString) {
      if (char === "\\") at++
      else if (char === '"') inString = false
    } else if (char === '"') inString = true
    else if (char === "[") closers.push("]")
    else if (char === "{") closers.push("}")
    else if (char === "]" || char === "}") closers.pop()
  }
  const rest = closers.toReversed().join("")
  if (!inString) return text.replace(/[,\s]+$/, "") + rest
  return isKey(text) ? undefined : `${text}"${rest}`
}

/** Whether the string that is open at the end of the text is a key. */
const isKey = (text: string): boolean => {
  const containers: Array<string> = []
  let expectsKey = false
  let isOpenKey = false
  let inString = false
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!
    if (inString) {
      if (char === "\\") at++
      else if (char === '"') inString = false
      continue
    }
    if (char === '"') {
      inString = true
      isOpenKey = expectsKey
      expectsKey = false
    } else if (char === "{") {
      containers.push(char)
      expectsKey = true
    } else if (char === "[") {
      containers.push(char)
      expectsKey = false
    } else if (char === "}" || char === "]") containers.pop()
    else if (char === ",") expectsKey = containers.at(-1) === "{"
  }
  return inString && isOpenKey
}

/** Where the text may be cut: nowhere inside a number or a literal. */
export const isCut = (text: string, at: number): boolean => !/[\w.+-]/.test(text[at - 1] ?? "") || isInString(text, at)

const isInString = (text: string, at: number): boolean => {
  let inString = false
  for (let from = 0; from < at; from++) {
    if (inString && text[from] === "\\") from++
    else if (text[from] === '"') inString = !inString
  }
  return inString
}
