// The rules of the Messages API that a request must keep, written down from its documentation and its error messages. A body
// that breaks none of them is a valid request.

type Json = Readonly<Record<string, unknown>>

interface Message {
  readonly role: string
  readonly content: ReadonlyArray<Json>
}

/** What of a body the API would refuse. */
export const violationsOf = (body: Json): ReadonlyArray<string> => [...violations(body)]

function* violations(body: Json): Generator<string> {
  if (typeof body["model"] !== "string" || body["model"] === "") yield "model: is missing"
  const maxTokens = body["max_tokens"]
  if (!Number.isInteger(maxTokens) || (maxTokens as number) < 1)
    yield "max_tokens: must be a whole number of at least 1"
  if (body["stream"] !== true) yield "stream: is not asked for"
  yield* systemViolations(body["system"])
  yield* toolViolations(body["tools"])
  yield* thinkingViolations(body)
  yield* cacheViolations(body)
  const text = JSON.stringify(body)
  if (/\\ud[89a-f]/i.test(text)) yield "body: a surrogate is alone"
  yield* messageViolations(body["messages"] as ReadonlyArray<Message>, body)
}

function* systemViolations(system: unknown): Generator<string> {
  if (system === undefined) return
  if (!Array.isArray(system) || system.length === 0) return yield "system: is empty"
  for (const block of system) yield* textViolations("system", block)
}

function* textViolations(path: string, block: Json): Generator<string> {
  if (typeof block["text"] !== "string" || block["text"].trim() === "") yield `${path}: text must not be blank`
}

const NAME = /^[a-zA-Z0-9_-]{1,128}$/

function* toolViolations(tools: unknown): Generator<string> {
  if (tools === undefined) return
  if (!Array.isArray(tools) || tools.length === 0) return yield "tools: is empty"
  const names = tools.map(({ name }) => name as string)
  if (new Set(names).size !== names.length) yield "tools: names must be unique"
  for (const { name, input_schema } of tools as ReadonlyArray<{ name: string; input_schema: Json }>) {
    if (!NAME.test(name)) yield `tools.${name}: is no name`
    if (input_schema["type"] !== "object") yield `tools.${name}: the schema must be of an object`
    for (const keyword of ["$ref", "anyOf", "oneOf", "allOf"]) {
      if (keyword in input_schema) yield `tools.${name}: ${keyword} must not be at the root of the schema`
    }
  }
}

function* thinkingViolations({ thinking, max_tokens, output_config }: Json): Generator<string> {
  const { type, budget_tokens } = (thinking ?? {}) as Json
  if (type === "enabled") {
    if (typeof budget_tokens !== "number" || budget_tokens < 1024) yield "thinking: the budget must be at least 1024"
    else if (budget_tokens >= (max_tokens as number)) yield "thinking: the budget must be less than max_tokens"
  }
  const effort = (output_config as Json | undefined)?.["effort"]
  if ((type === "disabled" || type === "between_tools") && ["xhigh", "max"].includes(effort as string)) {
    yield "output_config: this effort needs thinking"
  }
}

/** In the order in which the API reads a request. */
function* cacheViolations({ tools, system, messages }: Json): Generator<string> {
  const blocks = [
    ...((tools ?? []) as ReadonlyArray<Json>),
    ...((system ?? []) as ReadonlyArray<Json>),
    ...(messages as ReadonlyArray<Message>).flatMap(({ content }) => content)
  ]
  const marked = blocks.filter((block) => block["cache_control"] !== undefined)
  if (marked.length > 4) yield `cache_control: there are ${marked.length} marks, and only 4 are allowed`
  if (marked.some(({ type }) => isThought(type))) yield "cache_control: thinking cannot be marked"
  const ttls = marked.map((block) => (block["cache_control"] as Json)["ttl"] ?? "5m")
  if (ttls.lastIndexOf("1h") > ttls.indexOf("5m") && ttls.includes("5m")) yield "cache_control: 1h must come before 5m"
}

const isThought = (type: unknown) => type === "thinking" || type === "redacted_thinking"

function* messageViolations(messages: ReadonlyArray<Message>, body: Json): Generator<string> {
  if (messages.length === 0) return yield "messages: there must be one"
  if (messages[0]!.role !== "user") yield "messages.0: must be of the user"
  // A turn that the API has paused goes back as it is.
  const paused = !["text", "tool_use", undefined].includes(messages.at(-1)!.content.at(-1)?.["type"] as string)
  if (messages.at(-1)!.role !== "user" && !paused) yield "messages: the last must be of the user"
  const ids = new Set<unknown>()
  const type = (body["thinking"] as Json | undefined)?.["type"]
  const thinks = type === "adaptive" || type === "enabled"
  for (const [index, message] of messages.entries()) {
    const path = `messages.${index}`
    const { role, content } = message
    if (role !== "user" && role !== "assistant") yield `${path}: ${role} is no role`
    if (role === messages[index - 1]?.role) yield `${path}: two turns of the ${role} follow each other`
    if (!Array.isArray(content) || content.length === 0) yield `${path}: must not be empty`
    for (const [at, block] of content.entries()) yield* blockViolations(`${path}.${at}`, role, block)
    for (const { id } of content.filter((block) => block["type"] === "tool_use")) {
      if (ids.has(id)) yield `${path}: the id ${id} was there before`
      ids.add(id)
    }
    if (role === "assistant" && isThought(content.at(-1)?.["type"])) yield `${path}: must not end with thinking`
    if (!thinks && content.some((block) => isThought(block["type"])))
      yield `${path}: there is thinking without thinking`
    yield* resultViolations(path, message, messages[index - 1])
  }
  if (type === "enabled") yield* loopViolations(messages)
  const hasTools = messages.some(({ content }) => content.some((block) => block["type"] === "tool_use"))
  if (hasTools && body["tools"] === undefined) yield "tools: must be declared where calls are in the transcript"
}

const ID = /^[a-zA-Z0-9_-]{1,64}$/

function* blockViolations(path: string, role: string, block: Json): Generator<string> {
  switch (block["type"]) {
    case "text":
      return yield* textViolations(path, block)
    case "image": {
      const { type, media_type, data } = block["source"] as Json
      const known = ["image/jpeg", "image/png", "image/gif", "image/webp"].includes(media_type as string)
      if (role !== "user") yield `${path}: an image must be of the user`
      if (type !== "base64" || !known || data === "") yield `${path}: this image cannot be read`
      return
    }
    case "thinking":
    case "redacted_thinking": {
      const proof = block["type"] === "thinking" ? block["signature"] : block["data"]
      if (role !== "assistant") yield `${path}: thinking must be of the assistant`
      if (typeof proof !== "string" || proof === "") yield `${path}: thinking must have its proof`
      return
    }
    case "tool_use": {
      const { id, name, input } = block
      if (role !== "assistant") yield `${path}: a call must be of the assistant`
      if (!ID.test(id as string)) yield `${path}: ${id} is no id`
      if (!NAME.test(name as string)) yield `${path}: ${name} is no name`
      if (typeof input !== "object" || input === null || Array.isArray(input))
        yield `${path}: the input must be an object`
      return
    }
    case "tool_result": {
      if (role !== "user") yield `${path}: a result must be of the user`
      const content = block["content"] as ReadonlyArray<Json>
      if (content.length === 0) yield `${path}: the result is empty`
      if (block["is_error"] === true && content.some(({ type }) => type !== "text")) {
        yield `${path}: the result of an error must be text`
      }
      for (const [at, inner] of content.entries()) yield* blockViolations(`${path}.${at}`, "user", inner)
      return
    }
    default:
      if (role !== "assistant") yield `${path}: ${block["type"]} is no block of a user`
  }
}

/** Each call has its result in the next turn, before anything else, and each result its call in the turn before. */
function* resultViolations(path: string, { content }: Message, before: Message | undefined): Generator<string> {
  const called = (before?.content ?? []).filter(({ type }) => type === "tool_use").map(({ id }) => id)
  const isResult = content.map(({ type }) => type === "tool_result")
  const resulted = content.filter((_, at) => isResult[at]).map((block) => block["tool_use_id"])
  for (const id of called) if (!resulted.includes(id)) yield `${path}: the call ${id} has no result`
  for (const id of resulted) if (!called.includes(id)) yield `${path}: the result ${id} has no call`
  if (new Set(resulted).size !== resulted.length) yield `${path}: a call has two results`
  if (isResult.lastIndexOf(true) >= resulted.length) yield `${path}: results must come first`
}

/** With a budget, a turn of calls that is not over must have begun with thinking. */
function* loopViolations(messages: ReadonlyArray<Message>): Generator<string> {
  const hasResult = ({ content }: Message) => content.some(({ type }) => type === "tool_result")
  if (!hasResult(messages.at(-1)!)) return
  const asked = messages.findLastIndex((message) => message.role === "user" && !hasResult(message))
  if (!isThought(messages[asked + 1]?.content[0]?.["type"])) yield "messages: the calls must begin with thinking"
}
