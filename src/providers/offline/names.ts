/**
 * What in a sentence is the name of a file, a folder or a kind of files. A guess from the looks of a word: whether
 * there is such a file only the tools know.
 */

const extensions = new Set(
  (
    "ts tsx mts cts js jsx mjs cjs json jsonc jsonl md mdx txt text log csv tsv yml yaml toml ini cfg conf env lock html htm " +
    "css scss svg png jpg jpeg gif webp pdf xml sh bash zsh py rb rs go java kt c h cc cpp hpp cs php swift sql graphql " +
    "proto vue svelte gradle tf nix lua ex exs hs scala clj zig r ipynb diff patch"
  ).split(" ")
)

const bareNames = /^(?:readme|changelog|makefile|dockerfile|gemfile|procfile|justfile)$/i
const capitalNames = /^(?:LICEN[SC]E|COPYING|NOTICE|CONTRIBUTING|AUTHORS|SECURITY|TODO)$/

/** A name without folder and extension, as people say it: "the readme". The file may be called a little differently. */
export const isBareName = (name: string): boolean => bareNames.test(name) || capitalNames.test(name)

export const isFileName = (word: string): boolean => {
  if (isBareName(word) && word !== "TODO") return true
  if (word.length > 200 || /[*?"<>|\n]|:\/\/|\.\.\.|^[-@]/.test(word) || /^node\.js$/i.test(word)) return false
  if (/^\.[A-Za-z][\w.-]*$/.test(word)) return true
  const extension = /[^\s/]\.([A-Za-z]\w{0,9})$/.exec(word)?.[1]
  if (extension === undefined || /^(?:e\.g|i\.e)$/i.test(word)) return false
  // `Effect.gen` is a member of a module, `notes.v2` may be a file.
  return extensions.has(extension.toLowerCase()) || word.includes("/") || !/^[A-Z]/.test(word)
}

/** The kinds of files that have names in English. */
const kinds: { readonly [kind: string]: string } = {
  typescript: "*.ts",
  javascript: "*.js",
  json: "*.json",
  markdown: "*.md",
  text: "*.txt",
  python: "*.py",
  rust: "*.rs",
  go: "*.go",
  java: "*.java",
  ruby: "*.rb",
  yaml: "*.yml",
  toml: "*.toml",
  html: "*.html",
  css: "*.css",
  shell: "*.sh",
  test: "*test*",
  spec: "*spec*",
  config: "*config*"
}

/** The pattern of names that a phrase asks for: "*.ts", ".ts files", "the TypeScript files". */
export const globOf = (phrase: string): string | undefined => {
  const star = /(?:^|\s)([\w./-]*\*[\w.*/-]*)(?=\s|$)/.exec(phrase)?.[1]
  if (star !== undefined) return star
  const [, dot, word] = /(?:^|\s)(\.?)(\w+)[\s-]+files?\b/i.exec(phrase) ?? []
  const kind = word?.toLowerCase()
  if (kind === undefined) return undefined
  return Object.hasOwn(kinds, kind) && dot === ""
    ? kinds[kind]
    : extensions.has(kind) && kind !== "text"
      ? `*.${kind}`
      : undefined
}

export interface Scope {
  /** Whether it is said with an "in", not with an "of" that may mean something else. */
  readonly isIn?: boolean
  readonly folder?: string
  readonly file?: string
  readonly glob?: string
  /** The text without the words that say where. */
  readonly rest: string
}

const everywhere =
  /^(?:(?:the|this|my|our|your|all|any|every|whole|entire|current|of|these|source)\s+)*(?:project|folder|directory|dir|repo|repository|code|codebase|sources?|files?|here|there|it|workspace|package|tree)?$/i

const noFolder =
  /^(?:which|what|total|detail|short|general|english|order|case|use|time|typescript|javascript|python|parallel|that|mind)$/i

/** Where the end of a text says to look: "… in src", "… under the folder test", "… in the markdown files". */
export const scopeOf = (text: string, unmark: (part: string) => string): Scope => {
  const found =
    /^(.*?\S)?\s*\b(in|under|inside|within|from|at|of)\s+((?:(?!\s(?:in|under|inside|within|from|at|of)\s).)+)$/is.exec(
      text
    )
  const phrase = unmark(found?.[3] ?? "").trim()
  if (found === null || phrase === "") return { rest: text }
  const given = { isIn: /^(?:in|under|inside|within)$/i.test(found[2]!), rest: found[1] ?? "" }
  if (everywhere.test(phrase)) return given
  const glob = globOf(phrase)
  if (glob !== undefined) return { ...given, glob }
  const name = phrase
    .replace(/^(?:the|this|my|our)\s+/i, "")
    .replace(/^(?:folder|directory|dir|file)\s+|\s+(?:folder|directory|dir|file)$/i, "")
  if (isFileName(name)) return { ...given, file: name }
  return /^[\w@.~/-]+$/.test(name) && !noFolder.test(name) ? { ...given, folder: name } : { rest: text }
}
