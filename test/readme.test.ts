import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"

it.live("the programs in the README are the examples that CI runs", () =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const readme = yield* fs.readFileString("README.md")
    const blocks = [...readme.matchAll(/<!-- (examples\/\S+) -->\n\n```ts\n(.*?)```/gs)]
    for (const [, path, code] of blocks) assert.strictEqual(code, yield* fs.readFileString(path!), path)
    const sketches = [...readme.matchAll(/(?<!-->\n\n)```ts\n/g)]
    assert.isAbove(blocks.length, 3)
    assert.strictEqual(sketches.length, 1, "every program in the README is an example, but for one sketch")
  }).pipe(Effect.provide(NodeServices.layer))
)
