/** Settings of receipts and retention. */
import { resolve } from "node:path";
import { declareSettings, numberSetting, textSetting } from "../base/settings.ts";

/** The least retention: the console's list covers 30 days, sorting by cost 31, and whole months are dropped. */
const HISTORY_DAYS_MIN = 35;

interface HistoryConfig {
  /** The seed of the key that signs usage receipts. Undefined: a seed in the data directory. */
  receiptSeed: string | undefined;
  /**
   * How long records of requests and of refusals are kept, and the folder for exported months. Undefined days: forever.
   */
  retention: { historyDays: number | undefined; refusalsDays: number | undefined; exportDir: string | undefined };
}

export const historySettings = declareSettings({
  title: "History",
  note: `Request records are deleted by whole months. The sums of deleted records remain, and the ledger can still be checked.
\`HISTORY_DAYS\` must not be less than \`PAYOUT_HOLD_DAYS\`.`,
  settings: {
    RECEIPT_SEED: textSetting({
      matches: /^[A-Za-z0-9_-]{43}$/,
      rule: "be 32 bytes in base64url",
      without: "generated and kept in `DATA_DIR`",
      secret: true,
      help: "Key that signs usage receipts.",
    }),
    HISTORY_DAYS: numberSetting({
      ...{ unit: "days", min: HISTORY_DAYS_MIN, max: 36_500 },
      without: "for ever",
      help: "How long request records are kept.",
      see: "[Keeping records](retention.md)",
    }),
    REFUSALS_DAYS: numberSetting({
      ...{ unit: "days", min: 1, max: 36_500 },
      without: "for ever",
      help: "How long records of rate-limited requests are kept.",
    }),
    HISTORY_EXPORT_DIR: textSetting({
      help: "Directory for exports of request records, written before a month is deleted; needs `HISTORY_DAYS`.",
      see: "[Exports](retention.md#exports)",
    }),
  },
  mistakes: ({ HISTORY_EXPORT_DIR, HISTORY_DAYS }) =>
    HISTORY_EXPORT_DIR !== undefined && HISTORY_DAYS === undefined
      ? ["HISTORY_DAYS must be set when HISTORY_EXPORT_DIR is set: without it no month is ever exported"]
      : [],
  config: (e): HistoryConfig => ({
    receiptSeed: e.RECEIPT_SEED,
    retention: {
      historyDays: e.HISTORY_DAYS,
      refusalsDays: e.REFUSALS_DAYS,
      exportDir: e.HISTORY_EXPORT_DIR === undefined ? undefined : resolve(e.HISTORY_EXPORT_DIR),
    },
  }),
});
