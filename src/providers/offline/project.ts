/**
 * Answers about the project as a whole: what it is, its license, its dependencies, what else its package.json says.
 * They look at what is in the folder first, and then only at files that are there.
 */
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import { answerFrom } from "./files.ts"
import { type Intent, on } from "./intent.ts"
import * as Json from "./json.ts"
import { entriesOf, noteOf, open, type Opened } from "./open.ts"
import * as Prose from "./prose.ts"
import type { Question } from "./question.ts"
import { bullets, count, oneLine, paragraphs, quote } from "./quote.ts"
import { ask, complain, ls, type Recipe } from "./recipe.ts"

const manifests =
  /^(?:package\.json|pyproject\.toml|cargo\.toml|go\.mod|requirements\.txt|gemfile|composer\.json|deno\.json|build\.gradle|pom\.xml)$/i
export const readmes = /^readme(?:\.\w+)?$/i
const licenses = /^(?:licen[sc]e|copying|unlicense)(?:[.-]\w+)*$/i

/** What was found out about the folder. */
export interface Project {
  readonly entries: ReadonlyArray<string>
  /** The files that could be opened. */
  readonly files: ReadonlyArray<Opened>
  /** What could not be looked at, and why. */
  readonly complaint: string | undefined
}

/** Looks into the folder, and opens those of its files that are wanted; without a listing, the usual ones of the kind. */
export function* survey(wanted: ReadonlyArray<RegExp>, usual: ReadonlyArray<string>): Recipe<Project> {
  const [listing] = yield* ask(ls())
  const entries = entriesOf(listing)
  const names =
    listing._tag === "Done" ? entries.filter((entry) => wanted.some((pattern) => pattern.test(entry))) : usual
  const attempts = yield* open(names)
  const complaints = attempts.flatMap((attempt) => (Result.isFailure(attempt) ? [attempt.failure] : []))
  return {
    entries,
    files: attempts.flatMap((attempt) => (Result.isSuccess(attempt) ? [attempt.success] : [])),
    complaint: listing._tag === "Done" ? complaints.join("\n\n") : paragraphs(complain(listing), ...complaints)
  }
}

const byName = (files: ReadonlyArray<Opened>, pattern: RegExp): Opened | undefined =>
  files.find(({ path }) => pattern.test(path))

interface Manifest {
  readonly file: Opened
  readonly value: { readonly [name: PropertyKey]: unknown }
}

/** The package.json, if it is there and can be read. */
export const manifestOf = (files: ReadonlyArray<Opened>): Manifest | undefined => {
  const file = byName(files, /^package\.json$/i)
  const value = file === undefined ? undefined : Result.getOrUndefined(Json.parse(file.text))
  return file !== undefined && Predicate.isObject(value) ? { file, value } : undefined
}

export const recordOf = (value: unknown): { readonly [name: PropertyKey]: unknown } =>
  Predicate.isObject(value) ? value : {}

/** Says that nothing was found, and where. */
export const nothing = (project: Project, what: string): string =>
  paragraphs(
    project.complaint,
    project.files.length === 0
      ? `I found no file in this folder that tells me ${what}.`
      : `I looked at ${project.files.map(({ path }) => path).join(" and ")}, and found nothing that tells me ${what}.`
  )

// ---------------------------------------------------------------------------------------------------------------------
// Recipes
// ---------------------------------------------------------------------------------------------------------------------

/** What the project is: its name and description, the beginning of its readme, what is in its folder. */
function* overview(): Recipe {
  const project = yield* survey([/^package\.json$/i, readmes], ["package.json", "README.md"])
  const manifest = manifestOf(project.files)
  const readme = byName(project.files, readmes)
  const { name, description } = manifest?.value ?? {}
  return paragraphs(
    typeof name === "string" ? `package.json calls it ${oneLine(name)}.` : undefined,
    typeof description === "string" && description !== ""
      ? `It describes it so: "${oneLine(description)}".`
      : undefined,
    readme === undefined
      ? undefined
      : `${readme.path} begins:\n\n${quote(Prose.firstParagraph(readme.lines).slice(0, 8))}`,
    project.complaint,
    project.entries.length === 0
      ? undefined
      : `The folder has ${count(project.entries.length, "entry", "entries")}:\n\n${bullets(project.entries, 30)}`,
    project.files.length + project.entries.length === 0 && project.complaint === ""
      ? "This folder is empty."
      : undefined
  )
}

function* license(): Recipe {
  const project = yield* survey([/^package\.json$/i, licenses], ["package.json", "LICENSE"])
  const manifest = manifestOf(project.files)
  const text = byName(project.files, licenses)
  const named = manifest === undefined ? undefined : manifest.value["license"]
  if (text === undefined && named === undefined) return nothing(project, "the license")
  return paragraphs(
    named === undefined ? undefined : Json.describe("package.json", { path: ["license"], value: named }),
    text === undefined
      ? undefined
      : `${text.path} begins:\n\n${quote(text.lines.filter((line) => line.trim() !== "").slice(0, 3))}`
  )
}

const dependencyKinds = ["dependencies", "peerDependencies", "optionalDependencies", "devDependencies"]

/** The dependencies, all or those that the question names. */
function* dependencies({ text, unmark }: Question): Recipe {
  const project = yield* survey([manifests], ["package.json"])
  const manifest = manifestOf(project.files)
  if (manifest === undefined) {
    const [file] = project.files
    if (file === undefined) return nothing(project, "the dependencies")
    return /requirements|gemfile/i.test(file.path)
      ? paragraphs(`${file.path} says:`, quote(file.lines), noteOf(file))
      : paragraphs(answerFrom(file, ["dependency", "require"], 30), noteOf(file))
  }
  const groups = dependencyKinds.flatMap((kind) =>
    Object.entries(recordOf(manifest.value[kind])).map((entry) => ({ kind, entry }))
  )
  if (groups.length === 0) return "package.json names no dependencies."
  const asked = unmark(text)
    .toLowerCase()
    .split(/[^\w@/.-]+/)
  const meant = groups.filter(
    ({ entry: [name] }) => asked.includes(name.toLowerCase()) && name !== manifest.value["name"]
  )
  if (meant.length > 0) {
    return paragraphs(
      ...meant
        .slice(0, 8)
        .map(({ kind, entry: [name, value] }) => Json.describe("package.json", { path: [kind, name], value }))
    )
  }
  return paragraphs(
    ...dependencyKinds
      .filter((kind) => Object.keys(recordOf(manifest.value[kind])).length > 0)
      .map((kind) => Json.describe("package.json", { path: [kind], value: manifest.value[kind] }))
  )
}

/** A member of the manifest: the version, the scripts, the author, … */
function* member(words: ReadonlyArray<string>): Recipe {
  const project = yield* survey([manifests], ["package.json"])
  const [file] = project.files
  return file === undefined ? nothing(project, "that") : paragraphs(answerFrom(file, words, 20), noteOf(file))
}

// ---------------------------------------------------------------------------------------------------------------------
// Intents
// ---------------------------------------------------------------------------------------------------------------------

/** Questions that name a file or a folder are not about the project as a whole. */
export const onProject = ({ recognise, ...intent }: Intent): Intent => ({
  ...intent,
  recognise: (question) => (question.namesFile || question.scope.folder !== undefined ? undefined : recognise(question))
})

const whole =
  "(this|it|this project|the project|my project|this package|this repo|this repository|this folder|this code|the codebase|everything)"

export const projectIntents: ReadonlyArray<Intent> = [
  on(["... (license|licence|licensed|licenced|licenses) ..."], () => license(), "which license is this under?"),
  on(
    [
      "... (depend|depends|dependency|dependencies) ...",
      "(which|what) (packages|libraries|modules) (does|do|are|is) ...",
      "(which|what) version of {name} (does this|does it|do we|is) (use|used|needed?|have|depend on)",
      "(which|what) version of {name} (does this|does it|do we|is) (use|used|needed?|have|depend on) ..."
    ],
    ({ name = "" }, question) => (/^(?:node|node\.js|nodejs)$/i.test(name) ? undefined : dependencies(question)),
    "what does this depend on?"
  ),
  on(
    [
      "... node ... (needs?|needed|requires?|required|supports?|supported) ...",
      "... (needs?|requires?|supports?) ... node ..."
    ],
    () => member(["engines"])
  ),
  on(["(which|what|list|show) ... (scripts|npm commands) ..."], () => member(["scripts"]), "what scripts are there?"),
  on(
    [
      "(what|which) (is|are) [the|its] {word} [of it|of this|of this project|of the project|of this package|here]",
      "(what|which) {word} (is this|does this have|does this project have)"
    ],
    ({ word = "" }) =>
      /^(?:name|version|author|description|keywords|homepage|engines|exports)$/i.test(word) ? member([word]) : undefined
  ),
  on(["who (wrote|made|maintains) ..."], () => member(["author"])),
  on(
    [
      `(what is|what does|describe|explain|summarise|summarize|tell me about|give me an overview of) ${whole} [about|for|do|all about|here]`,
      "[an] overview"
    ],
    () => overview(),
    "what is this project?"
  )
].map(onProject)
