/**
 * Requests to the servers' system account. They are rare (revocations), so each one opens a connection and closes it
 * again. No privileged connection stays open.
 */
import { z } from "zod";
import { keyFromSeed } from "../credentials/nkeys.ts";
import { type AccountClaims, readAccountJwt } from "./account-jwt.ts";
import { connectNats } from "./connect-to-nats.ts";
import { CLAIMS_UPDATE_SUBJECT, systemLookupSubject } from "./subjects.ts";

const ANSWER_MS_MAX = 5_000;

export interface SystemUser {
  jwt: string;
  seed: string;
}

/** Access to the account's JWT, over a connection without node messages, so that a flood cannot delay it. */
export interface AccountJwtAccess {
  /** Returns the claims of the JWT that the servers have now. */
  read(): Promise<AccountClaims>;
  /** Resolves when a server has accepted the new JWT. That server forwards it to the rest of the cluster. */
  write(jwt: string): Promise<void>;
}

const Answer = z.object({ error: z.object({ description: z.string() }).optional() });

interface SystemPlace {
  url: string;
  user: SystemUser;
  account: string;
  /** The maximum time for a server's answer or greeting. */
  answerTimeoutMs?: number | undefined;
}

export async function openSystemAccountAccess(
  { url, user, account, answerTimeoutMs }: SystemPlace,
  task: (record: AccountJwtAccess) => Promise<void>,
): Promise<void> {
  const key = keyFromSeed(user.seed, "user");
  const login = { url, name: "tollgate revocation", jwt: user.jwt, key, dialTimeoutMs: answerTimeoutMs };
  const connection = await connectNats(login);
  const timeout = answerTimeoutMs ?? ANSWER_MS_MAX;
  try {
    await task({
      async read() {
        const answer = await connection.request(systemLookupSubject(account), new Uint8Array(0), { timeout });
        const claims = readAccountJwt(answer.string());
        if (claims === undefined) throw new Error("NATS did not return the account's JWT");
        return claims;
      },
      async write(jwt) {
        const answer = await connection.request(CLAIMS_UPDATE_SUBJECT, jwt, { timeout });
        const { error } = Answer.parse(answer.json());
        if (error !== undefined) throw new Error(`NATS refused the account's new JWT: ${error.description}`);
      },
    });
  } finally {
    await connection.close();
  }
}
