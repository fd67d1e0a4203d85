/**
 * The models that `--model` can name, with what they can do: as the API lists them, or from the table that is built in where
 * there is no key or no network, which is said on standard error.
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { ListedModel, ModelInfo } from "../providers/Anthropic.ts"
import type { ProviderError } from "../services/Provider.ts"
import { ERROR } from "./failures.ts"
import type { ModelsOptions } from "./options.ts"
import { encode } from "./json.ts"
import { deliver, say } from "./print.ts"
import { anthropicOptions } from "./providers.ts"
import { line, sanitize } from "./sanitize.ts"
import { MAX_ERROR_LENGTH, MAX_LENGTH } from "./text.ts"

/** Prints the list, and gives the exit code. An API that was reached and refuses to list anything is an error. */
export const printModels = Effect.fnUntraced(function* ({ mode, ...wanted }: ModelsOptions) {
  const options = yield* anthropicOptions(wanted)
  const { models, modelTable, TABLE_DATE } = yield* Effect.promise(() => import("../providers/Anthropic.ts"))
  const listed = yield* Effect.result(models(options))
  const format = mode === "json" ? toLines : toTable
  if (Result.isSuccess(listed)) {
    yield* deliver({ to: "stdout", text: format(listed.success, "api") })
    return 0
  }
  const told = line(listed.failure.message, MAX_ERROR_LENGTH)
  if (!isOutOfReach(listed.failure, options.apiKey !== undefined)) {
    yield* say(`✗ ${told}\n`)
    return ERROR
  }
  yield* say(`! ${told} These models are from a table of ${TABLE_DATE}.\n`)
  yield* deliver({ to: "stdout", text: format(modelTable, "table") })
  return 0
})

const isOutOfReach = ({ reason }: ProviderError, hasKey: boolean): boolean =>
  reason === "network" || (reason === "authentication" && !hasKey)

// ---------------------------------------------------------------------------------------------------------------------
// Formats
// ---------------------------------------------------------------------------------------------------------------------

type Source = "api" | "table"

const toLines = (models: ReadonlyArray<ListedModel>, source: Source): string =>
  models.map(({ info, ...model }) => `${encode({ ...model, ...(info && publicInfo(info)), source })}\n`).join("")

/** What is of use to others than the provider itself. */
const publicInfo = ({ contextWindow, maxTokens, images, thinking, efforts }: ModelInfo) => ({
  contextWindow,
  maxTokens,
  images,
  thinking,
  efforts
})

const toTable = (models: ReadonlyArray<ListedModel>): string => {
  const rows = [["MODEL", "CONTEXT", "OUTPUT", "THINKING", "IMAGES", ""], ...models.map(rowOf)]
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  const show = (row: ReadonlyArray<string>) =>
    row
      .map((cell, column) => (NUMBERS.has(column) ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!)))
      .join("  ")
      .trimEnd()
  return rows.map((row) => `${show(row)}\n`).join("")
}

/** The columns of numbers. */
const NUMBERS: ReadonlySet<number> = new Set([1, 2])

const rowOf = ({ id, info, lifecycle, retiresAt }: ListedModel): ReadonlyArray<string> => {
  const count = (tokens: number | undefined) => tokens?.toLocaleString("en-US") ?? UNKNOWN
  const stage = lifecycle === undefined || lifecycle === "active" ? "" : line(lifecycle, MAX_LENGTH)
  const end = retiresAt === undefined ? "" : `until ${sanitize(retiresAt.slice(0, "2026-11-30".length))}`
  return [
    line(id, MAX_LENGTH),
    count(info?.contextWindow),
    count(info?.maxTokens),
    info === undefined ? UNKNOWN : describeThinking(info),
    info === undefined ? UNKNOWN : info.images ? "yes" : "no",
    [stage, end].filter(Boolean).join(", ")
  ]
}

const UNKNOWN = "?"

const describeThinking = ({ thinking, thinkingOff, efforts }: ModelInfo): string => {
  const range = efforts.length === 0 ? "" : ` (${efforts[0]}–${efforts.at(-1)})`
  return `${thinking}${range}${thinkingOff === "never" ? ", always" : ""}`
}
