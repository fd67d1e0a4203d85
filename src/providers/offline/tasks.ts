/**
 * Answers about what can be done with the project: what a script stands for, how its tests are run; and running them.
 */
import { report } from "./commands.ts"
import { type Intent, on } from "./intent.ts"
import * as Json from "./json.ts"
import { manifestOf, nothing, onProject, type Project, readmes, recordOf, survey } from "./project.ts"
import * as Prose from "./prose.ts"
import { oneLine, paragraphs, quoteNumbered } from "./quote.ts"
import { ask, bash, type Recipe } from "./recipe.ts"
import { wordsOf } from "./words.ts"

const makefiles = /^(?:makefile|justfile)$/i

/** What `npm test`, `npm run build`, … stands for. */
function* scriptOf(name: string): Recipe {
  const manifest = manifestOf((yield* survey([/^package\.json$/i], ["package.json"])).files)
  const scripts = recordOf(manifest?.value["scripts"])
  return Object.hasOwn(scripts, name)
    ? Json.describe("package.json", { path: ["scripts", name], value: scripts[name] })
    : `I found no script named ${oneLine(name)} in a package.json of this folder.`
}

/** The names that a script for a task usually has. */
const tasks: ReadonlyArray<readonly [RegExp, ReadonlyArray<string>]> = [
  [/^(?:unit )?(?:tests?|test suite|specs?)$/i, ["test", "tests", "test:unit"]],
  [/^(?:build|compile|bundle)$/i, ["build", "compile", "bundle"]],
  [/^(?:lint|linter|linting)$/i, ["lint", "eslint"]],
  [/^(?:format|formatter|formatting)$/i, ["format", "fmt", "prettier"]],
  [/^(?:type ?-?checks?|type ?-?checker|types)$/i, ["typecheck", "types", "check", "tsc"]],
  [/^(?:it|this|program|app|application|server|project|start|dev server)$/i, ["start", "dev", "serve"]]
]

const runners: ReadonlyArray<readonly [string, string]> = [
  ["pnpm-lock.yaml", "pnpm"],
  ["yarn.lock", "yarn"],
  ["bun.lock", "bun"],
  ["bun.lockb", "bun"]
]

const commandOf = (entries: ReadonlyArray<string>, script: string): string => {
  const runner = runners.find(([lock]) => entries.includes(lock))?.[1] ?? "npm"
  return script === "test" && runner !== "bun" ? `${runner} test` : `${runner} run ${script}`
}

interface Task {
  readonly script: string
  readonly value: unknown
  readonly command: string
}

const taskOf = (project: Project, phrase: string): Task | undefined => {
  const names = tasks.find(([pattern]) => pattern.test(phrase))?.[1] ?? [phrase]
  const scripts = recordOf(manifestOf(project.files)?.value["scripts"])
  const script = names.find((name) => Object.hasOwn(scripts, name))
  return script === undefined
    ? undefined
    : { script, value: scripts[script], command: commandOf(project.entries, script) }
}

/** How a task is done: the script for it, or what the readme or the makefile says. */
function* how(phrase: string): Recipe {
  const project = yield* survey([/^package\.json$/i, readmes, makefiles], ["package.json", "README.md"])
  const task = taskOf(project, phrase)
  if (task !== undefined) {
    return paragraphs(
      Json.describe("package.json", { path: ["scripts", task.script], value: task.value }),
      `So it is run with \`${task.command}\`.`
    )
  }
  const words = wordsOf(phrase)
  const found = project.files
    .filter(({ path }) => !/^package\.json$/i.test(path))
    .map((file) => ({ file, lines: Prose.passages(file.lines, words, 12) }))
    .filter(({ lines }) => lines.length > 0)
  return found.length === 0
    ? nothing(project, `how to do that (${words.map(oneLine).join(", ")})`)
    : paragraphs(...found.map(({ file, lines }) => paragraphs(`${file.path} says:`, quoteNumbered(lines))))
}

/** Runs the script for a task. What it is called is taken from a list here: the file only says whether there is one. */
function* perform(phrase: string): Recipe {
  const project = yield* survey([/^package\.json$/i], ["package.json"])
  const task = taskOf(project, phrase)
  if (task === undefined) return nothing(project, `how to run ${oneLine(phrase)}`)
  const [outcome] = yield* ask(bash(task.command))
  return report(outcome)
}

const isTask = (phrase: string): boolean => tasks.some(([pattern]) => pattern.test(phrase))

// ---------------------------------------------------------------------------------------------------------------------
// Intents
// ---------------------------------------------------------------------------------------------------------------------

export const taskIntents: ReadonlyArray<Intent> = [
  on(["(run|execute) [the|my|our|all|all the] {task}"], ({ task = "" }) => (isTask(task) ? perform(task) : undefined)),
  on(
    [
      "what does [the] {name} script (do|run|execute|start)",
      "what (is|are) [in] [the] {name} script",
      "what (is|are) [in] [the] script {name}"
    ],
    ({ name = "" }) => scriptOf(name)
  ),
  on(["what does {command} (do|run|execute|start)"], ({ command = "" }) => {
    const [, name] = /^(?:npm|pnpm|yarn|bun) (?:run )?([\w:.-]+)$/i.exec(command) ?? []
    return name === undefined ? undefined : scriptOf(name)
  }),
  on(
    [
      "how (do|can|should|would|to) [i|we|you|one] [run|execute|start|do] [the|my|our|all|all the] {task} [locally|here]",
      "how (i|we|you|one) [can|should] [run|execute|start|do] [the|my|our|all|all the] {task}",
      "(how is|how are) [the] {task} (run|started|done|executed)",
      "(which|what) command (runs|starts|builds|does) [the|all|all the] {task}"
    ],
    ({ task = "" }) => {
      const bare = task.replace(/\s+(?:it|this|everything|(?:the|this|my) (?:project|package|code|app))$/i, "")
      return isTask(bare) || wordsOf(bare).length > 0 ? how(bare) : undefined
    },
    "how do I run the tests?"
  )
].map(onProject)
