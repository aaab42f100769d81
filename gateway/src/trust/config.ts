/** The settings of quarantine and canaries. */
import { domain, flag, text } from "../base/settings.ts";

interface TrustConfig {
  /** Bar nodes that fail, cheat or pretend. Off: what was seen is logged. */
  autoQuarantine: boolean;
  /** The operator's own canaries, which nobody else has read. Undefined: there are none. */
  canariesFile: string | undefined;
}

export const trust = domain({
  title: "Trust in nodes",
  note: "`tollgate dev` turns `AUTO_QUARANTINE` off, because its nodes run stand-ins for the models. [Trust and security](../hosts/trust.md#quarantine) explains quarantine to hosts.",
  settings: {
    AUTO_QUARANTINE: flag(["true", "false"], {
      default: true,
      help: "Quarantines nodes that fail, cheat or run another model; `false` only logs the evidence.",
    }),
    CANARIES_FILE: text({
      help: "JSON file of your own canaries, which hosts cannot know.",
      see: "[Trust in nodes](trust.md)",
    }),
  },
  config: (e): TrustConfig => ({ autoQuarantine: e.AUTO_QUARANTINE, canariesFile: e.CANARIES_FILE }),
});
