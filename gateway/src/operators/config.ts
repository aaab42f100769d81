/** The settings of payouts and of the ledger check. */
import { declareSettings, flagSetting, numberSetting } from "../base/settings.ts";

interface OperatorsConfig {
  /** How many days earnings are held back before they can be paid out. */
  payoutHoldDays: number;
  /** Whether the ledger check runs once a day by itself. */
  provesBooks: boolean;
}

export const operatorSettings = declareSettings({
  title: "Payouts and the ledger check",
  settings: {
    PAYOUT_HOLD_DAYS: numberSetting({
      ...{ default: 7, unit: "days", min: 0, max: 365 },
      help: "Minimum age of earnings before a payout includes them.",
      see: "[Payouts](payments.md#payouts)",
    }),
    BOOKS_PROVE: flagSetting(["on", "off"], {
      default: true,
      help: "`on` checks the ledger once a day, on one of the gateways; `off` leaves the check to operators.",
      see: "[Checking the ledger](payments.md#check-the-ledger)",
    }),
  },
  config: (e): OperatorsConfig => ({ payoutHoldDays: e.PAYOUT_HOLD_DAYS, provesBooks: e.BOOKS_PROVE }),
});
