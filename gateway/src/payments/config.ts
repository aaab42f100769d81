/** Settings of payments. */
import { declareSettings, findUnpairedVariable, flagSetting, textSetting } from "../base/settings.ts";

interface PaymentsConfig {
  /** Undefined if credit cannot be bought. */
  payments:
    | {
        secretKey: string;
        /** The secrets that sign webhooks: two while one is being replaced. */
        webhookSecrets: string[];
        /** Undefined means Stripe's own API. */
        apiBase: string | undefined;
        /** Whether Stripe creates an invoice for every checkout. */
        invoices: boolean;
      }
    | undefined;
}

export const paymentSettings = declareSettings({
  title: "Payments",
  settings: {
    STRIPE_SECRET_KEY: textSetting({
      matches: /^(sk|rk)_(test|live)_\w+$/,
      rule: "be a Stripe secret key (sk_live_… or sk_test_…)",
      without: "credits are not sold",
      secret: true,
      help: "Secret key of the Stripe account that sells credits.",
      see: "[Sell credits](payments.md#sell-credits)",
    }),
    STRIPE_WEBHOOK_SECRET: textSetting({
      matches: /^whsec_[^\s,]+(,whsec_[^\s,]+)*$/,
      rule: "be the signing secret of a Stripe webhook endpoint (whsec_…), or several separated by commas",
      secret: true,
      help: "Signing secret of the webhook endpoint, required when `STRIPE_SECRET_KEY` is set.",
    }),
    STRIPE_INVOICES: flagSetting(["true", "false"], {
      default: false,
      help: "Makes Stripe create an invoice (PDF) for every paid checkout, for which Stripe takes a fee; receipts need no invoice.",
    }),
    STRIPE_API_BASE: textSetting({
      matches: /^(https:\/\/[^/\s]+|http:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d+)?)\/?$/,
      rule: "be https://HOST, or http:// on this machine",
      without: "Stripe's own",
      help: "Address of Stripe's API, for tests.",
    }),
  },
  mistakes: (variables) => findUnpairedVariable(variables, "STRIPE_SECRET_KEY", "STRIPE_WEBHOOK_SECRET"),
  config: (e): PaymentsConfig => {
    const { STRIPE_SECRET_KEY: secretKey, STRIPE_WEBHOOK_SECRET: secrets, STRIPE_API_BASE: apiBase } = e;
    if (secretKey === undefined || secrets === undefined) return { payments: undefined };
    return { payments: { secretKey, webhookSecrets: secrets.split(","), apiBase, invoices: e.STRIPE_INVOICES } };
  },
});
