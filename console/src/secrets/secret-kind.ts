import type { AccountKind } from "../api/types.ts";

/**
 * API keys and host tokens are two kinds of one thing: a named secret that is shown once and works until it is revoked. What
 * differs between them is said here.
 */
export interface SecretRow {
  id: string;
  name: string;
  /** How the secret begins: enough to recognise it. */
  start: string;
  created_at: number;
  last_used_at: number | null;
  revoked_at: number | null;
}

/** A change as `useMutation` gives it, as far as it is used here. */
interface Change<Variables, Data> {
  mutate: (variables: Variables, then: { onSuccess: (data: Data) => void }) => void;
  isPending: boolean;
  error: Error | null;
}

export interface SecretKind {
  /** Whose they are. */
  of: AccountKind;
  /** "key", as in "Create key". */
  noun: string;
  /** "API key". */
  fullName: string;
  /** What to name it for. */
  naming: string;
  /** A name as an example. */
  example: string;
  useCreate: () => Change<string, { secret: string }>;
  useRevoke: () => Change<string, unknown>;
}
