/**
 * A platform that looks as one does after nine days of use: a builder with four keys who also hosts three machines, one of them
 * in quarantine; other builders; requests of every ending; a payout that was sent and one that was not. All of it was done through
 * the doors that people and programs use; afterwards its times were moved into the past.
 */

import type { ConsoleClient } from "../../console-client.ts";
import { newDataDir, type Platform, removeDataDir, startPlatform } from "../../platform.ts";
import { age, DAYS } from "./aged.ts";
import { assemble, type Cast } from "./cast.ts";
import { send } from "./traffic.ts";

/** How many requests were made before the first payout, between it and the quarantine, and since then. */
const COUNTS = [270, 150, 60] as const;
/** How long ago each was. */
const HOURS = { opened: DAYS * 24, payout: 24, quarantine: 5 };

export interface Stage {
  platform: Platform;
  cast: Cast;
  close(): Promise<void>;
}

export async function openStage(): Promise<Stage> {
  const dataDir = await newDataDir();
  const platform = await startPlatform(dataDir, ["--no-node", "--payments", "demo"]);
  let cast: Cast | undefined;
  const close = async (): Promise<void> => {
    for (const node of cast?.nodes ?? []) node.kill();
    await platform.stop();
    await removeDataDir(dataDir);
  };
  try {
    cast = await assemble(platform);
    await live(platform, cast);
    return { platform, cast, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function live(platform: Platform, cast: Cast): Promise<void> {
  const { operator, person } = cast;
  const opened = new Date();
  await send(platform, cast, { count: COUNTS[0], seed: 1 });
  const { id } = await operator.send<{ id: string }>("POST", "operator/payouts", { note: "First week" });
  await operator.send("POST", `operator/payouts/${id}/paid`);
  const paid = new Date();
  await send(platform, cast, { count: COUNTS[1], seed: 2 });
  await quarantine(cast, "workshop");
  const barred = new Date();
  await send(platform, cast, { count: COUNTS[2], seed: 3 });
  await age(platform, [
    { until: opened, hours: HOURS.opened },
    { until: paid, hours: HOURS.payout },
    { until: barred, hours: HOURS.quarantine },
  ]);
  // Only now: where a budget stands is of the times that requests have.
  await setKeys(person);
  await operator.send("POST", "operator/payouts", { note: "Second week" });
  await suspend(operator, "Copper Loop");
  for (const client of [operator, person]) await client.send("POST", "auth/sign-out", {});
}

interface Named {
  id: string;
  name: string;
}

async function quarantine({ operator, person }: Cast, name: string): Promise<void> {
  const { data } = await person.get<{ data: Named[] }>("nodes");
  const node = data.find((one) => one.name === name);
  const reason = "answers of mid-14b do not fit the model";
  await operator.send("POST", `operator/nodes/${node?.id}/quarantine`, { reason });
}

const SETTINGS: Record<string, object> = {
  production: { budget_month_micro: "50000" },
  "nightly summaries": { budget_day_micro: "1000", budget_month_micro: "20000", models: ["small-8b", "tiny-3b"] },
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
