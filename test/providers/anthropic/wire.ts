// What a server of the Messages API sends, event by event.

export type WireEvent = Readonly<Record<string, unknown>> & { readonly type: string }

export const sse = (...events: ReadonlyArray<WireEvent>): string =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("")

export const start = (usage: object = { input_tokens: 10, output_tokens: 1 }): WireEvent => ({
  type: "message_start",
  message: { id: "msg_1", type: "message", role: "assistant", content: [], model: "m", stop_reason: null, usage }
})

export const begin = (index: number, block: object): WireEvent => ({
  type: "content_block_start",
  index,
  content_block: block
})

export const delta = (index: number, delta: object): WireEvent => ({ type: "content_block_delta", index, delta })

export const end = (index: number): WireEvent => ({ type: "content_block_stop", index })

export const ping: WireEvent = { type: "ping" }

export const stop: WireEvent = { type: "message_stop" }

export const halt = (reason: string | null, more: object = {}, usage: object = { output_tokens: 5 }): WireEvent => ({
  type: "message_delta",
  delta: { stop_reason: reason, stop_sequence: null, ...more },
  usage
})

export const text = (index: number, ...chunks: ReadonlyArray<string>): ReadonlyArray<WireEvent> => [
  begin(index, { type: "text", text: "" }),
  ...chunks.map((text) => delta(index, { type: "text_delta", text })),
  end(index)
]

export const thinking = (index: number, signature: string, ...chunks: ReadonlyArray<string>) => [
  begin(index, { type: "thinking", thinking: "", signature: "" }),
  ...chunks.map((thinking) => delta(index, { type: "thinking_delta", thinking })),
  ...(signature === "" ? [] : [delta(index, { type: "signature_delta", signature })]),
  end(index)
]

export const call = (index: number, name: string, id: string, ...chunks: ReadonlyArray<string>) => [
  begin(index, { type: "tool_use", id, name, input: {} }),
  ...chunks.map((partial_json) => delta(index, { type: "input_json_delta", partial_json })),
  end(index)
]

/** A whole response of one text. */
export const says = (...chunks: ReadonlyArray<string>): string =>
  sse(start(), ...text(0, ...chunks), halt("end_turn"), stop)

/** A whole response of these blocks that ends to have tools called. */
export const calls = (...blocks: ReadonlyArray<ReadonlyArray<WireEvent>>): string =>
  sse(start(), ...blocks.flat(), halt("tool_use"), stop)
