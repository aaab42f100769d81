/** API keys as a kind of secret. */
import { useCreateKey, useRevokeKey } from "../data/keys.ts";
import type { SecretKind } from "../secrets/secret-kind.ts";

export const API_KEYS: SecretKind = {
  of: "builder",
  noun: "key",
  fullName: "API key",
  naming: "Name it after the app or environment that uses it.",
  example: "production",
  useCreate: useCreateKey,
  useRevoke: useRevokeKey,
};
