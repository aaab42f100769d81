import type { AccountKind } from "../api/answer-types.ts";

/**
 * A secret in a list. There are two kinds of secrets, API keys and host tokens. Both have a name, are shown once and
 * work until they are revoked. A SecretKind defines how the kinds differ.
 */
export interface SecretRow {
  id: string;
  name: string;
  /** The first characters of the secret, enough to recognize it. */
  start: string;
  created_at: number;
  last_used_at: number | null;
  revoked_at: number | null;
}

/** The part of `useMutation`'s result that the pages for secrets use. */
interface Change<Variables, Data> {
  mutate: (variables: Variables, then: { onSuccess: (data: Data) => void }) => void;
  isPending: boolean;
  error: Error | null;
}

export interface SecretKind {
  /** The kind of account to which these secrets belong. */
  of: AccountKind;
  /** For example "key", as in "Create key". */
  noun: string;
  /** For example "API key". */
  fullName: string;
  /** Advice on how to name a secret. */
  naming: string;
  /** An example of a name for a secret, shown in the empty name field. */
  example: string;
  useCreate: () => Change<string, { secret: string }>;
  useRevoke: () => Change<string, unknown>;
}
