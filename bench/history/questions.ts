/** What the console asks of a long history: each question runs the code that the console runs. */

import { USAGE_BY } from "@tollgate/api/console/money.ts";
import type pg from "pg";
import type { Uuid } from "../../gateway/src/base/ids.ts";
import { openEarnings } from "../../gateway/src/history/earnings.ts";
import { openHistory } from "../../gateway/src/history/history.ts";
import { openUsage } from "../../gateway/src/history/usage.ts";
import { openStatement } from "../../gateway/src/ledger/statement.ts";
import { openOverview } from "../../gateway/src/operators/overview.ts";
import { type Cast, DAYS, MODELS, RARE_OUTCOME } from "./seed.ts";

export interface Question {
  name: string;
  /** A page of a file that is being written: it takes what it takes, and a slow reader holds it back. */
  isExport?: boolean;
  /** Returns how many rows it found. */
  ask: () => Promise<number>;
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** A page and one row more, as the console asks for it. */
const PAGE = 51;
/** Where the 1,000th page of 50 begins; on a shorter history the oldest row stands for it. */
const FAR = 999 * 50;

/** What is asked through `watched` is measured. */
interface Setting {
  pool: pg.Pool;
  watched: pg.Pool;
  cast: Cast;
}

export async function questionsOf(setting: Setting): Promise<Question[]> {
  return [
    ...(await ofHistory(setting)),
    ...ofUsage(setting),
    ...(await ofStatement(setting)),
    ...(await ofEarnings(setting)),
    ...ofPlatform(setting),
  ];
}

const ago = (days: number): Date => new Date(Date.now() - days * DAY_MS);

async function ofHistory({ pool, watched, cast }: Setting): Promise<Question[]> {
  const history = openHistory({ pool: watched });
  const builder = cast.builder as Uuid;
  const key = (i: number): Uuid => cast.keys[i] as Uuid;
  const { rows } = await pool.query(
    "select id from (select id from request where account_id = $1 order by id desc limit $2) newest order by id limit 1",
    [builder, FAR],
  );
  const far = rows[0].id as Uuid;
  const filters: Record<string, Parameters<typeof history.list>[1]> = {
    "first page": { limit: PAGE },
    "1,000th page": { limit: PAGE, before: far },
    "a common model": { limit: PAGE, model: MODELS[0] },
    "a rare model": { limit: PAGE, model: MODELS.at(-1) },
    "a common key": { limit: PAGE, keyIds: [key(0)] },
    "a rare key": { limit: PAGE, keyIds: [key(4)] },
    "a common outcome": { limit: PAGE, outcome: "ok" },
    "a rare outcome": { limit: PAGE, outcome: RARE_OUTCOME },
    "an outcome that never was": { limit: PAGE, outcome: "rate_limit_sku_capacity" },
    "a span of 3 days, 30 days ago": { limit: PAGE, from: ago(30), to: ago(27) },
    "model, key and outcome": { limit: PAGE, model: MODELS[1], keyIds: [key(1)], outcome: "upstream_failed" },
    "model, rare key, outcome and span": {
      limit: PAGE,
      model: MODELS[0],
      keyIds: [key(4)],
      outcome: "ok",
      from: ago(50),
      to: ago(10),
    },
    "a common model, 1,000th page": { limit: PAGE, model: MODELS[0], before: far },
    "a page of the CSV": { limit: 1000, before: far },
    "a page of the CSV, a rare key": { limit: 1000, keyIds: [key(4)] },
  };
  const ofBuilder = (whose: string, id: string, names: string[]): Question[] =>
    names.map((name) => ({
      name: `${whose}: ${name}`,
      isExport: name.includes("CSV"),
      ask: async () => (await history.list(id as Uuid, filters[name] as { limit: number })).length,
    }));
  return [
    ...ofBuilder("history", builder, Object.keys(filters)),
    ...ofBuilder("history of a small builder", cast.smallBuilder, ["first page", "a rare model"]),
  ];
}

function ofUsage({ watched, cast }: Setting): Question[] {
  const usage = openUsage({ pool: watched });
  const builder = cast.builder as Uuid;
  const [from, to] = [ago(31), new Date()];
  const questions: Question[] = USAGE_BY.map((by) => ({
    name: `usage of 31 days by ${by}`,
    ask: async () =>
      (by === "label" ? await usage.byLabel(builder, { from, to }) : await usage.sums(builder, { by, from, to }))
        .length,
  }));
  return questions.concat(
    {
      name: "usage of 31 days by day, split by model",
      ask: async () => (await usage.sums(builder, { by: "day", split: "model", from, to })).length,
    },
    {
      name: "usage of 31 days by hour, split by key",
      ask: async () => (await usage.sums(builder, { by: "hour", split: "key", from, to })).length,
    },
    {
      name: `usage of ${DAYS} days by day`,
      ask: async () => (await usage.sums(builder, { by: "day", from: ago(DAYS + 1), to })).length,
    },
    { name: "spend of each key, 31 days", ask: async () => (await usage.byKey(builder, from)).size },
  );
}

async function ofStatement({ pool, watched, cast }: Setting): Promise<Question[]> {
  const statement = openStatement({ pool: watched });
  const builder = cast.builder as Uuid;
  const { rows } = await pool.query(
    `select position::text as id from (select position from ledger_entry where account_id = $1 order by position desc limit $2) newest
      order by newest.position limit 1`,
    [builder, FAR],
  );
  return [undefined, rows[0].id as string].map((before) => ({
    name: `statement: ${before === undefined ? "first" : "1,000th"} page`,
    ask: async () => (await statement.lines(builder, { before, limit: PAGE })).length,
  }));
}

async function ofEarnings({ pool, watched, cast }: Setting): Promise<Question[]> {
  const earnings = openEarnings({ pool: watched });
  const host = cast.host as Uuid;
  const { rows } = await pool.query(
    `select id from (select id from request where host_account_id = $1 order by id desc limit $2) newest
      order by id limit 1`,
    [host, FAR],
  );
  const node = (i: number): Uuid => cast.nodes[i] as Uuid;
  const pages: Record<string, Parameters<typeof earnings.lines>[1]> = {
    "first page": { limit: PAGE },
    "1,000th page": { limit: PAGE, before: rows[0].id },
    "a common node": { limit: PAGE, nodeId: node(0) },
    "a rare node": { limit: PAGE, nodeId: node(2) },
    "a span of 3 days, 30 days ago": { limit: PAGE, from: ago(30), to: ago(27) },
    "a rare node and a span": { limit: PAGE, nodeId: node(2), from: ago(50), to: ago(10) },
  };
  const lines = Object.entries(pages).map(([name, page]) => ({
    name: `earnings: ${name}`,
    ask: async () => (await earnings.lines(host, page)).length,
  }));
  const sums = Object.entries({
    "of today": { from: ago(1) },
    "of a node, 60 days": { nodeId: node(0) },
    "of all time": {},
  });
  return lines.concat(
    sums.map(([name, span]) => ({
      name: `earnings: sum ${name}`,
      ask: async () => (await earnings.sum(host, span)).requests,
    })),
  );
}

function ofPlatform({ watched }: Setting): Question[] {
  const overview = openOverview({ pool: watched });
  const traffic = (days: number) => async () => (await overview.traffic({ from: ago(days), to: new Date() })).length;
  return [
    { name: "operator: totals", ask: async () => (await overview.totals()).builders },
    { name: "operator: traffic of a day", ask: traffic(1) },
    { name: "operator: traffic of 31 days", ask: traffic(31) },
  ];
}
