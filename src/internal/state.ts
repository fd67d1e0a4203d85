/**
 * What a run works on: transcript, tools, model. The transcript only grows, so that a view of it is its length, and only
 * new messages are converted for a request.
 */
import type * as Redacted from "effect/Redacted"
import type { LlmMessage, Message } from "../Message.ts"
import type { NextTurn, RunContext } from "../services/Hooks.ts"
import type { Model, ProviderRequest, ThinkingLevel } from "../services/Provider.ts"
import type * as Tool from "../Tool.ts"

export interface Start {
  readonly model: Model
  readonly systemPrompt?: string | undefined
  readonly messages?: ReadonlyArray<Message> | undefined
  readonly tools?: ReadonlyArray<Tool.Any> | undefined
  readonly thinkingLevel?: ThinkingLevel | undefined
}

export class State {
  model: Model
  private thinkingLevel: ThinkingLevel | undefined
  /** The messages of the run: prompts, what was queued, responses and results. */
  readonly newMessages: Array<Message> = []

  private systemPrompt: string | undefined
  private tools: ReadonlyArray<Tool.Any> | undefined
  private declarations: ReadonlyArray<Tool.Declaration> | undefined
  private transcript: Array<Message>
  /** The first `convertedUpTo` messages of the transcript without the kinds of the application, if any of these was there. */
  private converted: Array<LlmMessage> | undefined
  private convertedUpTo = 0
  private callIds: Set<string> | undefined

  constructor(start: Start) {
    this.model = start.model
    this.thinkingLevel = start.thinkingLevel
    this.systemPrompt = start.systemPrompt
    this.tools = start.tools
    this.declarations = start.tools && declarationsOf(start.tools)
    this.transcript = [...(start.messages ?? [])]
  }

  add(message: Message): void {
    this.transcript.push(message)
    this.newMessages.push(message)
    if (this.callIds !== undefined) addCallIds(this.callIds, message)
  }

  /** System prompt, transcript and tools as they are now. Later messages do not show in it. */
  get context(): RunContext {
    return new ContextView(this.systemPrompt, this.transcript, this.tools)
  }

  /** Takes over what the turns to come are to work with. */
  prepare({ context, model, thinkingLevel }: NextTurn): void {
    if (context) this.replaceContext(context)
    this.model = model ?? this.model
    this.thinkingLevel = thinkingLevel ?? this.thinkingLevel
  }

  private replaceContext(context: RunContext): void {
    this.systemPrompt = context.systemPrompt
    this.tools = context.tools
    this.declarations = context.tools && declarationsOf(context.tools)
    this.transcript = [...context.messages]
    this.converted = undefined
    this.convertedUpTo = 0
    if (this.callIds !== undefined) context.messages.reduce(addCallIds, this.callIds)
  }

  /** A request with the given messages, or with those of the transcript that a model understands. */
  request(messages: ReadonlyArray<LlmMessage> | undefined, apiKey: Redacted.Redacted | undefined): ProviderRequest {
    return new RequestView({
      systemPrompt: this.systemPrompt,
      messages: messages ?? this.understood(),
      tools: this.declarations,
      model: this.model,
      thinkingLevel: this.thinkingLevel === "off" ? undefined : this.thinkingLevel,
      apiKey
    })
  }

  private understood(): ReadonlyArray<LlmMessage> {
    for (; this.convertedUpTo < this.transcript.length; this.convertedUpTo++) {
      const message = this.transcript[this.convertedUpTo]!
      if (!isLlmMessage(message)) this.converted ??= this.transcript.slice(0, this.convertedUpTo).filter(isLlmMessage)
      else if (this.converted !== undefined) this.converted.push(message)
    }
    return this.converted ?? (this.transcript as ReadonlyArray<LlmMessage>)
  }

  /** Makes ids of calls unique in the transcript: the second "a" becomes "a_2". To be made anew for each response. */
  uniqueIds(): (id: string) => string {
    let own: Set<string> | undefined
    return (id) => {
      const taken = (this.callIds ??= this.transcript.reduce(addCallIds, new Set<string>()))
      own ??= new Set()
      let unique = id
      for (let n = 2; taken.has(unique) || own.has(unique); n++) unique = `${id}_${n}`
      own.add(unique)
      return unique
    }
  }
}

/**
 * Messages as they are now, of a list that only grows: copied when they are first read. The accessor is a property of the
 * object's own, so that copies of the object have a plain value.
 */
class MessagesView<M> {
  declare readonly messages: ReadonlyArray<M>
  readonly #list: ReadonlyArray<M>
  readonly #length: number
  #copy: ReadonlyArray<M> | undefined

  constructor(list: ReadonlyArray<M>) {
    this.#list = list
    this.#length = list.length
    Object.defineProperty(this, "messages", MessagesView.#messages)
  }

  static readonly #messages: PropertyDescriptor & ThisType<MessagesView<unknown>> = {
    enumerable: true,
    get() {
      return (this.#copy ??= this.#list.slice(0, this.#length))
    }
  }
}

class ContextView extends MessagesView<Message> implements RunContext {
  readonly systemPrompt: string | undefined
  readonly tools: ReadonlyArray<Tool.Any> | undefined

  constructor(
    systemPrompt: string | undefined,
    messages: ReadonlyArray<Message>,
    tools: ReadonlyArray<Tool.Any> | undefined
  ) {
    super(messages)
    this.systemPrompt = systemPrompt
    this.tools = tools
  }
}

class RequestView extends MessagesView<LlmMessage> implements ProviderRequest {
  readonly systemPrompt: string | undefined
  readonly tools: ReadonlyArray<Tool.Declaration> | undefined
  readonly model: Model
  readonly thinkingLevel: ProviderRequest["thinkingLevel"]
  readonly apiKey: Redacted.Redacted | undefined

  constructor({ systemPrompt, messages, tools, model, thinkingLevel, apiKey }: ProviderRequest) {
    super(messages)
    this.systemPrompt = systemPrompt
    this.tools = tools
    this.model = model
    this.thinkingLevel = thinkingLevel
    this.apiKey = apiKey
  }
}

/** Whether a model understands the message as it is. */
export const isLlmMessage = (message: Message): message is LlmMessage =>
  message.role === "user" || message.role === "assistant" || message.role === "toolResult"

const addCallIds = (ids: Set<string>, message: Message): Set<string> => {
  if (message.role !== "assistant") return ids
  for (const block of message.content) if (block.type === "toolCall") ids.add(block.id)
  return ids
}

const declarationsOf = (tools: ReadonlyArray<Tool.Any>): ReadonlyArray<Tool.Declaration> =>
  tools.map(({ name, description, parameters }) => ({ name, description, parameters }))
