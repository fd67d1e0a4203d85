import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"

const pages = [
  { page: "README.md", programs: 6, sketches: 1 },
  { page: "docs/testing.md", programs: 8, sketches: 0 },
  { page: "docs/simulation.md", programs: 4, sketches: 0 }
]

for (const { page, programs, sketches } of pages) {
  it.live(`the programs in ${page} are the examples that CI runs`, () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const text = yield* fs.readFileString(page)
      const blocks = [...text.matchAll(/<!-- (examples\/\S+) -->\n\n```ts\n(.*?)```/gs)]
      for (const [, path, code] of blocks) assert.strictEqual(code, yield* fs.readFileString(path!), path)
      assert.isAtLeast(blocks.length, programs)
      const others = text.match(/(?<!-->\n\n)```ts\n/g) ?? []
      assert.strictEqual(others.length, sketches, "every program is an example, but for the sketches")
    }).pipe(Effect.provide(NodeServices.layer))
  )
}
