/**
 * What the gateway asks of the servers' system account. That is rare (a revocation), and the right to do it is best not
 * kept open: each time is a connection of its own.
 */
import { z } from "zod";
import { keyFromSeed } from "../credentials/nkeys.ts";
import { connectNats } from "./connect.ts";
import { CLAIMS_UPDATE } from "./subjects.ts";

const ANSWER_MS_MAX = 5_000;

export interface SystemUser {
  jwt: string;
  seed: string;
}

/** Resolves when a server has taken the account's new JWT; it tells the others of the cluster by itself. */
export type PushAccount = (jwt: string) => Promise<void>;

const Answer = z.object({ error: z.object({ description: z.string() }).optional() });

export async function withSystem(
  { url, user }: { url: string; user: SystemUser },
  task: (push: PushAccount) => Promise<void>,
): Promise<void> {
  const key = keyFromSeed(user.seed, "user");
  const connection = await connectNats({ url, name: "tollgate revocation", jwt: user.jwt, key });
  try {
    await task(async (jwt) => {
      const answer = await connection.request(CLAIMS_UPDATE, jwt, { timeout: ANSWER_MS_MAX });
      const { error } = Answer.parse(answer.json());
      if (error !== undefined) throw new Error(`NATS refused the account's new JWT: ${error.description}`);
    });
  } finally {
    await connection.close();
  }
}
