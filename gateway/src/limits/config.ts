/** Settings of rate limits: which server counts requests, and what gateways do while it is unreachable. */
import { choiceSetting, declareSettings, textSetting } from "../base/settings.ts";

interface LimitsConfig {
  /** The URL of the server that counts limits. Undefined: this gateway counts in memory. */
  valkeyUrl: string | undefined;
  /** While the limits server is unreachable: `refuse` requests, or let each gateway count its share (`local`). */
  limitsWhenAway: "refuse" | "local";
}

export const limitSettings = declareSettings({
  title: "Limits",
  settings: {
    VALKEY_URL: textSetting({
      matches: /^(valkeys?|rediss?|unix):\/\/|^\//,
      rule: "be a URL with valkey://, valkeys://, redis:// or rediss:// (the s is for TLS), or a socket path",
      without: "each gateway counts in memory",
      secret: true,
      help: "Valkey or Redis server with which gateways share rate limits; it needs `maxmemory-policy noeviction`.",
    }),
    LIMITS_WHEN_AWAY: choiceSetting(["refuse", "local"], {
      default: "refuse",
      help: "While `VALKEY_URL` is unreachable, `refuse` answers 503, and `local` lets each gateway count only its own requests, against its share of every limit.",
      see: "[When the limits server is away](failures.md#when-the-limits-server-is-away)",
    }),
  },
  config: (e): LimitsConfig => ({ valkeyUrl: e.VALKEY_URL, limitsWhenAway: e.LIMITS_WHEN_AWAY }),
});
