import * as NodeServices from "@effect/platform-node/NodeServices"
import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { Toolset } from "../../src/services/Toolset.ts"
import * as Bash from "../../src/tools/Bash.ts"
import * as Edit from "../../src/tools/Edit.ts"
import * as Find from "../../src/tools/Find.ts"
import * as Grep from "../../src/tools/Grep.ts"
import * as Read from "../../src/tools/Read.ts"
import * as Tools from "../../src/tools/Tools.ts"
import * as Write from "../../src/tools/Write.ts"
import { execute, folder, textOf } from "./support.ts"

it("the sets have their tools, and nothing in the first can change a file", () => {
  expect(Tools.readOnly.map((tool) => tool.name)).toEqual(["read", "ls", "grep", "find"])
  expect(Tools.coding.map((tool) => tool.name)).toEqual(["read", "ls", "grep", "find", "edit", "write", "bash"])
})

it.live("a toolset works in the working directory that it was made with", () =>
  Effect.gen(function* () {
    const path = yield* folder({ "file.txt": "needle" })
    const { tools } = yield* Effect.provide(Toolset, Tools.layerCoding({ root: path }))
    const edits = [{ oldText: "needle", newText: "pin" }]
    const given = [
      { path: "file.txt" },
      {},
      { pattern: "needle" },
      { pattern: "*.txt" },
      { path: "file.txt", edits },
      { path: "new", content: "" },
      { command: "cat file.txt; pwd" }
    ]
    const texts = yield* Effect.forEach(tools, (tool, index) => Effect.map(execute(tool, given[index]), textOf))
    expect(texts).toEqual([
      "needle",
      "file.txt  6",
      "file.txt:1:needle",
      "file.txt",
      "Edited file.txt: 1 replacement (line 1), 1 line added and 1 removed.",
      "Created new: 0 lines, 0 bytes.",
      `pin${path}\n`
    ])
    const reading = yield* Effect.provide(Toolset, Tools.layerReadOnly({ root: path }))
    expect(textOf(yield* execute(reading.tools[1]!, {}))).toBe("file.txt  3\nnew  0")
  }).pipe(Effect.provide(NodeServices.layer))
)

it("the descriptions tell a model the limits, and the parameters are schemas that providers take", () => {
  expect(Read.tool.description).toContain(`${Read.MAX_LINES} lines and 50 KB`)
  expect(Grep.tool.description).toContain(`${Grep.DEFAULT_LIMIT} matching lines`)
  expect(Find.tool.description).toContain(`${Find.DEFAULT_LIMIT} files`)
  expect(Edit.tool.description).toContain("over 8 MB")
  expect(Write.tool.description).toContain("10 MB at most")
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
