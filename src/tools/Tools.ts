/**
 * Ready sets of tools, to be given to `Toolset.layer(...Tools.coding)`.
 */
import * as Bash from "./Bash.ts"
import * as Grep from "./Grep.ts"
import * as Ls from "./Ls.ts"
import * as Read from "./Read.ts"

/** Tools that change nothing. */
export const readOnly = [Read.tool, Ls.tool, Grep.tool] as const

/** Tools for work on the files of a folder. */
export const coding = [...readOnly, Bash.tool] as const
