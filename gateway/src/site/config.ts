/** The settings of the status page. */
import { declareSettings, flagSetting, numberSetting } from "../base/settings.ts";

interface SiteConfig {
  /** `isPublic`: anyone may read the status page at /status. */
  status: { isPublic: boolean; sampleEveryMs: number };
}

export const siteSettings = declareSettings({
  title: "Status page",
  settings: {
    STATUS_PAGE: flagSetting(["on", "off"], {
      default: true,
      help: "With `off`, `/status` and `/status.json` answer 404 and nothing links to them; availability is still sampled for the console.",
      see: "[Status page](monitoring.md#status-page)",
    }),
    STATUS_SAMPLE_S: numberSetting({
      ...{ default: 60, unit: "s", min: 1, max: 600, divides: 3_600 },
      help: "Time between availability samples, which must be the same on all gateways.",
    }),
  },
  config: (e): SiteConfig => ({ status: { isPublic: e.STATUS_PAGE, sampleEveryMs: e.STATUS_SAMPLE_S * 1000 } }),
});
