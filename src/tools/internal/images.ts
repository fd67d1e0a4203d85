/**
 * Images as models take them: known by their first bytes, whole, upright, and made smaller where they are larger than a
 * model looks at. What cannot be decoded is refused here: sent to a provider, it would make each further request fail.
 *
 * `sharp` is loaded with the first image, since it takes longer than most programs run.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Sharp } from "sharp"

/** The longer side of what is shown, in pixels: models make larger images smaller themselves. */
export const MAX_SIDE = 1568
/** How large what is shown may be. As base64 it stays under the 5 MB that providers take. */
export const MAX_BYTES = 3.5 * 1024 * 1024
/** How large a file may be to be looked at, and how many pixels it may have. */
export const MAX_FILE_BYTES = 64 * 1024 * 1024
export const MAX_PIXELS = 100_000_000

export interface Image {
  readonly data: Uint8Array
  readonly mimeType: string
  readonly width: number
  readonly height: number
  /** What it was before it was made smaller or turned into another format; absent if it is as it was. */
  readonly original?: { readonly width: number; readonly height: number }
}

export class ImageError extends Schema.TaggedError<ImageError>()("ImageError", {
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}

/** The type of an image that can be shown, by its first bytes. */
export const typeOf = (start: Uint8Array): string | undefined => {
  const magic = String.fromCharCode(...start.subarray(0, 12))
  if (magic.startsWith("\x89PNG\r\n\x1a\n")) return "image/png"
  if (magic.startsWith("\xff\xd8\xff")) return "image/jpeg"
  if (magic.startsWith("GIF87a") || magic.startsWith("GIF89a")) return "image/gif"
  if (magic.startsWith("RIFF") && magic.endsWith("WEBP")) return "image/webp"
  if (magic.startsWith("II*\0") || magic.startsWith("MM\0*")) return "image/tiff"
  if (magic.endsWith("ftypavif")) return "image/avif"
  return undefined
}

/** What models take as it is. */
const isTaken = (mimeType: string): boolean => !["image/tiff", "image/avif"].includes(mimeType)

/** An image that can be sent, out of the bytes of a file. */
export const prepare: (bytes: Uint8Array, mimeType: string) => Effect.Effect<Image, ImageError> = Effect.fnUntraced(
  function* (bytes, mimeType) {
    const sharp = yield* load
    const image = sharp(bytes, { failOn: "error", limitInputPixels: MAX_PIXELS }).autoOrient()
    const { autoOrient: size, hasAlpha, orientation = 1 } = yield* decoded(() => image.metadata())
    const isSmall = Math.max(size.width, size.height) <= MAX_SIDE && bytes.length <= MAX_BYTES
    if (isSmall && orientation === 1 && isTaken(mimeType)) {
      // To see that it is whole.
      yield* decoded(() => image.raw().toBuffer())
      return { data: bytes, mimeType, ...sizeOf(size) }
    }
    const smaller = image.resize({ width: MAX_SIDE, height: MAX_SIDE, fit: "inside", withoutEnlargement: true })
    const encoded = hasAlpha ? smaller.webp({ quality: 90 }) : smaller.jpeg({ quality: 85 })
    const { data, info } = yield* decoded(() => encoded.toBuffer({ resolveWithObject: true }))
    return { data, mimeType: `image/${info.format}`, ...sizeOf(info), original: sizeOf(size) }
  }
)

const sizeOf = ({ height, width }: { readonly width: number; readonly height: number }) => ({ width, height })

type Load = (bytes: Uint8Array, options: { readonly failOn: "error"; readonly limitInputPixels: number }) => Sharp

const load: Effect.Effect<Load, ImageError> = Effect.tryPromise({
  try: () => import("sharp").then(({ default: sharp }) => sharp),
  catch: (cause) => new ImageError({ message: "images need the package sharp, which is not there", cause })
})

const decoded = <A>(work: () => Promise<A>): Effect.Effect<A, ImageError> =>
  Effect.tryPromise({
    try: work,
    catch: (cause) => {
      const message = cause instanceof Error ? cause.message : String(cause)
      return new ImageError({ message: /pixel limit/.test(message) ? TOO_LARGE : CANNOT_DECODE, cause })
    }
  })

const CANNOT_DECODE = "it cannot be decoded, so it is broken or cut off"
const TOO_LARGE = `it has more than ${MAX_PIXELS / 1_000_000} million pixels. Make a smaller copy with bash and read that`
