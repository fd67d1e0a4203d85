// The edit tool on 10,000 generated files and edits, each byte compared with the oracle.
import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import * as Edit from "../../src/tools/Edit.ts"
import { Workspace } from "../../src/tools/Workspace.ts"
import { expected } from "./editOracle.ts"
import { makeEdits, makeFile, makeRandom, withoutSync } from "./generated.ts"
import { execute, folder, services, within } from "./support.ts"

const CASES = 10_000

it.live(
  `an edit does to each byte what the oracle says, in ${CASES} cases`,
  () =>
    Effect.gen(function* () {
      const { root } = yield* Workspace
      const path = `${root}/file`
      const random = makeRandom(20_261_130)
      const counts = {
        exact: 0,
        lineEndings: 0,
        blanksAndQuotes: 0,
        several: 0,
        all: 0,
        refused: 0,
        notUtf8: 0,
        bom: 0
      }
      for (let n = 0; n < CASES; n++) {
        const file = makeFile(random)
        const edits = makeEdits(random, file)
        writeFileSync(path, file)
        const result = yield* Effect.result(execute(Edit.tool, { path: "file", edits }))
        const wanted = expected(file, edits)
        const seen = { n, file: file.toString("latin1"), edits }
        expect({ ...seen, edited: Result.isSuccess(result) }).toEqual({ ...seen, edited: wanted !== undefined })
        const bytes = readFileSync(path)
        if (!bytes.equals(wanted?.bytes ?? file)) {
          expect({ ...seen, bytes: bytes.toString("latin1") }).toEqual({
            ...seen,
            bytes: (wanted?.bytes ?? file).toString("latin1")
          })
        }
        if (Result.isFailure(result)) counts.refused++
        else {
          expect({ ...seen, details: result.success.details }).toMatchObject({
            ...seen,
            details: { matches: wanted!.levels }
          })
          for (const level of wanted!.levels) counts[level]++
          if (edits.length > 1) counts.several++
          if (edits.some((edit) => edit.all)) counts.all++
          if (file.toString("utf8").includes("\ufffd")) counts.notUtf8++
          if (file.toString("utf8").startsWith("\ufeff")) counts.bom++
        }
      }
      expect(readdirSync(root)).toEqual(["file"])
      // What was compared, so that a generator that has gone dull is noticed.
      for (const count of Object.values(counts)) expect(count).toBeGreaterThan(100)
      console.log(`edited and refused: ${JSON.stringify(counts)}`)
    }).pipe(
      withoutSync,
      // The files change under its hands: what was seen of them is not to be remembered.
      (test) => Effect.flatMap(folder(), (root) => within(root, { checkChanges: false })(test)),
      Effect.provide(services)
    ),
  120_000
)
