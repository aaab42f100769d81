/** The settings of quarantine, canaries and spot checks. */
import { z } from "zod";
import { parseId, type Uuid } from "../base/ids.ts";
import { declareSettings, flagSetting, numberSetting, parsedSetting, textSetting } from "../base/settings.ts";

interface TrustConfig {
  /** Whether to quarantine nodes that fail, cheat or run another model. When false, only logs them. */
  autoQuarantine: boolean;
  /** The file with the operator's own, unpublished canaries. Undefined: there are none. */
  canariesFile: string | undefined;
  /** Host accounts of the operator's own nodes. In spot checks their result overrules every other. */
  referenceHosts: Uuid[];
  /** The share of honest nodes that may fail their spot checks by chance per day. */
  spotCheckFalseAlarms: number;
}

const ACCOUNTS_RULE = "be account IDs (acc_…), separated by commas";
const HostAccounts = z.string().transform((text, context): Uuid[] => {
  const ids = text.split(",").map((part) => parseId("acc", part.trim()));
  if (ids.every((id) => id !== undefined)) return ids;
  context.addIssue(`must ${ACCOUNTS_RULE}`);
  return z.NEVER;
});

export const trustSettings = declareSettings({
  title: "Trust in nodes",
  note: "`tollgate dev` turns `AUTO_QUARANTINE` off, because its nodes run demo models. For hosts, quarantine is explained in [Trust and security](../hosts/trust.md#quarantine).",
  settings: {
    AUTO_QUARANTINE: flagSetting(["true", "false"], {
      default: true,
      help: "Quarantines nodes that fail, cheat or run another model; `false` only logs the evidence.",
    }),
    CANARIES_FILE: textSetting({
      help: "JSON file with your own canaries (test questions with known answers), which hosts cannot look up.",
      see: "[Trust in nodes](trust.md)",
    }),
    REFERENCE_HOSTS: parsedSetting(HostAccounts, {
      rule: ACCOUNTS_RULE,
      help: "Host accounts of your own nodes, which verify other nodes' answers and overrule other verifiers.",
    }),
    SPOT_CHECK_FALSE_ALARM_DAYS: numberSetting({
      unit: "days",
      default: 10_000,
      min: 100,
      max: 10_000_000,
      help: "Average number of days until spot checks quarantine an honest node by mistake.",
    }),
  },
  config: (e): TrustConfig => ({
    autoQuarantine: e.AUTO_QUARANTINE,
    canariesFile: e.CANARIES_FILE,
    referenceHosts: e.REFERENCE_HOSTS ?? [],
    spotCheckFalseAlarms: 1 / e.SPOT_CHECK_FALSE_ALARM_DAYS,
  }),
});
