/** Keys and tokens, for routes. */
import type { ApiKeys } from "./api-keys.ts";
import { openHostTokens, type Secrets, type SecretsOptions } from "./keys.ts";
import { openSessionKeys, type SessionKeys } from "./session-keys.ts";

export interface KeyParts {
  apiKeys: ApiKeys;
  hostTokens: Secrets;
  /** The keys of the playground. */
  sessionKeys: SessionKeys;
}

/** `apiKeys` is shared with the request path, for a common cache. */
export const openKeyParts = (options: SecretsOptions, apiKeys: ApiKeys): KeyParts => ({
  apiKeys,
  hostTokens: openHostTokens(options),
  sessionKeys: openSessionKeys(options),
});
