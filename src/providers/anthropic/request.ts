/**
 * A request as the parameters of the Messages API. It is pure: the same request gives the same bytes, and a longer
 * transcript begins with those of the shorter one, so that what the API has kept is found again.
 */
import * as Result from "effect/Result"
import { ProviderError, type ProviderRequest } from "../../services/Provider.ts"
import { withBreakpoints } from "./cache.ts"
import { lookup } from "./models.ts"
import type { Params } from "./params.ts"
import { thoughts, toTurns, type Turn } from "./repair.ts"
import { isAnthropic, type Settings } from "./settings.ts"
import { isBlank } from "./text.ts"
import { type Thinking, type ThinkingOptions, thinkingOf, withoutThinking } from "./thinking.ts"
import { toFormerTool, toTool } from "./tools.ts"

export interface Prepared {
  readonly params: Params
  readonly betas: ReadonlyArray<string>
}

/** `info` is what the model can do, where that was asked for. */
export const prepare = (
  request: ProviderRequest,
  settings: Settings,
  info = settings.modelInfo(request.model.id) ?? lookup(request.model.id)
): Result.Result<Prepared, ProviderError> => {
  const maxTokens = Math.min(settings.maxTokens ?? Infinity, info.maxTokens)
  const options: ThinkingOptions = {
    level: request.thinkingLevel,
    maxTokens,
    canBind: isAnthropic(settings.baseUrl)
  }
  const turnsWith = ({ isOn }: Thinking) =>
    toTurns(request.messages, { model: request.model, images: info.images, thinking: isOn })
  let thinking = thinkingOf(info, options)
  let turns = turnsWith(thinking)
  if (thinking.thinking?.type === "enabled" && !mayThink(turns)) {
    thinking = withoutThinking(info, options)
    turns = turnsWith(thinking)
  }
  if (turns.length === 0) return Result.fail(nothingToSend)
  const params: Params = {
    model: request.model.id,
    max_tokens: maxTokens,
    stream: true,
    ...systemOf(request.systemPrompt),
    ...toolsOf(request, turns),
    ...(thinking.thinking && { thinking: thinking.thinking }),
    ...(thinking.effort && { output_config: { effort: thinking.effort } }),
    messages: turns.map(({ role, content }) => ({ role, content }))
  }
  return Result.succeed({
    params: withBreakpoints(params, settings.cache),
    betas: [...new Set([...settings.betas, ...thinking.betas])]
  })
}

const nothingToSend = new ProviderError({
  reason: "invalidRequest",
  message: "There is nothing to ask the model: the transcript has no message with a content.",
  retryable: false
})

const systemOf = (prompt: string | undefined): Pick<Params, "system"> =>
  prompt === undefined || isBlank(prompt) ? {} : { system: [{ type: "text", text: prompt.toWellFormed() }] }

/** The API wants the tools declared that a transcript speaks of, also where none may be called any more. */
const toolsOf = (
  { tools = [] }: ProviderRequest,
  turns: ReadonlyArray<Turn>
): Pick<Params, "tools" | "tool_choice"> => {
  if (tools.length > 0) return { tools: tools.map(toTool) }
  const called = turns.flatMap(({ content }) =>
    content.flatMap((block) => (block.type === "tool_use" ? block.name : []))
  )
  return called.length === 0 ? {} : { tools: [...new Set(called)].map(toFormerTool), tool_choice: { type: "none" } }
}

/**
 * A model with a budget that is in the middle of its calls must have begun with a thought. One that has not (another model
 * made the calls, say) does not think until the user has the turn again.
 */
const mayThink = (turns: ReadonlyArray<Turn>): boolean => {
  const isResult = ({ content }: Turn) => content.some(({ type }) => type === "tool_result")
  if (turns.length === 0 || !isResult(turns.at(-1)!)) return true
  const asked = turns.findLastIndex((turn) => turn.role === "user" && !isResult(turn))
  return thoughts.includes(turns[asked + 1]!.content[0]!.type)
}
