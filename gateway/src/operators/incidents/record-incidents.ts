/** Records this gateway's observations every ten seconds, and a database outage after it has ended. */
import type { Clock } from "../../base/clock.ts";
import type { Outage } from "../../base/dependency.ts";
import type { Log } from "../../base/log.ts";
import { HOUR_MS } from "../../base/time.ts";
import { isDatabaseUnreachable } from "../../db/errors.ts";
import type { PlatformHealth } from "../judge-platform-health.ts";
import type { PlatformHealthReader } from "../platform-health.ts";
import { type Incidents, OBSERVE_EVERY_MS } from "./incident-records.ts";
import { INCIDENT_OPENS_AFTER_MS } from "./incident-rules.ts";

const FORGET_EVERY_MS = 6 * HOUR_MS;

interface Watched {
  incidents: Pick<Incidents, "see" | "recordAbsence" | "forget">;
  /** The gateway's ID, which is unique in the deployment. */
  gateway: string;
  verdicts: Pick<PlatformHealthReader, "read">;
  outages: { now(): Outage[] };
  clock: Clock;
  log: Log;
}

const SERVING: PlatformHealth = { state: "serving", causes: [] };

export function startRecordingIncidents({
  incidents,
  gateway,
  verdicts,
  outages,
  clock,
  log,
}: Watched): () => Promise<void> {
  let awayMs: number | undefined;
  let running: Promise<void> | undefined;
  const see = async (): Promise<void> => {
    const nowMs = clock.now();
    const { state, causes, served } = await verdicts.read(nowMs);
    // A platform that has never served a model is still being set up, so missing capacity is no incident.
    const isNew = served.size === 0 && causes.every(({ code }) => code === "no_capacity" || code === "no_models");
    if (awayMs !== undefined && nowMs - awayMs >= INCIDENT_OPENS_AFTER_MS) {
      await incidents.recordAbsence({ fromMs: awayMs, toMs: nowMs, cause: "database" });
    }
    awayMs = undefined;
    await incidents.see(gateway, isNew ? SERVING : { state, causes }, nowMs);
  };
  const tick = (): void => {
    const away = outages.now().find(({ part }) => part === "database");
    if (away !== undefined) awayMs = Math.min(awayMs ?? away.since, away.since);
    const nowMs = clock.now();
    running ??= see()
      .catch((error) => {
        if (isDatabaseUnreachable(error)) awayMs ??= nowMs;
        log[isDatabaseUnreachable(error) ? "debug" : "warn"]({ err: error }, "recording incidents failed");
      })
      .finally(() => {
        running = undefined;
      });
  };
  const stops = [
    clock.every(OBSERVE_EVERY_MS, tick),
    clock.every(FORGET_EVERY_MS, () => {
      incidents
        .forget(clock.now())
        .catch((error) =>
          log[isDatabaseUnreachable(error) ? "debug" : "warn"]({ err: error }, "could not delete old incidents"),
        );
    }),
  ];
  return async () => {
    for (const stop of stops) stop();
    await running;
  };
}
