/**
 * Records the answers that the visual suites replay: `node e2e/console/visual/record.ts`. Starts a platform that looks as after a month of
 * use, takes every tour on it in a browser, and writes what the APIs answered into `recorded/`.
 */
import { untilCounted } from "@tollgate/stage/ledger-check.ts";
import { chat } from "@tollgate/stage/requests.ts";
import { buildConsole } from "../browser.ts";
import { openStage, type Stage } from "../lifelike/stage.ts";
import { NIGHTLY } from "../lifelike/traffic.ts";
import { keepRunning } from "../pictures/running.ts";
import { record } from "./recorder.ts";
import { TOURS } from "./tours.ts";

buildConsole();
const stage = await openStage();
try {
  await addTroubles(stage);
  const stop = await keepRunning(stage);
  await record(stage.platform.ready, TOURS).finally(stop);
} finally {
  await stage.close();
}

/** What the pages have most to say about: a budget nearly used, one used up, an incident that ended and one that goes on. */
async function addTroubles({ platform, cast }: Stage): Promise<void> {
  const key = cast.keys.get(NIGHTLY.key) as string;
  await (await chat({ ready: { ...platform.ready, api_key: key } }, { tokens: 40 })).text();
  await untilCounted(platform);
  await platform.query(
    `select key_budget_set(k.account_id, k.id, 1, spent * 6 / 5)
       from api_key k, lateral (select sum(charge_pico)::bigint as spent from usage_hour u
                                 where u.key_id = k.id and u.hour >= date_trunc('month', now(), 'UTC')) month
      where k.name = $1`,
    [NIGHTLY.key],
  );
  await platform.query(
    `insert into incident (model, kind, began_at, ended_at, last_at)
     values ('tiny-3b', 'unavailable', now() - interval '9 days', now() - interval '8 days 22 hours 17 minutes', null),
            ('tiny-3b', 'errors', now() - interval '5 minutes', null, now())`,
  );
}
