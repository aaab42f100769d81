/** A host's payouts: the payout method, and the payouts so far. */
import { removeSeparators } from "@tollgate/api/console/payout-method-fields.ts";
import {
  type HostPayout as HostPayoutAnswer,
  type hostPayoutRoutes,
  PAYOUT_METHOD_CODE_RULE,
} from "@tollgate/api/console/payouts.ts";
import type { z } from "zod";
import type { PayoutMethod } from "../../accounts/payout-methods.ts";
import type { AccountServices } from "../../accounts/services.ts";
import { publicId, type Uuid } from "../../base/ids.ts";
import { formatExactMicrodollars } from "../../base/money.ts";
import { toUnixSeconds } from "../../base/time.ts";
import { listPage } from "../../http/lists/list-pages.ts";
import type { Handlers } from "../../http/serve-routes.ts";
import type { HostPayout } from "../../operators/payouts.ts";
import type { OperatorServices } from "../../operators/services.ts";
import type { SiteServices } from "../services.ts";
import { requireSecondFactor } from "./require-second-factor.ts";
import { withSignInErrors } from "./sign-in.ts";

type PayoutParts = Pick<AccountServices, "identities"> &
  Pick<OperatorServices, "payouts"> &
  Pick<SiteServices, "cursors" | "now">;

export function hostPayoutHandlers(parts: PayoutParts): Handlers<typeof hostPayoutRoutes> {
  const { identities, payouts, cursors, now } = parts;
  const { payoutMethods } = identities;
  return withSignInErrors<Handlers<typeof hostPayoutRoutes>>({
    getPayoutMethod: async ({ account }) => methodObject(await payoutMethods.of(account.id)),

    async setPayoutMethod(asked) {
      const { who, account, script, body, refuse } = asked;
      // Only a browser session may change the payout method, so that a script's stolen token cannot redirect money.
      if (script !== undefined) throw refuse("browser_required");
      const { kind, holder, number, bank_code, code } = body();
      await requireSecondFactor(identities, asked, { code, rule: PAYOUT_METHOD_CODE_RULE });
      const method = {
        kind,
        holder: holder.trim(),
        number: removeSeparators(kind, number),
        bankCode: removeSeparators(kind, bank_code ?? "") || null,
      };
      const { addresses, label } = await payoutMethods.set(account.id, method, who.identityId);
      identities.tellPayoutMethod(addresses, { accountId: account.id, label, by: who.email, at: new Date(now()) });
      return methodObject(await payoutMethods.of(account.id));
    },

    async removePayoutMethod({ who, account, script, refuse }) {
      if (script !== undefined) throw refuse("browser_required");
      const removed = await payoutMethods.remove(account.id, who.identityId);
      if (removed !== undefined) {
        const { addresses, label } = removed;
        identities.tellPayoutMethod(addresses, { accountId: account.id, label, by: who.email, at: new Date(now()) });
      }
      return methodObject(undefined);
    },

    listHostPayouts: ({ account, query }) =>
      listPage({
        cursors,
        list: `payouts ${account.id}`,
        query,
        read: (before, limit) => payouts.ofHost(account.id, { before: before as Uuid | undefined, limit }),
        position: ({ batchId }) => batchId,
        show: payoutObject,
      }),
  });
}

function methodObject(method: PayoutMethod | undefined) {
  if (method === undefined) return { object: "payout_method" as const, method: null };
  const { kind, label, holder, changedAt, changedBy } = method;
  return {
    object: "payout_method" as const,
    method: { kind, label, holder, changed_at: toUnixSeconds(changedAt), changed_by: changedBy },
  };
}

export function payoutObject(payout: HostPayout): z.input<typeof HostPayoutAnswer> {
  const { batchId, amount, heldBack, setOff, withheld, newlyWithheld, own, createdAt, paidAt, paidTo } = payout;
  return {
    object: "payout",
    payout: publicId("pay", batchId),
    state: paidAt === null ? "open" : "paid",
    amount_micro: formatExactMicrodollars(amount),
    held_back_micro: formatExactMicrodollars(heldBack),
    set_off_micro: formatExactMicrodollars(setOff),
    withheld_micro: formatExactMicrodollars(withheld),
    newly_withheld_micro: formatExactMicrodollars(newlyWithheld),
    own_micro: formatExactMicrodollars(own),
    created_at: toUnixSeconds(createdAt),
    paid_at: paidAt && toUnixSeconds(paidAt),
    paid_to: paidTo,
  };
}
