/** The names of kinds, channels and states of notifications. */
import type { Delivery, NotificationKind } from "../../api/answer-types.ts";
import type { Tone } from "../../ui/badge.tsx";

export const NOTIFICATION_KIND_TEXTS: Record<NotificationKind, { name: string; about: string }> = {
  low_credit: { name: "Low credit", about: "The balance drops below the alert threshold." },
  budget_reached: { name: "Budget reached", about: "A key's daily or monthly budget refuses a request." },
  top_up_failed: { name: "Top-up turned off", about: "An automatic purchase fails, and automatic top-up turns off." },
  key_expiring: { name: "Key expires", about: "An API key expires within 7 days." },
  node_quarantined: { name: "Node quarantined", about: "A node is in quarantine and gets no requests." },
  payout_sent: { name: "Payout sent", about: "The platform sends you a payout." },
  test: { name: "Test", about: "" },
};

export const CHANNEL_NAMES = { console: "Console", email: "Email", webhook: "Webhook", slack: "Slack" } as const;

export const DELIVERY_STATE_TONES: Record<Delivery["state"], Tone> = {
  pending: "warn",
  delivered: "good",
  failed: "bad",
};
