import * as NodeServices from "@effect/platform-node/NodeServices"
import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Toolset } from "../../src/services/Toolset.ts"
import * as Bash from "../../src/tools/Bash.ts"
import * as Grep from "../../src/tools/Grep.ts"
import * as Read from "../../src/tools/Read.ts"
import * as Tools from "../../src/tools/Tools.ts"
import { Workspace } from "../../src/tools/Workspace.ts"
import { execute, folder, textOf } from "./support.ts"

it("the sets have their tools, and nothing in the first can change a file", () => {
  expect(Tools.readOnly.map((tool) => tool.name)).toEqual(["read", "ls", "grep"])
  expect(Tools.coding.map((tool) => tool.name)).toEqual(["read", "ls", "grep", "bash"])
})

it.live("a toolset works in the working directory that it was made with", () =>
  Effect.gen(function* () {
    const path = yield* folder({ "file.txt": "needle" })
    const layer = Toolset.layer(...Tools.coding).pipe(Layer.provide(Workspace.layer({ root: path })))
    const { tools } = yield* Effect.provide(Toolset, layer)
    const given = [{ path: "file.txt" }, {}, { pattern: "needle" }, { command: "pwd" }]
    const texts = yield* Effect.forEach(tools, (tool, index) => Effect.map(execute(tool, given[index]), textOf))
    expect(texts).toEqual(["needle", "file.txt  6", "file.txt:1:needle", `${path}\n`])
  }).pipe(Effect.provide(NodeServices.layer))
)

it("the descriptions tell a model the limits, and the parameters are schemas that providers take", () => {
  expect(Read.tool.description).toContain(`${Read.MAX_LINES} lines and 50 KB`)
  expect(Grep.tool.description).toContain(`${Grep.DEFAULT_LIMIT} matching lines`)
  expect(Bash.tool.description).toContain(`${Bash.DEFAULT_TIMEOUT} seconds`)
  for (const tool of Tools.coding) {
    expect(tool.parameters).toMatchObject({ type: "object" })
    expect(tool.parameters).not.toHaveProperty("$ref")
    for (const field of Object.values(tool.parameters["properties"] as Record<string, object>)) {
      expect(JSON.stringify(field)).toContain('"description"')
    }
  }
  expect(Read.tool.parameters["properties"]).toHaveProperty("limit.type", "integer")
  expect(Bash.tool.parameters["properties"]).toHaveProperty("timeout.type", "number")
})
