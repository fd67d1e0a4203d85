/**
 * Running commands: those that the user wrote, and a few that stand for a question about the machine. No command is
 * ever made from what a file says.
 */
import { type Intent, on } from "./intent.ts"
import { count, oneLine, paragraphs, quote, splitLines } from "./quote.ts"
import { ask, bash, complain, type Outcome, type Recipe, say } from "./recipe.ts"

/** How many lines of an output are shown: of a longer one its beginning and its end. */
const HEAD = 10
const TAIL = 20

function* run(command: string): Recipe {
  const [outcome] = yield* ask(bash(command))
  return report(outcome)
}

/** What a command printed. A note on how it ended is its last line. */
export const report = (outcome: Outcome): string => {
  if (outcome._tag === "Unavailable") return complain(outcome)
  const lines = splitLines(outcome.text.trimEnd().replace(/^\n+/, ""))
  const isFailure = outcome._tag === "Failed" || /^\[(?:Exit code|Killed|Stopped)\b.*\]$/.test(lines.at(-1)!)
  const command = `\`${oneLine(String(outcome.call.arguments["command"]))}\` ${isFailure ? "failed and printed" : "printed"}`
  return outcome.text.trim() === "" ? `${command} nothing.` : paragraphs(`${command}:`, excerpt(lines))
}

const excerpt = (lines: ReadonlyArray<string>): string => {
  const hidden = lines.length - HEAD - TAIL
  if (hidden <= 0) return quote(lines)
  return [quote(lines.slice(0, HEAD)), `(${count(hidden, "more line")})`, quote(lines.slice(-TAIL))].join("\n")
}

// ---------------------------------------------------------------------------------------------------------------------
// Intents
// ---------------------------------------------------------------------------------------------------------------------

const versionCommands: { readonly [program: string]: string } = {
  go: "go version",
  java: "java -version",
  nodejs: "node --version",
  "node.js": "node --version",
  python: "python3 --version",
  rust: "rustc --version",
  typescript: "tsc --version"
}

const versioned = new Set(
  "node npm npx pnpm yarn bun deno git python3 ruby rustc cargo gcc clang make cmake docker bash tsc".split(" ")
)

const versionCommand = (program: string): string | undefined => {
  const name = program.toLowerCase()
  if (Object.hasOwn(versionCommands, name)) return versionCommands[name]
  return versioned.has(name) ? `${name} --version` : undefined
}

const programs = new Set(
  (
    "npm npx node git ls cat echo make pnpm yarn bun deno python python3 pip cargo rustc go tsc vitest wc head tail pwd date " +
    "which uname whoami df du find rg grep sed awk sort uniq diff tree docker true false sleep sh bash env printf test jq curl"
  ).split(" ")
)

/** Whether a text without quotes around it is a whole command: it begins with a program, and no quote in it is open. */
const looksLikeCommand = (text: string): boolean => {
  const [word = ""] = text.split(/\s/, 1)
  return (programs.has(word) || word.startsWith("./")) && !/[`'"]/.test(text)
}

export const commandIntents: ReadonlyArray<Intent> = [
  on(
    ["(run|execute) [the] [command] {command}", "[what is|show me] [the] output of {command}"],
    ({ command = "" }, { quoted, text, restore }) => {
      if (quoted.length === 1 && command === quoted[0]) return run(command)
      const [, written = ""] = /^(?:run|execute|.*?output of)\s+(?:the command\s+)?(.+)$/is.exec(text) ?? []
      return looksLikeCommand(written) ? run(restore(written)) : undefined
    },
    "run `git status`"
  ),
  on(
    ["[what|which] (what|which) [is] [the] {program} version [is installed|do i have|is this]"],
    ({ program = "" }) => {
      const command = versionCommand(program)
      return command === undefined ? undefined : run(command)
    },
    "what is the node version?"
  ),
  on(["(what|which) [is the] version of {program} [is installed|do i have|is this]"], ({ program = "" }) => {
    const command = versionCommand(program)
    return command === undefined ? undefined : run(command)
  }),
  on(["(which|what) [is the] [git|current] branch ..."], () => run("git branch --show-current")),
  on(["[what is|show] [the] git status", "what [has|have] [been] changed"], () => run("git status --short --branch")),
  on(["[what|show|list] ... (last|latest|recent) commits?"], () => run("git log --oneline -n 10"))
]

/** After all others that begin with such words. */
export const refusalIntents: ReadonlyArray<Intent> = [
  on(["(run|execute) ..."], () => say("Which command is that? Write it in backticks, as in: run `npm test`.")),
  on(
    [
      "(create|write|make|add|delete|remove|rename|move|edit|change|fix|refactor|implement|update|replace|insert|append|" +
        "translate|commit|push|install|upgrade|convert|generate|improve|rewrite|optimise|optimize|debug|solve|review) ..."
    ],
    () =>
      say("I cannot change, write or judge anything: that takes a language model, and I am only a stand-in for one.")
  )
]
