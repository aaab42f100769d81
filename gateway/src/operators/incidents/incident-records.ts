/**
 * Stores incidents. Every gateway records its observations. The first gateway in each time slot of ten seconds derives
 * incidents from all of them. Database outages are recorded once they are over.
 */
import type pg from "pg";
import { z } from "zod";
import type { NewId, Uuid } from "../../base/ids.ts";
import { INCIDENT_CAUSES, INCIDENT_STATES, type IncidentCause } from "../../base/stored-enumerations.ts";
import { DAY_MS } from "../../base/time.ts";
import { inTransaction } from "../../db/pool.ts";
import { column, queryOne, queryRow, queryRows, row } from "../../db/rows.ts";
import type { PlatformHealth } from "../judge-platform-health.ts";
import {
  chooseWorseState,
  combineHealthReports,
  decideNextIncidentStep,
  INCIDENT_ENDS_AFTER_CALM_MS,
  INCIDENT_OPENS_AFTER_MS,
  type Problem,
  type TrackedProblem,
} from "./incident-rules.ts";

/** The number of the migration that creates the tables. */
export const INCIDENTS_MIGRATION = 49;
/** The interval at which a gateway records its observations. */
export const OBSERVE_EVERY_MS = 10_000;
const VIEW_MS_MAX = 3 * OBSERVE_EVERY_MS;
const KEPT_MS = 100 * DAY_MS;

const Seen = row({
  id: column.uuid,
  model: z.string().nullable(),
  state: z.enum(INCIDENT_STATES),
  cause: z.enum(INCIDENT_CAUSES),
  beganAt: column.moment,
  lastAt: column.moment,
  openedAt: column.moment.nullable(),
  endedAt: column.moment.nullable(),
});
type Seen = z.infer<typeof Seen>;
const COLUMNS = `id, model, state, cause, began_at as "beganAt", last_at as "lastAt", opened_at as "openedAt", ended_at as "endedAt"`;

const Update = row({ incidentId: column.uuid, at: column.moment, text: z.string() });
const Turn = row({ judgedAt: column.moment.nullable() });
const View = row({ verdict: column.json });
const Id = row({ id: column.uuid });

export interface Incident extends Pick<Seen, "id" | "model" | "state" | "cause" | "beganAt" | "endedAt"> {
  /** Operators' public notes, newest first. */
  updates: { at: Date; text: string }[];
}

/** A time in which a gateway could not reach the database. */
interface Absence {
  fromMs: number;
  toMs: number;
  cause: IncidentCause;
}

export interface Incidents {
  /** Records this gateway's observations. The first gateway in each time slot evaluates those of all gateways. */
  see(gateway: string, verdict: PlatformHealth, nowMs: number): Promise<void>;
  /** Records a database outage. The platform was degraded if other gateways kept running, otherwise down. */
  recordAbsence(absence: Absence): Promise<void>;
  /** Incidents that had not ended by `from`, newest first. Empty while the database lacks the table. */
  list(span: { from: Date; limit: number }): Promise<Incident[]>;
  find(id: Uuid): Promise<Incident | undefined>;
  /** Adds an operator's public note. Returns false if the incident does not exist. */
  post(id: Uuid, text: string, nowMs: number): Promise<boolean>;
  forget(nowMs: number): Promise<void>;
}

interface Options {
  pool: pg.Pool;
  newId: NewId;
  isThere: () => boolean;
}

export function openIncidentRecords({ pool, newId, isThere }: Options): Incidents {
  const read = async (where: string, values: unknown[]): Promise<Incident[]> => {
    const found = await queryRows(pool, Seen, `select ${COLUMNS} from status_incident where ${where}`, values);
    const updates = await queryRows(
      pool,
      Update,
      `select incident_id as "incidentId", at, text from status_update where incident_id = any ($1::uuid[]) order by id desc`,
      [found.map(({ id }) => id)],
    );
    return found.map(({ lastAt: _, openedAt: __, ...incident }) => ({
      ...incident,
      updates: updates.filter(({ incidentId }) => incidentId === incident.id).map(({ at, text }) => ({ at, text })),
    }));
  };
  return {
    async see(gateway, verdict, nowMs) {
      await pool.query(
        `insert into status_view (gateway, at, verdict) values ($1, $2, $3)
         on conflict (gateway) do update set at = excluded.at, verdict = excluded.verdict`,
        [gateway, new Date(nowMs), JSON.stringify(verdict)],
      );
      await inTransaction(pool, (client) => judge(client, newId, nowMs));
    },
    recordAbsence: (absence) => inTransaction(pool, (client) => recordAbsence(client, newId, absence)),
    async list({ from, limit }) {
      if (!isThere()) return [];
      const recent = "opened_at is not null and (ended_at is null or ended_at > $1)";
      return read(`${recent} order by began_at desc, id desc limit $2`, [from, limit]);
    },
    find: async (id) => (isThere() ? (await read("id = $1 and opened_at is not null", [id]))[0] : undefined),
    async post(id, text, nowMs) {
      const posted = await queryRow(
        pool,
        Id,
        `insert into status_update (id, incident_id, at, text)
         select $1, id, $3, $4 from status_incident where id = $2 and opened_at is not null returning id`,
        [newId(), id, new Date(nowMs), text],
      );
      return posted !== undefined;
    },
    async forget(nowMs) {
      const before = new Date(nowMs - KEPT_MS);
      await pool.query("delete from status_incident where ended_at < $1", [before]);
      await pool.query("delete from status_view where at < $1", [new Date(nowMs - DAY_MS)]);
    },
  };
}

/**
 * Derives incidents from all gateways' observations, unless another gateway has already done so in the current time
 * slot.
 */
async function judge(client: pg.PoolClient, newId: NewId, nowMs: number): Promise<void> {
  const { judgedAt } = await lockTurn(client);
  const sinceMs = judgedAt?.getTime() ?? nowMs;
  if (judgedAt !== null && nowMs - sinceMs < OBSERVE_EVERY_MS * 0.8) return;
  await client.query("update status_turn set judged_at = $1", [new Date(nowMs)]);
  // For this long no gateway evaluated a time slot, because none ran or none could reach the database. Records the time
  // as an incident.
  if (nowMs - sinceMs >= INCIDENT_OPENS_AFTER_MS) {
    const known = await touched(client, sinceMs, nowMs);
    await span(client, newId, { known, seen: { state: "down", cause: "stopped", sinceMs } }, nowMs);
  }
  const views = await queryRows(client, View, "select verdict from status_view where at > $1 and at <= $2", [
    new Date(nowMs - VIEW_MS_MAX),
    new Date(nowMs + VIEW_MS_MAX),
  ]);
  const { platform, models } = combineHealthReports(
    views.map(({ verdict }) => verdict as unknown as PlatformHealth),
    nowMs,
  );
  const going = await queryRows(client, Seen, `select ${COLUMNS} from status_incident where ended_at is null`);
  await step(client, newId, { model: null, known: going.find(({ model }) => model === null), seen: platform }, nowMs);
  if (models === undefined) return;
  const all = new Set([...models.keys(), ...going.flatMap(({ model }) => model ?? [])]);
  for (const model of all) {
    const known = going.find((one) => one.model === model);
    await step(client, newId, { model, known, seen: models.get(model) }, nowMs);
  }
}

const lockTurn = (client: pg.PoolClient) =>
  queryOne(client, Turn, `select judged_at as "judgedAt" from status_turn for update`);

interface Moment {
  model: string | null;
  known: Seen | undefined;
  seen: Problem | undefined;
}

async function step(client: pg.PoolClient, newId: NewId, { model, known, seen }: Moment, nowMs: number): Promise<void> {
  const next = decideNextIncidentStep(known && trackedOf(known), seen, nowMs);
  switch (next.kind) {
    case "none":
      return;
    case "forget":
      return void (await client.query("delete from status_incident where id = $1", [known?.id]));
    case "end":
      await client.query("update status_incident set ended_at = $2 where id = $1", [known?.id, new Date(next.atMs)]);
      return;
    case "track":
      await client.query(
        `insert into status_incident (id, model, state, cause, began_at, last_at, opened_at)
         values ($1, $2, $3, $4, $5, $6, case when $7 then $8::timestamptz end)
         on conflict (id) do update set state = excluded.state, cause = excluded.cause, began_at = excluded.began_at,
                                        last_at = excluded.last_at,
                                        opened_at = coalesce(status_incident.opened_at, excluded.opened_at)`,
        [
          known?.id ?? newId(),
          model,
          next.state,
          next.cause,
          new Date(next.beganMs),
          new Date(next.lastMs),
          next.isOpen,
          new Date(nowMs),
        ],
      );
  }
}

const trackedOf = ({ state, cause, beganAt, lastAt, openedAt }: Seen): TrackedProblem => ({
  state,
  cause,
  beganMs: beganAt.getTime(),
  lastMs: lastAt.getTime(),
  isOpen: openedAt !== null,
});

async function recordAbsence(client: pg.PoolClient, newId: NewId, { fromMs, toMs, cause }: Absence): Promise<void> {
  const { judgedAt } = await lockTurn(client);
  const known = await touched(client, fromMs, toMs);
  // Whether the known incident is this outage: it covers the same time, and its cause "stopped" means that no gateway
  // evaluated a time slot. Otherwise a time slot evaluated during the outage shows that other gateways kept running.
  const isGap =
    known?.cause === "stopped" &&
    known.beganAt.getTime() - fromMs < INCIDENT_OPENS_AFTER_MS &&
    toMs - known.lastAt.getTime() < INCIDENT_OPENS_AFTER_MS;
  const others = !isGap && judgedAt !== null && judgedAt.getTime() - fromMs >= INCIDENT_OPENS_AFTER_MS;
  await span(client, newId, { known, seen: { state: others ? "degraded" : "down", cause, sinceMs: fromMs } }, toMs);
}

/** The incident of the whole platform that was open in that time, or that had just ended. */
const touched = (client: pg.PoolClient, fromMs: number, toMs: number): Promise<Seen | undefined> =>
  queryRow(
    client,
    Seen,
    `select ${COLUMNS} from status_incident
      where model is null and began_at <= $2 and (ended_at is null or ended_at >= $1) order by began_at desc limit 1`,
    [new Date(fromMs - INCIDENT_ENDS_AFTER_CALM_MS), new Date(toMs)],
  );

interface Span {
  known: Seen | undefined;
  seen: Problem;
}

/** Records a problem that began at `seen.sinceMs` and ended at `toMs`. */
async function span(client: pg.PoolClient, newId: NewId, { known, seen }: Span, toMs: number): Promise<void> {
  if (known === undefined || known.endedAt === null) return step(client, newId, { model: null, known, seen }, toMs);
  const { state, cause } = chooseWorseState(known, seen);
  await client.query(
    `update status_incident set state = $2, cause = $3, began_at = least(began_at, $4), last_at = greatest(last_at, $5),
                                ended_at = greatest(ended_at, $5) where id = $1`,
    [known.id, state, cause, new Date(seen.sinceMs), new Date(toMs)],
  );
}
