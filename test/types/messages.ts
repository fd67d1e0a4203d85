// An application's own kinds of messages, by declaration merging (in test/support/notice.ts, for the whole program).
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { AgentEvent } from "../../src/AgentEvent.ts"
import * as Loop from "../../src/Loop.ts"
import * as Message from "../../src/Message.ts"
import type { ProviderRequest } from "../../src/services/Provider.ts"
import { type Notice, notice } from "../support/notice.ts"
import { holds, is, model, type Same } from "./services.ts"

// They are messages wherever messages are: in prompts, transcripts, polls and events.
is<Message.Message>(notice("n"))
Loop.run({ model, prompts: [notice("n")], messages: [notice("m")], steering: Effect.succeed([notice("s")]) })
type Ended = Extract<AgentEvent, { type: "message_end" }>["message"]
holds<Same<Extract<Ended, { role: "notice" }>, Notice>>()
holds<Same<Message.CustomMessage, Notice>>()

const text = (given: Message.Message): string => {
  switch (given.role) {
    case "notice":
      return given.text
    case "user":
    case "assistant":
    case "toolResult":
      return given.role
  }
}
void text

// @ts-expect-error a kind that nobody declared is no message
is<Message.Message>({ role: "chart", timestamp: 0 })
// @ts-expect-error neither is one that lacks its fields
is<Message.Message>({ role: "notice", timestamp: 0 })

// They reach a model only if they are translated.
// @ts-expect-error models know three kinds
is<Message.LlmMessage>(notice("n"))
// @ts-expect-error so do requests
is<Pick<ProviderRequest, "messages">>({ messages: [notice("n")] })
// @ts-expect-error a response is no notice
is<Extract<AgentEvent, { type: "turn_end" }>["message"]>(notice("n"))

// Their Schema carries role and timestamp; the field's own roles are taken.
const Chart = Message.custom("chart", { points: Schema.Array(Schema.Finite) })
holds<
  Same<
    typeof Chart.Type,
    { readonly role: "chart"; readonly points: ReadonlyArray<number>; readonly timestamp: number }
  >
>()
// @ts-expect-error the role is taken
Message.custom("user", {})
// @ts-expect-error the role is taken
Message.custom("toolResult", {})

// Everything is read-only.
const userMessage: Message.UserMessage = { role: "user", content: "x", timestamp: 0 }
// @ts-expect-error a message does not change
userMessage.content = "y"
