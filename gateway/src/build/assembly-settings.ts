/** Derives the settings of a gateway's parts from the configuration. */
import type { Settings } from "../assemble.ts";
import { VERSION } from "../base/version.ts";
import type { Config } from "../config.ts";
import type { ServerSecrets } from "../server-secrets.ts";
import type { OperatorCanariesByModel } from "../trust/canary-source.ts";
import { deriveSecrets, deriveSessionSecrets } from "./build-context.ts";
import { deriveLinkOrigin } from "./http-listener.ts";

interface Known {
  config: Config;
  secrets: ServerSecrets;
  secretCanaries: OperatorCanariesByModel;
  development?: boolean | undefined;
  /** False if another worker of this gateway runs the background jobs. */
  upkeep?: boolean;
}

export function deriveSettingsFromConfig({
  config,
  secrets,
  secretCanaries,
  development = false,
  upkeep = true,
}: Known): Settings {
  const { pepper, pepperOld, pepperNext, receiptSeed } = secrets;
  return {
    ...config,
    version: VERSION,
    pepper: {
      current: pepper,
      ...(pepperOld !== undefined && { old: pepperOld }),
      ...(pepperNext !== undefined && { next: pepperNext }),
    },
    sessionSecret: deriveSessionSecrets(config, secrets),
    cursorSecret: deriveSecrets(secrets, "cursors"),
    receiptSeed,
    secretCanaries,
    linkOrigin: deriveLinkOrigin(config),
    isSecure: config.tls !== undefined,
    verifyEmails: config.mail !== undefined,
    loadsSignInLate: development,
    loopbackWebhooks: development,
    upkeep,
  };
}
