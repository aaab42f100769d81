/** Opens notifications and the sender of emails and webhooks. */
import { sleep } from "../base/clock.ts";
import { openDeliverer } from "../notifications/deliverer.ts";
import { openDeliveries } from "../notifications/deliveries.ts";
import { openEventFinder } from "../notifications/event-finder.ts";
import { openInbox } from "../notifications/inbox.ts";
import { openNotificationSettings } from "../notifications/notification-settings.ts";
import { NOTIFICATIONS_MIGRATION, openNotifier } from "../notifications/notify.ts";
import { createWebhookPoster } from "../notifications/post-webhook.ts";
import type { NotificationServices } from "../notifications/services.ts";
import { createAddressRule } from "../notifications/webhook-addresses.ts";
import type { AssemblyContext } from "./assembly-context.ts";
import type { ExternalInterfaces } from "./port-interfaces.ts";

const CLOSE_MS_MAX = 2_000;

export interface NotificationSettings {
  linkOrigin: string;
  version: string;
  upkeep: boolean;
  /** Whether webhooks may use loopback addresses and plain HTTP, as on a development platform. */
  loopbackWebhooks: boolean;
}

export function openNotificationServices(
  { clock, random, newId, log, onClose }: AssemblyContext,
  { linkOrigin: origin, version, upkeep, loopbackWebhooks }: NotificationSettings,
  { store: { pool, schema }, mail }: Pick<ExternalInterfaces, "store" | "mail">,
): NotificationServices {
  const notify = openNotifier({ newId, clock, origin });
  const deliveries = openDeliveries({ pool, clock });
  const post = createWebhookPoster({
    allows: createAddressRule({ allowLoopback: loopbackWebhooks }),
    allowsHttp: loopbackWebhooks,
    clock,
  });
  const deliverer = openDeliverer({ deliveries, post, mail, clock, log, origin, version });
  const isThere = (): boolean => schema.number >= NOTIFICATIONS_MIGRATION;
  let sending: Promise<void> | undefined;
  onClose(async () => {
    // Interrupted deliveries are sent again after the next start.
    if (sending !== undefined) await Promise.race([sending, sleep(clock, CLOSE_MS_MAX)]);
  });
  return {
    sendsMail: mail !== undefined,
    loopbackWebhooks,
    notifications: {
      isThere,
      notify,
      tell: (event, only) => notify(pool, event, only),
      settings: openNotificationSettings({ pool, random }),
      inbox: openInbox({ pool }),
      deliveries,
      events: openEventFinder({ pool, clock, notify }),
      deliverer,
      soon() {
        if (!upkeep || !isThere()) return;
        sending ??= deliverer
          .send()
          .then(() => undefined)
          .catch((error) => log.error({ err: error }, "could not send notifications"))
          .finally(() => {
            sending = undefined;
          });
      },
    },
  };
}
