/**
 * A platform that looks used for a month: a builder with four keys who also hosts three machines, one of them
 * quarantined; other builders; requests of every outcome; paid payouts and an open one. Everything is done through the
 * normal APIs and commands, and then moved into the past.
 */

import { createDataDir, type Platform, removeDataDir, startPlatform } from "@tollgate/stage/dev-platform.ts";
import type { ConsoleClient } from "../../console-client.ts";
import { backdateActivity, PAST_DAYS } from "./backdate-activity.ts";
import { createAccounts, type DemoAccounts } from "./demo-accounts.ts";
import { LIMITED_KEY, sendTraffic } from "./demo-traffic.ts";

/**
 * The number of requests to send, and the action (`deed`) that follows them. Afterwards both are moved into the past:
 * the action to `hoursAgo`, and the requests to the time between the previous action and this one.
 */
interface Act {
  requests: number;
  hoursAgo: number;
  deed: (cast: DemoAccounts) => Promise<unknown>;
}

/** The platform's past, oldest act first. After the last act, another `SINCE` requests follow, up to the present. */
const ACTS: Act[] = [
  { requests: 190, hoursAgo: 22 * 24, deed: payOut("First week") },
  { requests: 220, hoursAgo: 15 * 24, deed: payOut("Second week") },
  { requests: 250, hoursAgo: 8 * 24, deed: payOut("Third week") },
  { requests: 270, hoursAgo: 24, deed: payOut("Fourth week") },
  { requests: 70, hoursAgo: 5, deed: (cast) => quarantine(cast, "workshop") },
];
const SINCE = 40;

export interface LifelikePlatform {
  platform: Platform;
  cast: DemoAccounts;
  close(): Promise<void>;
}

export async function openLifelikePlatform(): Promise<LifelikePlatform> {
  const dataDir = await createDataDir();
  const platform = await startPlatform(dataDir, ["--no-node", "--payments", "demo"]);
  let cast: DemoAccounts | undefined;
  const close = async (): Promise<void> => {
    for (const node of cast?.nodes ?? []) await node.kill();
    await platform.stop();
    await removeDataDir(dataDir);
  };
  try {
    cast = await createAccounts(platform);
    await live(platform, cast);
    return { platform, cast, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function live(platform: Platform, cast: DemoAccounts): Promise<void> {
  const { operator, person } = cast;
  const eras = [{ until: new Date(), hours: PAST_DAYS * 24 }];
  for (const [seed, { requests, hoursAgo, deed }] of ACTS.entries()) {
    await sendTraffic(platform, cast, { count: requests, seed });
    await deed(cast);
    eras.push({ until: new Date(), hours: hoursAgo });
  }
  await sendTraffic(platform, cast, { count: SINCE, seed: ACTS.length });
  await backdateActivity(platform, eras);
  // Keys get their budgets only after `backdateActivity` has moved the requests into past days. Before, all requests
  // would count against today's budget.
  await setKeys(person);
  await operator.send("POST", "operator/payouts", { note: "Fifth week" });
  await suspend(operator, "Copper Loop");
  for (const client of [operator, person]) await client.send("POST", "auth/sign-out", {});
}

function payOut(note: string): Act["deed"] {
  return async ({ operator }) => {
    const { id } = await operator.send<{ id: string }>("POST", "operator/payouts", { note });
    await operator.send("POST", `operator/payouts/${id}/paid`);
  };
}

interface Named {
  id: string;
  name: string;
}

async function quarantine({ operator, person }: DemoAccounts, name: string): Promise<void> {
  const { data } = await person.get<{ data: Named[] }>("nodes");
  const node = data.find((one) => one.name === name);
  const reason = "answers of mid-14b do not fit the model";
  await operator.send("POST", `operator/nodes/${node?.id}/quarantine`, { reason });
}

const SETTINGS: Record<string, object> = {
  production: { budget_month_micro: "50000" },
  [LIMITED_KEY.key]: { budget_day_micro: "500", budget_month_micro: "10000", models: LIMITED_KEY.models },
  evaluation: { expires_at: Date.UTC(2027, 2, 31) / 1000 },
};

async function setKeys(person: ConsoleClient): Promise<void> {
  const { data } = await person.get<{ data: Named[] }>("keys");
  for (const { id, name } of data) {
    const settings = SETTINGS[name];
    if (settings !== undefined) await person.send("PATCH", `keys/${id}`, settings);
  }
}

async function suspend(operator: ConsoleClient, name: string): Promise<void> {
  const { data } = await operator.get<{ data: Named[] }>("operator/accounts");
  const account = data.find((one) => one.name === name);
  await operator.send("POST", `operator/accounts/${account?.id}/suspend`, { reason: "the card was reported stolen" });
}
