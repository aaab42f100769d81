/** Host tokens as a kind of secret. */
import { useCreateHostToken, useRevokeHostToken } from "../../../data/host.ts";
import type { SecretKind } from "../../../secrets/secret-kind.ts";

export const HOST_TOKENS: SecretKind = {
  of: "host",
  noun: "token",
  fullName: "host token",
  naming: "Name it after the machine that uses it.",
  example: "garage",
  useCreate: useCreateHostToken,
  useRevoke: useRevokeHostToken,
};
