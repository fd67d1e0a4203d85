import { make } from "effect-agent/promise"
import * as Scripted from "effect-agent/providers/Scripted"

const agent = await make({
  model: { provider: "scripted", id: "hello" },
  provider: Scripted.layer({
    turns: [[{ type: "text", text: "Hello, you!", chunk: 4 }], [{ type: "text", text: "Goodbye." }]]
  })
})

for await (const event of agent.stream("Say hello.")) {
  if (event.type === "message_update" && event.assistantMessageEvent.type === "text_delta") {
    console.log(event.assistantMessageEvent.delta)
  }
}

const { text, reason } = await agent.prompt("And now goodbye.", { signal: AbortSignal.timeout(60_000) })
console.log(`${reason}: ${text}`)

await agent.dispose()
