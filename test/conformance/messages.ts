// Messages of the recordings as messages of this project: timestamps, and the members that a scenario may leave out.
import { emptyUsage, type Message, type Usage } from "../../src/Message.ts"
import type { RecordedMessage, RecordedUsage } from "./scenario.ts"

export const toUsage = ({ input = 0, output = 0, cacheRead = 0, cacheWrite = 0 }: RecordedUsage): Usage => ({
  input,
  output,
  cacheRead,
  cacheWrite,
  totalTokens: input + output + cacheRead + cacheWrite
})

const defaults: Record<string, object> = {
  assistant: { provider: "acme", model: "m1", stopReason: "stop", usage: emptyUsage },
  toolResult: { details: {}, isError: false }
}

/** The kinds of an application (`custom`, `notice`) are declared nowhere: hence the assertion. */
export const toMessage = (recorded: RecordedMessage): Message =>
  ({ ...defaults[recorded.role], ...recorded, timestamp: 0 }) as unknown as Message

export const toMessages = (recorded: ReadonlyArray<RecordedMessage> = []): ReadonlyArray<Message> =>
  recorded.map(toMessage)
