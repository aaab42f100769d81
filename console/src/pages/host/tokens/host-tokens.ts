/** The texts and calls that the shared pages for secrets need for host tokens. */
import { useCreateHostToken, useRevokeHostToken } from "../../../data/host-nodes-and-tokens.ts";
import type { SecretKind } from "../../../secrets/secret-kind.ts";

export const HOST_TOKEN_KIND: SecretKind = {
  of: "host",
  noun: "token",
  fullName: "host token",
  naming: "Use the name of the machine that will use the token.",
  example: "garage",
  useCreate: useCreateHostToken,
  useRevoke: useRevokeHostToken,
};
