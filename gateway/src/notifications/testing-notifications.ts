/** Test helper: notifications on a database, with a test clock, a test mail server and a simulated internet. */
import type pg from "pg";
import type { MailSender } from "../accounts/mail-sender.ts";
import type { Clock } from "../base/clock.ts";
import type { NewId } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import { type Deliverer, openDeliverer } from "./deliverer.ts";
import { type Deliveries, openDeliveries } from "./deliveries.ts";
import { type Notify, openNotifier } from "./notify.ts";
import type { PostWebhook } from "./post-webhook.ts";

const TEST_ORIGIN = "http://console.test";

interface TestNotificationsOptions {
  pool: pg.Pool;
  clock: Clock;
  newId: NewId;
  log: Log;
  mail: MailSender | undefined;
  post?: PostWebhook;
}

const noInternet: PostWebhook = async () => {
  throw new Error("this test has no internet");
};

export function openTestNotifications({ pool, clock, newId, log, mail, post = noInternet }: TestNotificationsOptions): {
  notify: Notify;
  deliveries: Deliveries;
  deliverer: Deliverer;
} {
  const deliveries = openDeliveries({ pool, clock });
  const deliverer = openDeliverer({ deliveries, post, mail, clock, log, origin: TEST_ORIGIN, version: "1.2.3" });
  return { notify: openNotifier({ newId, clock, origin: TEST_ORIGIN }), deliveries, deliverer };
}
