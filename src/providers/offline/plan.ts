/**
 * What the stand-in does next, as a pure function of the request: the calls that it needs, or its answer.
 *
 * Each question that has no answer yet is read, its recipe followed over what the tools have said since; the calls that
 * all recipes want next are made at once. No call is made twice for one question: what has been asked for is known,
 * even if all that is known is that it failed. So a conversation ends after as many rounds as its longest recipe.
 */
import * as Equal from "effect/Equal"
import * as Predicate from "effect/Predicate"
import type { ProviderRequest } from "../../services/Provider.ts"
import { CLOSING } from "./about.ts"
import { introduce, recognise } from "./intents.ts"
import { MAX_QUESTIONS, MAX_TEXT, parse, type Question, takesBack } from "./question.ts"
import { enumerate, oneLine, paragraphs } from "./quote.ts"
import type { Call, Outcome, Recipe } from "./recipe.ts"
import { type Conversation, converse, type Made, textOf } from "./transcript.ts"

export type Reply =
  | { readonly _tag: "Calls"; readonly calls: ReadonlyArray<Call> }
  | { readonly _tag: "Text"; readonly text: string }

export const plan = (request: Pick<ProviderRequest, "messages" | "tools" | "model">): Reply => {
  const conversation = converse(request.messages, request.model.provider)
  const all = questionsOf(conversation)
  const questions = all.slice(0, MAX_QUESTIONS)
  const recipes = questions.map((question) => ({ question, recipe: recognise(question) }))
  const steps = recipes.flatMap(({ recipe }) =>
    recipe === undefined ? [] : [follow(recipe, (call) => lookUp(call, conversation.made, request.tools))]
  )
  const calls = distinct(steps.flatMap((step) => (step._tag === "Calls" ? step.calls : [])))
  if (calls.length > 0) return { _tag: "Calls", calls }

  const strange = recipes.flatMap(({ question, recipe }) => (recipe === undefined ? [question] : []))
  const answers = steps.flatMap((step) => (step._tag === "Text" ? [step.text] : []))
  const text = paragraphs(...answers, notUnderstood(strange, answers.length === 0), leftOut(conversation, all))
  // Whoever was told all about the stand-in need not be told again.
  const isTold = conversation.isAnswered || text.includes(introduce())
  return { _tag: "Text", text: (isTold ? text : paragraphs(text, CLOSING)).toWellFormed() }
}

// ---------------------------------------------------------------------------------------------------------------------
// Questions
// ---------------------------------------------------------------------------------------------------------------------

const questionsOf = ({ pending, earlier }: Conversation): ReadonlyArray<Question> => {
  const start = Math.max(0, pending.findLastIndex(takesBack))
  const questions: Array<Question> = []
  let recent = earlier.map((text) => filesOf(parse(text, []))).find((files) => files.length > 0) ?? []
  for (const text of pending.slice(start)) {
    const more = parse(text, recent)
    recent = filesOf(more) ?? recent
    questions.push(...more)
  }
  return questions
}

const filesOf = (questions: ReadonlyArray<Question>): ReadonlyArray<string> =>
  questions.findLast((question) => question.namesFile)?.files ?? []

const notUnderstood = (questions: ReadonlyArray<Question>, isAll: boolean): string | undefined => {
  const sources = questions.map(({ source }) => `"${oneLine(source)}"`)
  if (!isAll) return sources.length === 0 ? undefined : `I did not understand ${enumerate(sources)}.`
  return paragraphs(
    sources.length === 0 ? "There is no text that I could answer." : `I did not understand ${enumerate(sources)}.`,
    introduce()
  )
}

const leftOut = ({ pending }: Conversation, questions: ReadonlyArray<Question>): string | undefined =>
  paragraphs(
    questions.length > MAX_QUESTIONS
      ? `I answer at most ${MAX_QUESTIONS} requests at once, and left out the rest.`
      : undefined,
    pending.some((text) => text.length > MAX_TEXT)
      ? `I read only the first ${MAX_TEXT} characters of a message.`
      : undefined
  )

// ---------------------------------------------------------------------------------------------------------------------
// Recipes
// ---------------------------------------------------------------------------------------------------------------------

/** Follows a recipe as far as what is known takes it. */
const follow = (recipe: Recipe, lookUp: (call: Call) => Outcome | undefined): Reply => {
  let step = recipe.next()
  while (step.done !== true) {
    const outcomes = step.value.map(lookUp)
    const open = step.value.filter((_, index) => outcomes[index] === undefined)
    if (open.length > 0) return { _tag: "Calls", calls: open }
    step = recipe.next(outcomes.filter((outcome) => outcome !== undefined))
  }
  return { _tag: "Text", text: step.value }
}

/** What is known of a call; nothing if it has to be made. */
const lookUp = (call: Call, made: ReadonlyArray<Made>, tools: ProviderRequest["tools"]): Outcome | undefined => {
  const before = made.findLast(({ name, arguments: args }) => name === call.name && Equal.equals(args, call.arguments))
  if (before === undefined) {
    const obstacle = obstacleTo(call, tools ?? [])
    return obstacle === undefined ? undefined : { _tag: "Unavailable", call, text: obstacle }
  }
  if (before.result === undefined) return { _tag: "Failed", call, text: "the call has no result." }
  return {
    _tag: before.result.isError ? "Failed" : "Done",
    call,
    text: textOf(before.result.content),
    hasImage: before.result.content.some((block) => block.type === "image")
  }
}

/** Why a call cannot be made: its tool is not declared, or by that name there is one that takes something else. */
const obstacleTo = (call: Call, tools: NonNullable<ProviderRequest["tools"]>): string | undefined => {
  const tool = tools.find(({ name }) => name === call.name)
  if (tool === undefined) {
    const names = tools.map(({ name }) => name)
    const has = names.length === 0 ? "has no tools" : `has only ${oneLine(enumerate(names))}`
    return `that takes the tool "${call.name}", and this run ${has}.`
  }
  const { properties } = tool.parameters
  const unknown = Predicate.isObject(properties)
    ? Object.keys(call.arguments).find((name) => !Object.hasOwn(properties, name))
    : undefined
  return unknown === undefined ? undefined : `the tool "${call.name}" of this run has no parameter "${unknown}".`
}

const distinct = (calls: ReadonlyArray<Call>): ReadonlyArray<Call> =>
  calls.filter((call, index) => calls.findIndex((other) => Equal.equals(other, call)) === index)
