/** A person's permissions on an account's keys, for showing buttons. The API checks them itself. Pure. */
import type { ApiKey, Permission } from "../api/answer-types.ts";

export interface KeyPermissions {
  revoke: boolean;
  /** Members may change and rotate only the keys that they created. */
  edit: (key: Pick<ApiKey, "created_by">) => boolean;
}

export const computeKeyPermissions = (may: readonly Permission[], email: string): KeyPermissions => ({
  revoke: may.includes("work"),
  edit: ({ created_by }) => may.includes("own") || (may.includes("work") && created_by?.email === email),
});
