/** The texts and calls that the shared pages for secrets need for API keys. */
import { useCreateKey, useRevokeKey } from "../data/keys.ts";
import type { SecretKind } from "../secrets/secret-kind.ts";

export const API_KEY_KIND: SecretKind = {
  of: "builder",
  noun: "key",
  fullName: "API key",
  naming: "Use the name of the app or environment that will use the key.",
  example: "production",
  useCreate: useCreateKey,
  useRevoke: useRevokeKey,
};
