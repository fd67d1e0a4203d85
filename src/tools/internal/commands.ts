/**
 * Reads a shell script as far as a policy needs it: the simple commands that it runs, each as its words without quotes, and
 * whether that is surely all that it does. It errs on one side only: what it does not understand is not `isPlain`, and what
 * might be a command is given as one.
 */

export interface Script {
  /** The words of each command, redirections and assignments left out. */
  readonly commands: ReadonlyArray<ReadonlyArray<string>>
  /** Whether there is nothing in it but these commands: no expansion, no substitution, no file that is written. */
  readonly isPlain: boolean
}

export const parse = (script: string): Script => {
  const commands: Array<ReadonlyArray<string>> = []
  let isPlain = true
  let words: Array<string> = []
  let word: string | undefined
  /** What stands before a word that is the file of a redirection. */
  let redirection: string | undefined

  const endWord = () => {
    if (word === undefined) return
    if (redirection !== undefined) {
      if (!isHarmless(redirection, word)) isPlain = false
      redirection = undefined
    } else if (words.length === 0 && ASSIGNMENT.test(word)) isPlain = false
    else words.push(word)
    word = undefined
  }
  const endCommand = () => {
    endWord()
    if (redirection !== undefined) isPlain = false
    redirection = undefined
    if (words.length > 0) commands.push(words)
    words = []
  }
  const nest = (inner: string) => {
    isPlain = false
    commands.push(...parse(inner).commands)
  }

  for (let at = 0; at < script.length; at++) {
    const char = script[at]!
    if (char === "\\") {
      const next = script[++at]
      if (next !== "\n") word = (word ?? "") + (next ?? "")
    } else if (char === "'") {
      const end = script.indexOf("'", at + 1)
      if (end === -1) isPlain = false
      word = (word ?? "") + script.slice(at + 1, end === -1 ? undefined : end)
      at = end === -1 ? script.length : end
    } else if (char === '"') {
      const end = endOf(script, at + 1, '"')
      if (end === script.length) isPlain = false
      const inner = script.slice(at + 1, end)
      const substitution = inner.search(/\$\(|`/)
      if (/[$`]/.test(inner)) isPlain = false
      if (substitution !== -1) nest(inner.slice(substitution))
      word = (word ?? "") + inner.replaceAll(/\\(["\\$`\n])/g, (_, escaped) => (escaped === "\n" ? "" : escaped))
      at = end
    } else if (char === "#" && word === undefined) {
      const end = script.indexOf("\n", at)
      at = (end === -1 ? script.length : end) - 1
    } else if (SEPARATORS.test(char)) {
      const redirects = char === "&" && (script[at + 1] === ">" || /[<>]$/.test(redirection ?? ""))
      if (!redirects) endCommand()
      else if (redirection !== undefined) redirection += char
    } else if (char === " " || char === "\t") endWord()
    else if (char === "<" || char === ">") {
      if (/^\d+$/.test(word ?? "")) word = undefined
      endWord()
      redirection = (redirection ?? "") + char
    } else if (char === "`") {
      const end = endOf(script, at + 1, "`")
      endCommand()
      nest(script.slice(at + 1, end).replaceAll(/\\([\\$`])/g, "$1"))
      at = end
    } else if (/[()]/.test(char)) {
      isPlain = false
      // The sign before it is a part of `$(`.
      if (word?.endsWith("$") === true) word = word.slice(0, -1) || undefined
      endCommand()
    } else {
      if (/[${}]/.test(char)) isPlain = false
      word = (word ?? "") + char
    }
  }
  endCommand()
  return { commands, isPlain }
}

const SEPARATORS = /[;&|\n]/
const ASSIGNMENT = /^[A-Za-z_]\w*(\[[^\]]*\])?\+?=/

/** Whether a redirection writes no file: `2>&1`, `>/dev/null`, or one that reads. */
const isHarmless = (operator: string, target: string): boolean => {
  if (operator === "<") return true
  return /^[<>]&$/.test(operator) ? /^(\d+|-)$/.test(target) : operator.startsWith(">") && target === "/dev/null"
}

/** Where a sign is that has no backslash before it; the end, if it is nowhere. */
const endOf = (script: string, from: number, sign: string): number => {
  let at = from
  while (at < script.length && script[at] !== sign) at += script[at] === "\\" ? 2 : 1
  return Math.min(at, script.length)
}

// ---------------------------------------------------------------------------------------------------------------------
// What a script may run
// ---------------------------------------------------------------------------------------------------------------------

/** Words after which another command stands, with options of their own between. */
const PREFIXES = new Set(
  (
    "! { if then elif else while until do time coproc command builtin exec eval env sudo doas su nohup nice ionice setsid " +
    "timeout stdbuf unbuffer xargs parallel watch strace busybox chroot flock -exec -execdir -ok -okdir"
  ).split(" ")
)
const SHELLS = new Set("sh bash dash ash zsh ksh fish eval su ssh xargs parallel watch env flock".split(" "))

/** How far into a command others are looked for, and how deep scripts within scripts are read. */
const MAX_WORDS = 50
const MAX_DEPTH = 5

/** Everything that a script might run, one text a command; more than it does run, but not less where it can be told. */
export const readings = (script: string, depth = 0): ReadonlyArray<string> =>
  parse(script).commands.flatMap((words) => readingsOf(words, depth))

const readingsOf = (words: ReadonlyArray<string>, depth: number): ReadonlyArray<string> => {
  const found = [words]
  const near = words.slice(0, MAX_WORDS)
  const first = near.findIndex((word) => PREFIXES.has(basename(word)) || SHELLS.has(basename(word)))
  // A prefix stands first, or is an option of `find`.
  if (first === 0 || near[first]?.startsWith("-") === true) {
    for (let at = first + 1; at < near.length; at++) found.push(words.slice(at))
  }
  const texts = found.flatMap(([program = "", ...rest]) =>
    [...new Set([program, basename(program)])].map((name) => [name, ...rest].join(" "))
  )
  const expanded = words.some((word) => /\{.*,.*\}/.test(word)) ? [words.join(" ").replaceAll(/[{},]/g, " ")] : []
  const scripts = near.some((word) => SHELLS.has(basename(word))) ? words.filter((word) => /[\s;&|$`]/.test(word)) : []
  return [
    ...texts,
    ...(depth === MAX_DEPTH ? [] : [...expanded, ...scripts].flatMap((inner) => readings(inner, depth + 1)))
  ]
}

const basename = (word: string): string => word.slice(word.lastIndexOf("/") + 1)

// ---------------------------------------------------------------------------------------------------------------------
// Patterns
// ---------------------------------------------------------------------------------------------------------------------

/** Whether a command fits a pattern: `*` stands for any text, and ` *` at the end also for nothing. */
export const matches = (pattern: string, command: string): boolean => {
  const wanted = pattern.trim().split(/\s+/).join(" ")
  if (wanted.endsWith(" *") && matches(wanted.slice(0, -2), command)) return true
  const [start = "", ...pieces] = wanted.split("*")
  const end = pieces.pop()
  if (end === undefined) return command === start
  if (!command.startsWith(start)) return false
  let at = start.length
  for (const piece of pieces) {
    const found = command.indexOf(piece, at)
    if (found === -1) return false
    at = found + piece.length
  }
  return command.length - end.length >= at && command.endsWith(end)
}
