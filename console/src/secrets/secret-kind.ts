import type { AccountKind } from "../api/types.ts";

/**
 * API keys and host tokens are two kinds of secrets: they have a name, are shown once and work until they are revoked.
 * A SecretKind defines how they differ.
 */
export interface SecretRow {
  id: string;
  name: string;
  /** The beginning of the secret, enough to recognise it. */
  start: string;
  created_at: number;
  last_used_at: number | null;
  revoked_at: number | null;
}

/** The part of `useMutation`'s result that is used here. */
interface Change<Variables, Data> {
  mutate: (variables: Variables, then: { onSuccess: (data: Data) => void }) => void;
  isPending: boolean;
  error: Error | null;
}

export interface SecretKind {
  /** The kind of account that has these secrets. */
  of: AccountKind;
  /** "key", as in "Create key". */
  noun: string;
  /** For example "API key". */
  fullName: string;
  /** Advice on how to name it. */
  naming: string;
  /** An example of a name. */
  example: string;
  useCreate: () => Change<string, { secret: string }>;
  useRevoke: () => Change<string, unknown>;
}
