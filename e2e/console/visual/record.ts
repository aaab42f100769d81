/**
 * Records the API responses that the visual suites replay: `node e2e/console/visual/record.ts`. Starts a platform that
 * looks used for a month, runs every tour (a visit of pages) on it in a browser, and writes the responses into
 * `recorded/`.
 */

import { sendScriptedChat } from "@tollgate/stage/builder-requests.ts";
import { waitUntilRolledUp } from "@tollgate/stage/ledger-check.ts";
import { buildConsole } from "../console-browser.ts";
import { DEMO_USER } from "../lifelike/demo-accounts.ts";
import { LIMITED_KEY } from "../lifelike/demo-traffic.ts";
import { type LifelikePlatform, openLifelikePlatform } from "../lifelike/lifelike-platform.ts";
import { keepRequestsRunning } from "../pictures/running-requests.ts";
import { TOURS } from "./page-tours.ts";
import { recordTours } from "./tour-recorder.ts";

buildConsole();
const stage = await openLifelikePlatform();
try {
  await addTroubles(stage);
  const stop = await keepRequestsRunning(stage);
  await recordTours(stage.platform.ready, TOURS).finally(stop);
} finally {
  await stage.close();
}

/** Adds states that change many pages: a budget nearly used and one used up, an ended incident and an ongoing one. */
async function addTroubles({ platform, cast }: LifelikePlatform): Promise<void> {
  const key = cast.keys.get(LIMITED_KEY.key) as string;
  await (await sendScriptedChat({ ready: { ...platform.ready, api_key: key } }, { tokens: 40 })).text();
  await waitUntilRolledUp(platform);
  await platform.query(
    `select key_budget_set(k.account_id, k.id, 1, spent * 6 / 5)
       from api_key k, lateral (select sum(charge_pico)::bigint as spent from usage_hour u
                                 where u.key_id = k.id and u.hour >= date_trunc('month', now(), 'UTC')) month
      where k.name = $1`,
    [LIMITED_KEY.key],
  );
  await platform.query(
    `insert into incident (model, kind, began_at, ended_at, last_at)
     values ('tiny-3b', 'unavailable', now() - interval '9 days', now() - interval '8 days 22 hours 17 minutes', null),
            ('tiny-3b', 'errors', now() - interval '5 minutes', null, now())`,
  );
  await platform.query(
    `with told as (
       insert into status_incident (id, model, state, cause, began_at, last_at, opened_at, ended_at)
       select gen_random_uuid(), model, state, cause, now() - began, now() - ended, now() - began, now() - ended
         from (values (null, 'down', 'database', interval '20 days', interval '19 days 23 hours 51 minutes'),
                      ('tiny-3b', 'down', 'no_capacity', interval '9 days', interval '8 days 22 hours 17 minutes'),
                      ('tiny-3b', 'degraded', 'errors', interval '2 days', interval '1 day 23 hours 40 minutes'))
              as of_past (model, state, cause, began, ended)
       returning id, model, began_at)
     insert into status_update (id, incident_id, at, text)
     select gen_random_uuid(), id, began_at + interval '4 minutes', 'A new primary takes over. Requests are refused until then.'
       from told where model is null`,
  );
  await addNotifications(platform);
}

/** Adds one notification of each kind that a builder gets, in different delivery states. */
async function addNotifications(platform: LifelikePlatform["platform"]): Promise<void> {
  await platform.query(
    `with of as (
       select o.account_id, i.id as identity_id
         from identity i join account_owner o on o.identity_id = i.id join account a on a.id = o.account_id
        where i.email = $1 and a.kind = 'builder' order by a.id limit 1),
     told as (
       insert into notification (id, account_id, kind, about, data, listed, created_at)
       select gen_random_uuid(), account_id, kind, kind, data::jsonb, true, now() - age
         from of, (values
           ('low_credit', '{"balance_micro":"4210000.000000","threshold_micro":"5000000.000000"}', interval '3 hours'),
           ('top_up_failed', '{"amount_micro":"20000000.000000","failure":"declined"}', interval '2 days'),
           ('key_expiring', '{"key_id":"none","key_name":"staging","expires_at":1796083200}', interval '5 days'))
           as facts (kind, data, age)
       returning id, account_id, kind, created_at)
     insert into notification_delivery (notification_id, account_id, channel, identity_id, state, attempts, answer_status,
                                        problem, created_at, ended_at)
     select told.id, told.account_id, channel, case channel when 'email' then of.identity_id end, state, attempts, answer,
            problem, told.created_at, told.created_at + took
       from told, of, (values
         ('email', 'delivered', 1, null::smallint, null, interval '2 seconds'),
         ('webhook', 'failed', 9, 500::smallint, 'the receiver answered 500', interval '1 day'),
         ('slack', 'delivered', 2, 200::smallint, null, interval '31 seconds'))
         as tries (channel, state, attempts, answer, problem, took)`,
    [DEMO_USER.email],
  );
}
