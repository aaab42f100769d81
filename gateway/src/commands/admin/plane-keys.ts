/**
 * `tollgate admin plane new-key` and `plane retire-keys`: another key signs the credentials of gateways and nodes on NATS servers, while
 * they are connected. Neither needs the database.
 */
import { systemClock } from "../../base/clock.ts";
import { systemRandom } from "../../base/random.ts";
import { parseConfig } from "../../config.ts";
import { createKey, keyFromSeed } from "../../plane/credentials/nkeys.ts";
import { type Command, type Given, UsageError } from "../line/command.ts";

const JSON_FLAG = { json: { help: "JSON, for scripts" } };

export const planeNewKey: Command = {
  help: "make a key that signs credentials on NATS servers: for PLANE_SIGNING_SEED",
  flags: JSON_FLAG,
  more: ["It is shown here and never again. Gateways make it known to the servers when they start with it."],
  example: "",
  async run({ switches }: Given) {
    const { seed, publicKey } = createKey("account", systemRandom());
    console.log(switches.has("json") ? JSON.stringify({ seed, public_key: publicKey }) : seed);
    return 0;
  },
};

export const planeRetireKeys: Command = {
  help: "take away every signing key of the NATS plane that PLANE_SIGNING_SEED does not name",
  flags: { ...JSON_FLAG, yes: { help: "it is meant: whoever holds credentials that they signed is cut off" } },
  more: ["Give it the gateways' environment, when all of them have started with it."],
  example: "--yes",
  async run({ switches }: Given) {
    const { plane } = parseConfig(process.env);
    const { nats, signingSeeds } = plane;
    const account = plane.seed === undefined ? plane.account : keyFromSeed(plane.seed, "account").publicKey;
    if (nats === undefined || account === undefined || signingSeeds.length === 0) {
      throw new Error(
        "retire-keys needs the plane's variables: NATS_URL, PLANE_SIGNING_SEED and the rest of gateway.env",
      );
    }
    if (!switches.has("yes")) {
      throw new UsageError("retire-keys cuts off whoever holds credentials of other keys; add --yes if you mean it");
    }
    const { keepSigners } = await import("../../plane/nats/signers.ts");
    const { url, system, operatorSeed } = nats;
    const operator = keyFromSeed(operatorSeed, "operator");
    const kept = signingSeeds.map((seed) => keyFromSeed(seed, "account").publicKey);
    const retired = await keepSigners({ url, system, account, operator, clock: systemClock }, kept);
    if (switches.has("json")) console.log(JSON.stringify({ kept, retired }));
    else console.log(retired.length === 0 ? "There was no other key." : `Taken away: ${retired.join(", ")}`);
    return 0;
  },
};
