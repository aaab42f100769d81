/**
 * The API key that the playground uses. It is issued for this session and account, stored only in memory, and replaced
 * when it has expired or another tab has replaced it.
 */
import { callConsoleApi } from "../../api/api-client.ts";
import { ApiFault } from "../../api/api-fault.ts";

interface PlaygroundApiKey {
  account: string;
  secret: string;
  /** When the key expires, in Unix milliseconds. */
  expiresAtMs: number;
}

/** A key is renewed this long before it expires, so that it stays valid until the request arrives. */
const SPARE_MS = 30_000;

let known: Promise<PlaygroundApiKey> | undefined;

async function issue(account: string): Promise<PlaygroundApiKey> {
  const { secret, expires_at } = await callConsoleApi("POST /console/api/playground/key");
  return { account, secret, expiresAtMs: expires_at * 1000 };
}

/** Concurrent calls get the same key. */
async function keyOf(account: string): Promise<string> {
  const before = known;
  const kept = await before?.catch(() => undefined);
  if (kept?.account === account && kept.expiresAtMs - SPARE_MS > Date.now()) return kept.secret;
  // Another call has issued a key while this one waited.
  if (known !== before) return await keyOf(account);
  known = issue(account);
  return (await known).secret;
}

export async function withPlaygroundApiKey(account: string, use: (key: string) => Promise<void>): Promise<void> {
  const key = await keyOf(account);
  try {
    await use(key);
  } catch (error) {
    if (!(error instanceof ApiFault && error.code === "invalid_api_key")) throw error;
    if ((await known?.catch(() => undefined))?.secret === key) known = undefined;
    await use(await keyOf(account));
  }
}
