/** The settings that apply to new nodes. */
import { declareSettings, numberSetting } from "../base/settings.ts";
import { NODE_RULES, type NodeRules } from "./node-standing-rules.ts";

interface FleetConfig {
  nodeRules: NodeRules;
}

export const fleetSettings = declareSettings({
  title: "New nodes",
  note: `A host with a node in quarantine gets no requests on nodes that it registers afterwards. \`tollgate dev\` trusts every node immediately
unless \`PROBATION_ANSWERS\` is set.`,
  settings: {
    PROBATION_ANSWERS: numberSetting({
      ...{ default: NODE_RULES.probationAnswers, unit: "answers", min: 0, max: 10_000 },
      help: "Number of good answers that ends a new node's probation, during which it gets one request at a time.",
      see: "[Trust in nodes](trust.md)",
    }),
  },
  retired: { HOST_SANCTION: "a host with a node in quarantine gets no requests on nodes that it registers afterwards" },
  config: (e): FleetConfig => ({ nodeRules: { ...NODE_RULES, probationAnswers: e.PROBATION_ANSWERS } }),
});
