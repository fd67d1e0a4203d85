/**
 * Ready sets of tools: to be given to `Toolset.layer(...Tools.coding)` with others beside them, or as a layer with a
 * workspace of their own. Each layer that is made is for one agent, since a workspace remembers what its agent has seen.
 */
import type * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import type * as Path from "effect/Path"
import type * as ChildProcessSpawner from "effect/process/ChildProcessSpawner"
import { type DuplicateTool, Toolset } from "../services/Toolset.ts"
import * as Bash from "./Bash.ts"
import * as Edit from "./Edit.ts"
import * as Find from "./Find.ts"
import * as Grep from "./Grep.ts"
import * as Ls from "./Ls.ts"
import * as Read from "./Read.ts"
import { type Options, Workspace } from "./Workspace.ts"
import * as Write from "./Write.ts"

/** Tools that change nothing. */
export const readOnly = [Read.tool, Ls.tool, Grep.tool, Find.tool] as const

/** Tools for work on the files of a folder. */
export const coding = [...readOnly, Edit.tool, Write.tool, Bash.tool] as const

type Platform = FileSystem.FileSystem | Path.Path | ChildProcessSpawner.ChildProcessSpawner

/** The set `readOnly` in a workspace of its own; the root is the current folder unless given. */
export const layerReadOnly = (options?: Options): Layer.Layer<Toolset, DuplicateTool, Platform> =>
  Toolset.layer(...readOnly).pipe(Layer.provide(Workspace.layer(options)))

/** The set `coding` in a workspace of its own; the root is the current folder unless given. */
export const layerCoding = (options?: Options): Layer.Layer<Toolset, DuplicateTool, Platform> =>
  Toolset.layer(...coding).pipe(Layer.provide(Workspace.layer(options)))
