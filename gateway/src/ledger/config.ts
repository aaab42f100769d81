/** The settings of holds and settlements. */
import { declareSettings, numberSetting, textSetting } from "../base/settings.ts";

interface LedgerConfig {
  /** How long a request's credit stays held, in ms, when its gateway stops renewing the hold. */
  holdLeaseMs: number;
  /**
   * The directory for settlements that the database cannot accept at the moment. Undefined: a folder in the data
   * directory.
   */
  spoolDir: string | undefined;
  /** How long committed entries stay in the journals beside the spool, in ms. */
  replayWindowMs: number;
}

export const ledgerSettings = declareSettings({
  title: "Holds and settlements",
  note: `The gateway of a request renews the lease of its hold four times within \`HOLD_LEASE_S\`. Leases do not expire while no gateway reaches the database. If a single gateway
is cut off from the database for longer than \`HOLD_LEASE_S\`, its requests are settled late. Shorter leases than the default are for tests.
Several gateways can share one \`SPOOL_DIR\`. A gateway that cannot write to \`SPOOL_DIR\` does not start.`,
  settings: {
    HOLD_LEASE_S: numberSetting({
      ...{ default: 60, unit: "s", min: 3, max: 3_600 },
      help: "How long the credit of a request stays held after its gateway crashed.",
    }),
    SPOOL_DIR: textSetting({
      without: "`DATA_DIR/spool`",
      help: "Directory for settlements that the database cannot accept now, on a disk that outlives the gateway.",
      see: "[Settlements that wait](failures.md#settlements-that-wait)",
    }),
    REPLAY_WINDOW: numberSetting({
      ...{ default: 15, unit: "minutes", min: 1, max: 1_440 },
      help: "How long a gateway keeps a journal of its database commits, to replay those that a database failover lost.",
      see: "[A failover that lost data](runbook.md#tollgatehistorylost)",
    }),
  },
  config: (e): LedgerConfig => ({
    holdLeaseMs: e.HOLD_LEASE_S * 1000,
    spoolDir: e.SPOOL_DIR,
    replayWindowMs: e.REPLAY_WINDOW * 60_000,
  }),
});
