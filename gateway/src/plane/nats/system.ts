/**
 * What the gateway asks of the servers' system account. That is rare (a revocation), and the right to do it is best not
 * kept open: each time is a connection of its own.
 */
import { z } from "zod";
import { keyFromSeed } from "../credentials/nkeys.ts";
import { type AccountClaims, readAccount } from "./account-jwt.ts";
import { connectNats } from "./connect.ts";
import { CLAIMS_UPDATE, systemLookup } from "./subjects.ts";

const ANSWER_MS_MAX = 5_000;

export interface SystemUser {
  jwt: string;
  seed: string;
}

/** The account's JWT, read and written on a connection that no node's messages travel on: a flood cannot hold it up. */
export interface AccountRecord {
  /** As the servers have it. */
  read(): Promise<AccountClaims>;
  /** Resolves when a server has taken the new JWT; it tells the others of the cluster by itself. */
  write(jwt: string): Promise<void>;
}

const Answer = z.object({ error: z.object({ description: z.string() }).optional() });

interface SystemPlace {
  url: string;
  user: SystemUser;
  account: string;
  /** How long a server has for an answer, or to greet. */
  answerTimeoutMs?: number | undefined;
}

export async function withSystem(
  { url, user, account, answerTimeoutMs }: SystemPlace,
  task: (record: AccountRecord) => Promise<void>,
): Promise<void> {
  const key = keyFromSeed(user.seed, "user");
  const login = { url, name: "tollgate revocation", jwt: user.jwt, key, dialTimeoutMs: answerTimeoutMs };
  const connection = await connectNats(login);
  const timeout = answerTimeoutMs ?? ANSWER_MS_MAX;
  try {
    await task({
      async read() {
        const answer = await connection.request(systemLookup(account), new Uint8Array(0), { timeout });
        const claims = readAccount(answer.string());
        if (claims === undefined) throw new Error("NATS did not return the account's JWT");
        return claims;
      },
      async write(jwt) {
        const answer = await connection.request(CLAIMS_UPDATE, jwt, { timeout });
        const { error } = Answer.parse(answer.json());
        if (error !== undefined) throw new Error(`NATS refused the account's new JWT: ${error.description}`);
      },
    });
  } finally {
    await connection.close();
  }
}
