/**
 * Marks what of a request the API is to keep: tools, system prompt, and the last two turns of the user.
 *
 * The API looks back only some blocks from a mark for what an earlier request has kept, and a batch of calls can be longer
 * than that. So the turn of the user before the last one, where the last mark of the request before this one was, has one too.
 */
import type { Anthropic } from "@anthropic-ai/sdk"
import type { Settings } from "./settings.ts"
import type { Params } from "./params.ts"

export const withBreakpoints = (params: Params, cache: Settings["cache"]): Params => {
  if (cache === "off") return params
  const mark = { cache_control: cacheControl(cache) }
  const users = new Set(params.messages.filter(({ role }) => role === "user").slice(-2))
  return {
    ...params,
    ...(params.tools && { tools: markLast(params.tools, mark) }),
    ...(params.system && { system: markLast(params.system, mark) }),
    messages: params.messages.map((message) =>
      users.has(message) ? { ...message, content: markLast(message.content, mark) } : message
    )
  }
}

const cacheControl = (ttl: "5m" | "1h"): Anthropic.CacheControlEphemeral =>
  ttl === "1h" ? { type: "ephemeral", ttl } : { type: "ephemeral" }

const markLast = <A extends object>(items: ReadonlyArray<A>, mark: object): Array<A> =>
  items.map((item, index) => (index === items.length - 1 ? { ...item, ...mark } : item))
