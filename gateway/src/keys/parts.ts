/** Opens the keys and tokens that the HTTP routes use. */
import type { ApiKeys } from "./api-keys.ts";
import { openHostTokens, type Secrets, type SecretsOptions } from "./keys.ts";
import { openSessionKeys, type SessionKeys } from "./session-keys.ts";

export interface KeyParts {
  apiKeys: ApiKeys;
  hostTokens: Secrets;
  /** The keys of the console's playground. */
  sessionKeys: SessionKeys;
}

/** `apiKeys` is the instance of the request path, so that both use one cache. */
export const openKeyParts = (options: SecretsOptions, apiKeys: ApiKeys): KeyParts => ({
  apiKeys,
  hostTokens: openHostTokens(options),
  sessionKeys: openSessionKeys(options),
});
