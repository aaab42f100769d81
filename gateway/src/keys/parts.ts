/** Keys and tokens as routes use them. */
import type { ApiKeys } from "./api-keys.ts";
import { openHostTokens, type Secrets, type SecretsOptions } from "./keys.ts";
import { openSessionKeys, type SessionKeys } from "./session-keys.ts";

export interface KeyParts {
  apiKeys: ApiKeys;
  hostTokens: Secrets;
  /** What the playground calls with. */
  sessionKeys: SessionKeys;
}

/** `apiKeys` are the request path's own: both share one cache. */
export const openKeyParts = (options: SecretsOptions, apiKeys: ApiKeys): KeyParts => ({
  apiKeys,
  hostTokens: openHostTokens(options),
  sessionKeys: openSessionKeys(options),
});
