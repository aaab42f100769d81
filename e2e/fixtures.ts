/** What a suite puts in place beside a platform: more accounts, keys and nodes. */
import { type ChildProcess, spawn } from "node:child_process";
import { createHmac, randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";
import { eventually } from "@tollgate/stage/wait.ts";
import { PEPPER } from "./database.ts";
import { chat, type Platform, type Ready } from "./platform.ts";

const HOST = fileURLToPath(new URL("../host/bin/tollgate-host.mjs", import.meta.url));

type Query = Platform["query"];

/** A builder account with this much credit, in picodollars. */
export async function openBuilder(query: Query, credit: bigint): Promise<string> {
  const [row] = await query<{ id: string }>(
    `with opened as (insert into account (id, kind, name) values (gen_random_uuid(), 'builder', 'more') returning id)
     insert into ledger_account (id, kind) select id, 'builder' from opened returning id`,
  );
  const id = row?.id as string;
  if (credit > 0n) {
    await query("select ledger_transfer(gen_random_uuid(), 'grant', $1, $2, 'test')", [id, credit.toString()]);
  }
  return id;
}

export interface Host {
  account: string;
  token: string;
}

/** A host account with a token for its nodes. */
export async function openHost(query: Query): Promise<Host> {
  const reference = randomBytes(6).toString("hex");
  const token = `tht_live_${reference}_${randomBytes(22).toString("hex").slice(0, 43)}`;
  const hash = createHmac("sha256", PEPPER).update(token).digest();
  const [row] = await query<{ id: string }>(
    `with opened as (insert into account (id, kind, name) values (gen_random_uuid(), 'host', 'strangers') returning id),
          booked as (insert into ledger_account (id, kind) select id, 'host' from opened)
     insert into host_token (id, account_id, name, reference, secret_hash)
     select gen_random_uuid(), id, 'made', $1, $2 from opened returning account_id as id`,
    [reference, hash],
  );
  return { account: row?.id as string, token };
}

export interface KeyTraits {
  requests?: number;
  tokens?: number;
  inFlight?: number;
  revoked?: boolean;
  /** In picodollars. */
  budgetDay?: bigint;
  budgetMonth?: bigint;
  models?: string[];
  /** In seconds from now; below zero: ago. */
  expiresInS?: number;
}

export interface MadeKey {
  id: string;
  token: string;
}

/** A key of the account, with an operator's limits where they are given. */
export async function makeKey(query: Query, account: string, traits: KeyTraits = {}): Promise<MadeKey> {
  const reference = randomBytes(6).toString("hex");
  const token = `tsk_live_${reference}_${randomBytes(22).toString("hex").slice(0, 43)}`;
  const hash = createHmac("sha256", PEPPER).update(token).digest();
  const { requests = null, tokens = null, inFlight = null, revoked = false } = traits;
  const [row] = await query<{ id: string }>(
    `insert into api_key (id, account_id, name, reference, secret_hash, requests_per_minute_max, tokens_per_minute_max,
                          in_flight_max, revoked_at)
     values (gen_random_uuid(), $1, 'made', $2, $3, $4, $5, $6, case when $7 then now() end) returning id`,
    [account, reference, hash, requests, tokens, inFlight, revoked],
  );
  const id = row?.id as string;
  const { budgetDay, budgetMonth, models, expiresInS } = traits;
  if (budgetDay !== undefined || budgetMonth !== undefined) {
    await query("select key_budget_set($1, $2, $3, $4)", [
      account,
      id,
      budgetDay?.toString() ?? null,
      budgetMonth?.toString() ?? null,
    ]);
  }
  if (models !== undefined) await query("update api_key set models = $2 where id = $1", [id, models]);
  if (expiresInS !== undefined) {
    await query("update api_key set expires_at = now() + make_interval(secs => $2) where id = $1", [id, expiresInS]);
  }
  return { id, token };
}

/** Keeps a request of this model in flight, as a stream that is read and does not end, until it is told to stop. */
export async function keepBusy(platform: Platform, model: string): Promise<() => Promise<void>> {
  const gone = new AbortController();
  // Up to the model's context, which takes longer than any suite.
  const orders = { tokens: 100_000, delta_ms: 200 };
  const response = await chat(platform, orders, { model, stream: true }, gone.signal);
  if (response.status !== 200) throw new Error(`the request that keeps ${model} busy was answered ${response.status}`);
  const read = response.text().catch((error: Error) => {
    if (error.name !== "AbortError") throw error;
  });
  return async () => {
    gone.abort();
    await read;
  };
}

/** Whether a connected node keeps to a form, by model, as the list of models tells it. */
export async function formsKept({ ready }: Pick<Platform, "ready">): Promise<Map<string, boolean>> {
  const headers = { authorization: `Bearer ${ready.api_key}` };
  const response = await fetch(`${ready.base_url}/v1/models`, { headers });
  const { data } = (await response.json()) as { data: { id: string; vendor: { structured_output: boolean } }[] };
  return new Map(data.map(({ id, vendor }) => [id, vendor.structured_output]));
}

/** A node is online before it has said what its engine can. */
export async function untilFormsAreKept(platform: Pick<Platform, "ready">, model: string): Promise<void> {
  await eventually(`a node keeps to forms for ${model}`, async () => (await formsKept(platform)).get(model));
}

/** A node of the platform's host with so many slots. Resolves once it is online; ends with this process. */
export async function startNode(
  platform: { ready: Pick<Ready, "base_url" | "host_token"> },
  node: { name: string; model: string; slots: number },
): Promise<ChildProcess> {
  const { name, model, slots } = node;
  const flags = ["--gateway", platform.ready.base_url, "--name", name, "--engine", "scripted", "--models", model];
  const child = spawn(process.execPath, [HOST, "up", ...flags, "--slots", String(slots)], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
    env: { ...process.env, TOLLGATE_HOST_TOKEN: platform.ready.host_token },
  });
  return await new Promise((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`the node ${name} ended with ${code}`)));
    child.once("message", (message: { type: string; message?: string }) => {
      if (message.type === "online") resolve(child);
      else reject(new Error(message.message));
    });
  });
}

const PERIOD_MS = { minute: 60_000, day: 24 * 60 * 60 * 1000 };

/**
 * Limits start anew with each calendar minute, budgets with each day (UTC). Returns what was observed within one of them: where the
 * next one began meanwhile, it is observed again. `observe` uses a new key and asserts nothing; its result is judged afterwards.
 */
export async function inOne<T>(period: keyof typeof PERIOD_MS, observe: () => Promise<T>): Promise<T> {
  const now = (): number => Math.floor(Date.now() / PERIOD_MS[period]);
  const { seen } = await eventually(`observed within one ${period}`, async () => {
    const begun = now();
    const seen = await observe();
    return now() === begun && { seen };
  });
  return seen;
}

/** Figures and courses have a request a few seconds after it ended: resolves when none runs and all that ended are in them. */
export async function untilCounted({ query }: Pick<Platform, "query">): Promise<void> {
  const open = "select 1 from hold union all select 1 from unrolled";
  await eventually("every request is counted", async () => (await query(open)).length === 0);
}

/** Less than `eventually` waits. */
const BEFORE_MIDNIGHT_MS = 4 * 60 * 1000;

/** For suites that look at what happened "since midnight UTC": one that begins just before it waits for the new day. */
export async function clearOfMidnight(): Promise<void> {
  const leftMs = (): number => PERIOD_MS.day - (Date.now() % PERIOD_MS.day);
  await eventually("the day has begun", () => leftMs() > BEFORE_MIDNIGHT_MS);
}
