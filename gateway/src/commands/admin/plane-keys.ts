/**
 * `tollgate admin plane new-key` and `plane retire-keys`: replace the key that signs credentials for NATS servers,
 * while gateways and nodes stay connected. Neither command needs the database.
 */

import { type Command, JSON_FLAG } from "@tollgate/terminal/command.ts";
import { CommandError, UsageError } from "@tollgate/terminal/errors.ts";
import { systemClock } from "../../base/clock.ts";
import { systemRandom } from "../../base/random.ts";
import { parseConfig } from "../../config.ts";
import { createKey, keyFromSeed } from "../../plane/credentials/nkeys.ts";

export const planeNewKeyCommand: Command = {
  help: "create a key for PLANE_SIGNING_SEED, which signs credentials on NATS servers",
  flags: JSON_FLAG,
  more: [
    "The key is shown once. A gateway that starts with the key registers it with the NATS servers, which then accept credentials that it signs.",
  ],
  example: "",
  async run({ json }, { terminal }) {
    const { seed, publicKey } = createKey("account", systemRandom());
    terminal.print(json ? JSON.stringify({ seed, public_key: publicKey }) : seed);
    return 0;
  },
};

export const planeRetireKeysCommand: Command = {
  help: "remove from the NATS servers every signing key that is not in PLANE_SIGNING_SEED",
  flags: {
    ...JSON_FLAG,
    yes: { help: "accept that this disconnects every node and gateway whose credentials a removed key signed" },
  },
  more: [
    "First restart every gateway with the new PLANE_SIGNING_SEED. Then run this command with the same environment variables.",
  ],
  example: "--yes",
  async run({ switches, json }, { terminal, env }) {
    const { plane } = parseConfig(env);
    const { nats, signingSeeds } = plane;
    const account = plane.seed === undefined ? plane.account : keyFromSeed(plane.seed, "account").publicKey;
    if (nats === undefined || account === undefined || signingSeeds.length === 0) {
      throw new CommandError("this command needs the environment variables NATS_URL and PLANE_SIGNING_SEED", {
        next: "set -a; . gateway.env; set +a",
      });
    }
    if (!switches.has("yes")) {
      throw new UsageError(
        "--yes is missing: this command disconnects every node and gateway whose credentials were signed by a key that is not in PLANE_SIGNING_SEED",
      );
    }
    const { setSigningKeys } = await import("../../plane/nats/signing-keys.ts");
    const { url, system, operatorSeed } = nats;
    const operator = keyFromSeed(operatorSeed, "operator");
    const kept = signingSeeds.map((seed) => keyFromSeed(seed, "account").publicKey);
    const retired = await setSigningKeys({ url, system, account, operator, clock: systemClock }, kept);
    if (json) terminal.print(JSON.stringify({ kept, retired }));
    else
      terminal.print(
        retired.length === 0
          ? "Nothing was removed: every signing key of the NATS plane is in PLANE_SIGNING_SEED."
          : `Removed: ${retired.join(", ")}`,
      );
    return 0;
  },
};
