/** Automatic top-ups with a saved card, and the list of payments. */
import type { Payment as PaymentObject, paymentRoutes } from "@tollgate/api/console/credits.ts";
import type { z } from "zod";
import { parseId, publicId } from "../../base/ids.ts";
import { formatExactMicrodollars } from "../../base/money.ts";
import { toUnixSeconds } from "../../base/time.ts";
import type { HistoryServices } from "../../history/services.ts";
import { listPage } from "../../http/lists/list-pages.ts";
import type { Handlers } from "../../http/serve-routes.ts";
import type { LedgerServices } from "../../ledger/services.ts";
import type { NotificationServices } from "../../notifications/services.ts";
import { findPack } from "../../payments/credit-packs.ts";
import type { Payment } from "../../payments/payment-list.ts";
import type { Payments } from "../../payments/payments.ts";
import type { PaymentServices } from "../../payments/services.ts";
import type { SiteServices } from "../services.ts";
import { consoleReturnUrl } from "./credits.ts";
import { parseValidatedMicro, readCredits } from "./statement.ts";

type CreditParts = Pick<LedgerServices, "ledger"> &
  Pick<HistoryServices, "usage"> &
  Pick<PaymentServices, "alerts"> &
  Pick<NotificationServices, "sendsMail"> &
  Pick<SiteServices, "cursors" | "publicUrl" | "now"> & {
    payments: Payments;
  };

export function paymentHandlers(parts: CreditParts): Handlers<typeof paymentRoutes> {
  const { payments, publicUrl, cursors } = parts;
  return {
    async setTopUp({ account, body, refuse }) {
      const { enabled, amount_micro, mark_micro, month_max_micro } = body();
      const isSet = await payments.topUps.set(account.id, {
        enabled,
        amount: parseValidatedMicro(amount_micro),
        mark: parseValidatedMicro(mark_micro),
        monthMax: parseValidatedMicro(month_max_micro),
      });
      if (!isSet) throw refuse("no_payment_method");
      return await readCredits(parts, account.id);
    },

    async openSetup({ account, call }) {
      const back = `${consoleReturnUrl(publicUrl, call.request)}?purchase=`;
      const request = { accountId: account.id, successUrl: `${back}saved`, cancelUrl: `${back}cancelled` };
      const { url } = await payments.openSetup(request);
      return { object: "setup_page", url };
    },

    async removeMethod({ account, refuse }) {
      if (!(await payments.removeMethod(account.id))) throw refuse("no_payment_method");
      return await readCredits(parts, account.id);
    },

    listPayments: ({ account, query }) =>
      listPage({
        cursors,
        list: `payments ${account.id}`,
        query,
        read: (before, limit) => payments.list(account.id, { before, limit }),
        position: ({ place }) => place,
        show: paymentObject,
      }),

    async getPaymentReceipt({ account, params, refuse }) {
      const id = parseId("pay", params.id);
      const found = id === undefined ? undefined : await payments.receipts(account.id, id);
      if (found === undefined) throw refuse("not_found");
      return { object: "payment_receipt", receipt_url: found.receipt, invoice_url: found.invoice };
    },
  };
}

function paymentObject({
  kind,
  state,
  amount,
  purchaseId,
  providerId,
  pack,
  at,
}: Payment): z.input<typeof PaymentObject> {
  return {
    object: "payment",
    kind,
    state,
    amount_micro: formatExactMicrodollars(amount),
    purchase_id: publicId("pay", purchaseId),
    provider_id: providerId,
    pack_id: findPack(pack)?.id ?? null,
    has_receipt: providerId === null && state === "paid",
    at: toUnixSeconds(at),
  };
}
