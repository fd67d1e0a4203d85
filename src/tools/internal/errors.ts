/**
 * What the system says of files, in words for a model: short, without the paths and calls of the machine in it.
 */
import type * as FileSystem from "effect/FileSystem"
import type * as PlatformError from "effect/PlatformError"
import type * as Tool from "../../Tool.ts"
import { failure, showName } from "./text.ts"

/** Why something could not be done with a path, in words. */
export const cannot =
  (action: string, path: string) =>
  (error: PlatformError.PlatformError): Tool.ToolFailure =>
    failure(`Cannot ${action} ${showName(path)}: ${why(error)}.`, error)

export const isMissing = ({ reason }: PlatformError.PlatformError): boolean => reason._tag === "NotFound"

/** Whether a path goes on below a file. */
export const isNoFolder = (error: PlatformError.PlatformError): boolean => codeOf(error) === "ENOTDIR"

/** Whether a link was met where none was to be followed, or links that go round in a circle. */
export const isLink = (error: PlatformError.PlatformError): boolean => codeOf(error) === "ELOOP"

const why = (error: PlatformError.PlatformError): string => {
  switch (error.reason._tag) {
    case "NotFound":
      return "there is no such file or folder"
    case "PermissionDenied":
      return "permission denied"
    default:
      return described[codeOf(error)] ?? systemMessage(error)
  }
}

const described: { readonly [code: string]: string | undefined } = {
  ENOTDIR: "a part of the path is a file, not a folder",
  ELOOP: "its symbolic links go round in a circle",
  ENAMETOOLONG: "the name is too long",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  EROFS: "the disk is read-only",
  EMFILE: "too many files are open",
  ENFILE: "too many files are open"
}

const codeOf = ({ reason }: PlatformError.PlatformError): string =>
  reason.cause instanceof Error ? (/^([A-Z0-9]+):/.exec(reason.cause.message)?.[1] ?? "") : ""

/** What the system said, without the whole command or call around it. */
export const systemMessage = ({ message, reason }: PlatformError.PlatformError): string =>
  reason.cause instanceof Error ? reason.cause.message : message

/** What a path turned out to be. */
export const kind = ({ type }: FileSystem.File.Info): string => {
  switch (type) {
    case "File":
      return "a file"
    case "Directory":
      return "a folder"
    case "FIFO":
      return "a named pipe"
    case "Socket":
      return "a socket"
    default:
      return "a device"
  }
}
