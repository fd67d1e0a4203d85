import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Agent from "effect-agent/Agent"
import * as Scripted from "effect-agent/providers/Scripted"
import * as BashPolicy from "effect-agent/tools/BashPolicy"
import * as Tools from "effect-agent/tools/Tools"

const policy = BashPolicy.make({ allow: ["git status*", "npm test"], deny: ["rm *"] })

const agentIn = (root: string) =>
  Agent.layer({ model: { provider: "scripted", id: "coder" }, hooks: policy }).pipe(
    Layer.provide(Tools.layerCoding({ root, readOnlyFolders: [`${root}/vendor`] }))
  )

const model = Scripted.layer({
  turns: [
    [{ type: "toolCall", id: "1", name: "write", arguments: { path: "notes.txt", content: "Milk\nEggs\n" } }],
    [
      { type: "toolCall", id: "2", name: "edit", arguments: { path: "notes.txt", oldText: "Eggs", newText: "Bread" } },
      { type: "toolCall", id: "3", name: "bash", arguments: { command: "rm notes.txt" } }
    ],
    [{ type: "text", text: "Bread instead of eggs; the file stays." }]
  ]
})

const main = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const root = yield* fs.makeTempDirectoryScoped()
  const work = Effect.gen(function* () {
    const agent = yield* Agent.Agent
    const { text } = yield* agent.prompt("Put bread on my list, and clean up")
    yield* Console.log(text, JSON.stringify(yield* fs.readFileString(`${root}/notes.txt`)))
  })
  yield* Effect.provide(work, agentIn(root))
})

main.pipe(Effect.scoped, Effect.provide([NodeServices.layer, model]), Effect.runPromise)
