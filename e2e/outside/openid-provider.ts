/** Starts unmodified OpenID providers, each with a few users: `oidc-provider` and Dex. */
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findFreePort } from "@tollgate/stage/killable-process.ts";
import Provider from "oidc-provider";
import { startThirdPartyServer } from "./third-party-server.ts";

/** The secret has characters that must be URL-encoded. */
export const OPENID_CLIENT = { client_id: "tollgate", client_secret: "a:secret/of+tests %&=?" };
export const OPENID_USER_PASSWORD = "password";

export interface OpenIdProviderServer {
  issuer: string;
  close(): Promise<void>;
}

/**
 * Starts `oidc-provider` with its own pages and settings. By default it returns claims only from UserInfo. The claims
 * of each scope and the users must be configured.
 */
export async function openOidcProvider(
  redirects: string[],
  people: Record<string, object>,
): Promise<OpenIdProviderServer> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  const issuer = `http://127.0.0.1:${port}`;
  const provider = new Provider(issuer, {
    clients: [{ ...OPENID_CLIENT, redirect_uris: redirects }],
    claims: { email: ["email", "email_verified"], profile: ["name"] },
    findAccount: (_context: unknown, sub: string) => ({ accountId: sub, claims: () => ({ sub, ...people[sub] }) }),
  });
  server.on("request", provider.callback());
  return {
    issuer,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** The bcrypt hash of `OPENID_USER_PASSWORD`, as in the examples of Dex. */
const HASH = "$2a$10$2b2cU8CPhOTaGrs1HRQuAueS7JTT5ZHsHSzYiFPm1leZck7Mc8T4W";

interface DexPerson {
  email: string;
  username: string;
  emailVerified?: boolean;
}

/** Starts Dex with its password connector and in-memory storage. */
export async function openDex(redirects: string[], people: DexPerson[]): Promise<OpenIdProviderServer> {
  const place = await mkdtemp(join(tmpdir(), "tollgate-dex-"));
  const address = `127.0.0.1:${await findFreePort()}`;
  const issuer = `http://${address}/dex`;
  const file = join(place, "config.json");
  const config = {
    issuer,
    storage: { type: "memory" },
    web: { http: address },
    oauth2: { skipApprovalScreen: true },
    enablePasswordDB: true,
    staticClients: [
      { id: OPENID_CLIENT.client_id, secret: OPENID_CLIENT.client_secret, name: "Tollgate", redirectURIs: redirects },
    ],
    staticPasswords: people.map((person) => ({ ...person, userID: person.username, hash: HASH })),
  };
  await writeFile(file, JSON.stringify(config));
  const dex = await startThirdPartyServer("dex", ["serve", file], /listening on/);
  return {
    issuer,
    async close() {
      await dex.stop();
      await rm(place, { recursive: true, force: true });
    },
  };
}
