/**
 * Creates the accounts of a development platform at its first start: a builder with $5 and a key, a host with a token,
 * and an operator. Their secrets are stored in the data directory with mode 0600, because the database stores only
 * hashes.
 */
import { randomBytes } from "node:crypto";
import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { IdentityError } from "../accounts/identities.ts";
import type { Uuid } from "../base/ids.ts";
import { dollars } from "../base/money.ts";
import { readIfExists } from "../base/read-if-exists.ts";
import type { BuiltGateway } from "../build.ts";

const SIGN_UP_CREDIT = dollars(5);

const SignIn = z.object({ email: z.string(), password: z.string() });
const DevAccounts = z.object({ api_key: z.string(), host_token: z.string(), builder: SignIn, operator: SignIn });
export type DevAccounts = z.infer<typeof DevAccounts>;

export async function ensureDevAccounts(app: BuiltGateway, dataDir: string): Promise<DevAccounts> {
  const file = join(dataDir, "dev.json");
  const saved = await readAccounts(file);
  // Tests the saved key, because the database may have been removed or replaced without this file.
  if (saved !== undefined && (await app.apiKeys.authenticate(`Bearer ${saved.api_key}`)) !== undefined) return saved;
  const builder = await app.accounts.open("builder", "Local builder");
  await app.ledger.transfer({
    id: app.newId(),
    // Recorded as a purchase, because a node earns nothing from granted credit if builder and host have the same owner.
    kind: "purchase",
    accountId: builder,
    amount: SIGN_UP_CREDIT,
    reason: "credit of a development platform",
  });
  const host = await app.accounts.open("host", "Local host");
  // Created concurrently, because hashing a password takes 100 ms of one core.
  const [builderIdentity, operatorIdentity] = await Promise.all([signUp(app, "builder"), signUp(app, "operator")]);
  await app.identities.own(builderIdentity.id, builder);
  await app.identities.own(builderIdentity.id, host);
  const made: DevAccounts = {
    api_key: (await app.apiKeys.issue(builder, "local")).token,
    host_token: (await app.hostTokens.issue(host, "local")).token,
    builder: builderIdentity.signIn,
    operator: operatorIdentity.signIn,
  };
  await writeFile(`${file}.new`, `${JSON.stringify(made, null, 2)}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
  return made;
}

async function signUp(
  app: BuiltGateway,
  role: "builder" | "operator",
): Promise<{ id: Uuid; signIn: z.infer<typeof SignIn> }> {
  const password = randomBytes(12).toString("base64url");
  const make = async (email: string): Promise<{ id: Uuid; signIn: z.infer<typeof SignIn> }> => {
    const id = await app.identities.create({ email, password, name: `Local ${role}`, operator: role === "operator" });
    return { id, signIn: { email, password } };
  };
  try {
    return await make(`${role}@tollgate.local`);
  } catch (error) {
    if (!(error instanceof IdentityError)) throw error;
    // The address is taken: the database exists, but the file with its password was lost. Another address is used.
    return await make(`${role}-${app.newId().slice(0, 13)}@tollgate.local`);
  }
}

async function readAccounts(file: string): Promise<DevAccounts | undefined> {
  const text = await readIfExists(file);
  if (text === undefined) return undefined;
  try {
    return DevAccounts.parse(JSON.parse(text));
  } catch (cause) {
    throw new Error(`${file} is damaged. Remove it to get new development accounts.`, { cause });
  }
}
