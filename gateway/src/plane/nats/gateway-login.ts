/** The credentials of a gateway: a user of the account, with a new key for each connection. */
import type { Clock } from "../../base/clock.ts";
import type { Random } from "../../base/random.ts";
import { createKey, type SigningKey } from "../credentials/nkeys.ts";
import { PAYLOAD_BYTES_MAX } from "../credentials/node-credentials.ts";
import { mintUserJwt } from "../credentials/user-jwt.ts";
import type { NatsLogin } from "./connect-to-nats.ts";
import { GATEWAY_SUBJECTS, INBOX_PREFIX, PING_SERVERS_SUBJECT } from "./subjects.ts";

interface GatewayIdentity {
  /**
   * The public key of the gateway's NATS account. Set only if a separate signing key signs the login for the account.
   */
  issuerAccount?: string | undefined;
  url: string;
  gatewayId: string;
  random: Random;
  clock: Clock;
}

export function createGatewayLogin(
  account: SigningKey,
  { issuerAccount, url, gatewayId, random, clock }: GatewayIdentity,
): NatsLogin {
  const key = createKey("user", random);
  const jwt = mintUserJwt(account, {
    // Node IDs contain no dot, so no node can have this name.
    name: `gateway.${gatewayId}`,
    issuerAccount,
    userKey: key.publicKey,
    issuedAtS: Math.floor(clock.now() / 1000),
    // Needs no expiry, because it never leaves this process, which could sign another at any time.
    expiresAtS: undefined,
    subscriptionsMax: -1,
    payloadBytesMax: PAYLOAD_BYTES_MAX,
    permissions: { publish: [GATEWAY_SUBJECTS, PING_SERVERS_SUBJECT], subscribe: [GATEWAY_SUBJECTS] },
  });
  return { url, name: `tollgate gateway ${gatewayId}`, jwt, key, inboxPrefix: INBOX_PREFIX };
}
