/** Signed cursors for the pages of a list. A cursor is valid for one list only. */
import { createHmac, timingSafeEqual } from "node:crypto";
import { listOtherSecrets, type RotatingSecret } from "../../base/rotating-secret.ts";
import { fault } from "../../faults.ts";

const MAC_BYTES = 12;

export interface Cursors {
  /** Creates a cursor. `list` identifies the list and its owner. */
  write(list: string, position: string): string;
  /** Returns the cursor's position. Throws 400 `invalid_cursor`. */
  read(list: string, cursor: string): string;
}

export function openPageCursors(secret: RotatingSecret): Cursors {
  const others = listOtherSecrets(secret);
  const mac = (list: string, position: string, of = secret.current): Buffer =>
    createHmac("sha256", of).update(`${list}\n${position}`).digest().subarray(0, MAC_BYTES);
  return {
    write: (list, position) => Buffer.concat([mac(list, position), Buffer.from(position)]).toString("base64url"),
    read(list, cursor) {
      const bytes = Buffer.from(cursor, "base64url");
      const position = bytes.subarray(MAC_BYTES).toString();
      const isOf = (of: string): boolean => timingSafeEqual(bytes.subarray(0, MAC_BYTES), mac(list, position, of));
      // The base64 decoder ignores some characters. Comparing the encoded form refuses cursors that contain them.
      const isGenuine =
        bytes.length > MAC_BYTES && bytes.toString("base64url") === cursor && [secret.current, ...others].some(isOf);
      if (!isGenuine) throw fault("invalid_cursor");
      return position;
    },
  };
}
