/** The settings of dispatch: how long a request waits for a node, and how long a node may work on it. */
import { declareSettings, numberSetting } from "../base/settings.ts";

interface DispatchConfig {
  dispatchDeadlineMs: number;
  /** How long a job may run after its acceptance; afterwards it ends as a stall. */
  jobMsMax: number;
}

export const dispatchSettings = declareSettings({
  title: "Dispatch",
  note: "A request that reaches `JOB_MAX_S` is billed for its output so far, and does not count against its node.",
  settings: {
    DISPATCH_DEADLINE_MS: numberSetting({
      ...{ default: 10_000, unit: "ms", min: 100, max: 600_000 },
      help: "How long a request waits for a free node.",
    }),
    JOB_MAX_S: numberSetting({
      ...{ default: 900, unit: "s", min: 1, max: 86_400 },
      help: "How long a node may work on a request before it ends as `upstream_stall`.",
    }),
  },
  config: (e): DispatchConfig => ({ dispatchDeadlineMs: e.DISPATCH_DEADLINE_MS, jobMsMax: e.JOB_MAX_S * 1000 }),
});
