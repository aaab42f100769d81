/** The settings of the shutdown. */
import { declareSettings, numberSetting } from "../base/settings.ts";

interface DrainConfig {
  /**
   * Milliseconds of each phase. The stopping gateway first reports not ready but serves (`delayMs`), then waits for
   * requests in flight (`graceMs`), then for the database to accept the spool (`spoolMs`).
   */
  drain: { delayMs: number; graceMs: number; spoolMs: number };
}

export const drainSettings = declareSettings({
  title: "Stopping",
  note: "`tollgate dev` sets `DRAIN_DELAY_S` to 0 and `DRAIN_GRACE_S` to 10. Set the stop timeout of your service manager to at least `DRAIN_DELAY_S` + `DRAIN_GRACE_S` + `DRAIN_SPOOL_S` + 5 seconds.",
  settings: {
    DRAIN_DELAY_S: numberSetting({
      ...{ default: 5, unit: "s", min: 0, max: 3_600 },
      help: "How long a gateway that is stopping still accepts requests while `/readyz` answers 503, so that load balancers can remove it.",
    }),
    DRAIN_GRACE_S: numberSetting({
      ...{ default: 30, unit: "s", min: 0, max: 3_600 },
      help: "How long a stopping gateway waits for requests in flight after `DRAIN_DELAY_S`, before it ends and settles them.",
    }),
    DRAIN_SPOOL_S: numberSetting({
      ...{ default: 0, unit: "s", min: 0, max: 86_400 },
      help: "How long a stopping gateway, after its requests have ended, waits for the database to accept the settlements in its spool; set it if no gateway will start with this `SPOOL_DIR` again.",
      see: "[Settlements that wait](failures.md#settlements-that-wait)",
    }),
  },
  config: (e): DrainConfig => ({
    drain: { delayMs: e.DRAIN_DELAY_S * 1000, graceMs: e.DRAIN_GRACE_S * 1000, spoolMs: e.DRAIN_SPOOL_S * 1000 },
  }),
});
