/** Opens the keys and tokens that the HTTP routes use. */
import type { ApiKeys } from "./api-keys.ts";
import { openPlaygroundKeys, type PlaygroundKeys } from "./playground-keys.ts";
import { openHostTokenService, type SecretStore, type SecretsOptions } from "./secret-store.ts";

export interface KeyServices {
  apiKeys: ApiKeys;
  hostTokens: SecretStore;
  /** The keys of the console's playground. */
  sessionKeys: PlaygroundKeys;
}

/** `apiKeys` is the instance of the request path, so that both use one cache. */
export const openKeyServices = (options: SecretsOptions, apiKeys: ApiKeys): KeyServices => ({
  apiKeys,
  hostTokens: openHostTokenService(options),
  sessionKeys: openPlaygroundKeys(options),
});
