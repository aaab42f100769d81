/** The notification functions that other parts and routes use. */
import type { DeliveryChannel } from "../base/stored-enumerations.ts";
import type { Deliverer } from "./deliverer.ts";
import type { Deliveries } from "./deliveries.ts";
import type { EventFinder } from "./event-finder.ts";
import type { Inbox } from "./inbox.ts";
import type { NotificationSettings } from "./notification-settings.ts";
import type { NotificationEvent, Notify } from "./notify.ts";

interface Notifications {
  /** Whether the database has the tables already. */
  isThere: () => boolean;
  /** Creates a notification in its own transaction. */
  tell: (event: NotificationEvent, only?: DeliveryChannel) => Promise<boolean>;
  notify: Notify;
  settings: NotificationSettings;
  inbox: Inbox;
  deliveries: Deliveries;
  events: EventFinder;
  deliverer: Deliverer;
  /** Sends due deliveries soon, if this gateway runs background jobs. */
  soon: () => void;
}

export interface NotificationServices {
  notifications: Notifications;
  /** Whether this platform sends email. */
  sendsMail: boolean;
  /** Whether webhooks may go to this machine and use plain HTTP, as on a development platform. */
  loopbackWebhooks: boolean;
}
