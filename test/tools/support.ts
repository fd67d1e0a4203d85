/**
 * Runs one tool directly, and makes folders for it to work in.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import { expect } from "vitest"
import * as Tool from "../../src/Tool.ts"
import { type Options, Workspace } from "../../src/tools/Workspace.ts"

export const execute = <P, R>(
  tool: Tool.Tool<P, R>,
  params: P,
  update: Tool.Call["update"] = () => Effect.void
): Effect.Effect<Tool.ToolResult, Tool.ToolFailure, R> =>
  Effect.map(tool.execute(params, { id: "call_1", update }), (result) =>
    typeof result === "string" ? Tool.text(result) : result
  )

/** The message of the failure that a call is expected to end in. */
export const failureOf = <P, R>(tool: Tool.Tool<P, R>, params: P): Effect.Effect<string, Tool.ToolResult, R> =>
  Effect.map(Effect.flip(execute(tool, params)), (failure) => {
    expect(failure._tag).toBe("ToolFailure")
    return failure.message
  })

/** The text of a result. Whatever a tool says must be something that a provider takes. */
export const textOf = (result: Tool.ToolResult): string => {
  const text = (result.content ?? []).map((block) => (block.type === "text" ? block.text : "")).join("")
  expect(text.trim()).not.toBe("")
  expect(text.isWellFormed()).toBe(true)
  expect(text).not.toContain("\0")
  return text
}

/** A folder of its own with some files in it. */
export const folder = Effect.fnUntraced(function* (files: Record<string, string | Uint8Array> = {}) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* fs.makeTempDirectoryScoped({ prefix: "effect-agent-test-" })
  for (const [name, content] of Object.entries(files)) {
    const file = `${path}/${name}`
    yield* fs.makeDirectory(file.slice(0, file.lastIndexOf("/")), { recursive: true })
    yield* typeof content === "string" ? fs.writeFileString(file, content) : fs.writeFile(file, content)
  }
  return path
})

/** What tools need, in the current folder and free to go anywhere. */
export const services = Layer.provideMerge(Workspace.layer({ extraFolders: ["/"] }), NodeServices.layer)

/** Gives tools a workspace of their own: one each time. */
export const within =
  (root: string, options: Options = {}) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.provide(effect, Workspace.layer({ root, ...options }))
