// The one kind of message that the tests add to the field's own. Declaration merging is global to a program: this file is
// the only one that does it. Generated worlds queue messages of this kind, too.
import * as Message from "../../src/Message.ts"

export const Notice = Message.custom("notice", { text: Message.Text.fields.text })
export type Notice = typeof Notice.Type

declare module "../../src/Message.ts" {
  interface CustomMessages {
    readonly notice: Notice
  }
}

export const notice = (text: string, timestamp = 0): Notice => ({ role: "notice", text, timestamp })
