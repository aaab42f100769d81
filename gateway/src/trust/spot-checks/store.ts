/** Stores spot checks: figures, verdicts and the state of each node's test. Stores no text. */
import type pg from "pg";
import { z } from "zod";
import type { Uuid } from "../../base/ids.ts";
import { type Pico, pico } from "../../base/money.ts";
import { SPOT_CHECK_METHODS, type SpotCheckMethod } from "../../base/stored-enumerations.ts";
import { formatUnquotedArray } from "../../db/arrays.ts";
import { column, queryOne, queryRow, queryRows, row } from "../../db/rows.ts";
import type { ComparableScoreGroup, ScoreWithNodeOwner } from "./calibration.ts";
import type { Score } from "./score.ts";
import {
  addCheck,
  type CheckEvidence,
  INITIAL_TEST_STATE,
  isStronglySuspected,
  isSuspected,
  type SequentialTestState,
  STRONG_EVIDENCE_MIN,
} from "./sequential-test.ts";
import { VERIFIER_RESULTS_KEPT } from "./verdict.ts";

/** The number of the migration that gives the tables their current form. */
export const SPOT_CHECKS_MIGRATION = 60;

interface CheckRecord {
  id: Uuid;
  requestId: Uuid;
  nodeId: Uuid;
  verifierId: Uuid;
  model: string;
  method: SpotCheckMethod;
  class: string;
  score: Score | undefined;
  badness: number | undefined;
  verdict: string;
  /**
   * Whether the score joins the sample with which later scores are compared. False if the check makes the node
   * suspicious.
   */
  calibrates: boolean;
  /** The number of tokens read and written for the check. */
  tokens: number;
  cost: Pico;
  at: Date;
  /** The number of the node's answers with this model since its last check. */
  answers: number;
}

/** The similarity of two verifiers' answers to a checked request. It is evidence against neither of them. */
interface SampleRecord extends ComparableScoreGroup {
  id: Uuid;
  requestId: Uuid;
  verifierIds: readonly [Uuid, Uuid];
  score: Score;
  at: Date;
}

/** A payment to a verifier's host for one job. */
export interface VerifierPayment {
  /** The ID of the transfer that will pay this job together with the host's other jobs. */
  id: Uuid;
  hostId: Uuid;
  amount: Pico;
}

export interface CheckStore {
  /** The scores since this time, oldest first, that form the samples with which new scores are compared. */
  calibration(since: Date): Promise<(ComparableScoreGroup & ScoreWithNodeOwner & { nodeId: Uuid })[]>;
  /**
   * Stores the check and the verifiers' earnings in one transaction. `noted` is the check's contribution to the node's
   * test. Returns the test's new state.
   */
  record(
    check: CheckRecord,
    noted: Omit<CheckEvidence, "at"> | undefined,
    payments: readonly VerifierPayment[],
  ): Promise<SequentialTestState>;
  /** Stores the verifiers' earnings for a check that was not recorded. */
  owe(payments: readonly VerifierPayment[]): Promise<void>;
  /** Stores a score that only extends the sample, under the owner of the first verifier. */
  recordSample(sample: SampleRecord): Promise<void>;
  /**
   * Returns, by host account, whether each of the host's latest opinions as a verifier was wrong, oldest first, over
   * all gateways.
   */
  verifierErrors(): Promise<Map<string, boolean[]>>;
  /** Adds whether an opinion of the host's was wrong. Returns this for each of its latest opinions. */
  addVerifierError(hostId: Uuid, erred: boolean): Promise<boolean[]>;
  /** The bad scores of a node since this time, as evidence for its quarantine. */
  badScores(nodeId: Uuid, model: string, since: Date): Promise<{ at: Date; score: number | null; method: string }[]>;
}

/** Deletes checks before this time and returns their number. Totals, and the nodes' tests and counts, stay. */
export const pruneChecks = async (pool: pg.Pool, before: Date): Promise<number> =>
  (await pool.query("delete from spot_check where at < $1", [before])).rowCount ?? 0;

const Calibrating = row({
  model: z.string(),
  method: z.enum(SPOT_CHECK_METHODS),
  class: z.string(),
  identity: z.string(),
  nodeId: column.uuid,
  mean: z.number(),
  opening: z.number(),
  tail: z.number(),
  tokens: z.number(),
});
const Test = row({
  at: column.moment.nullable(),
  evidence: z.array(z.number()),
  badSince: column.moment.nullable(),
  confirmed: z.number(),
  watch: z.number(),
});
const NodeChecks = row({
  answers: z.record(z.string(), z.number()),
  checked: z.record(z.string(), z.number()),
  suspected: z.boolean(),
});

/**
 * The number of a node's recorded answers, and how many of them a verifier judged, by model. Traps and checks without a
 * judgement prove nothing about the node. `suspected`: whether there is strong evidence against the node.
 */
export const countNodeChecks = (pool: pg.Pool, nodeId: Uuid): Promise<z.infer<typeof NodeChecks>> =>
  queryOne(
    pool,
    NodeChecks,
    `select coalesce(jsonb_object_agg(model, answers), '{}') as answers, coalesce(jsonb_object_agg(model, checked), '{}') as checked,
            coalesce(bool_or((select avg(e) from unnest(evidence) e) >= ${STRONG_EVIDENCE_MIN}), false) as suspected
       from spot_check_test where node_id = $1`,
    [nodeId],
  );

const Bad = row({ at: column.moment, score: z.number().nullable(), method: z.string() });

/** The most scores that are loaded, over all models, methods and classes. */
const CALIBRATING_MAX = 20_000;
const BAD_SCORES_MAX = 20;
/**
 * The most tries to record a check. A try fails when another gateway has recorded a check of the same node meanwhile.
 */
const TRIES_MAX = 20;

export function openCheckStore(pool: pg.Pool): CheckStore {
  /** The test states that this gateway wrote last, by node and model. */
  const known = new Map<string, SequentialTestState>();
  return {
    async calibration(since) {
      const rows = await queryRows(
        pool,
        Calibrating,
        `select model, method, class, identity, node_id as "nodeId", mean, opening, tail, tokens from (
           select c.model, c.method, c.class, n.account_id::text as identity, c.node_id, c.mean, c.opening, c.tail, c.tokens, c.at
             from spot_check c join node n on n.id = c.node_id
            where c.calibrates and c.mean is not null and c.at > $1
              and not exists (select from node_quarantine q where q.node_id = c.node_id and q.released_at is null
                                 and q.reason = 'spot_check')
            order by c.at desc limit ${CALIBRATING_MAX}) latest
         order by at`,
        [since],
      );
      return rows.map(({ model, method, class: kind, identity, nodeId, ...score }) => ({
        nodeId,
        model,
        method,
        class: kind,
        identity,
        score,
      }));
    },
    async record(check, noted, payments) {
      const paid = paymentValues(payments);
      if (noted === undefined) {
        await queryRow(pool, Written, TRAP, [...valuesOf(check, check.calibrates), ...paid]);
        return INITIAL_TEST_STATE;
      }
      const key = `${check.nodeId} ${check.model}`;
      // Tries the known state first: usually no other gateway checked the node meanwhile, and one statement is enough.
      let before = known.get(key) ?? (await read(pool, check));
      for (let tries = 0; tries < TRIES_MAX; tries++) {
        const state = addCheck(before, { ...noted, at: check.at.getTime() });
        const calibrates = check.calibrates && !isSuspected(state) && !isStronglySuspected(state);
        const values = [
          ...valuesOf(check, calibrates),
          ...paid,
          ...stateValues(state),
          ...[formatUnquotedArray(before.evidence), before.confirmed, before.watch],
        ];
        if ((await queryRow(pool, Written, CHECK, values)) !== undefined) {
          known.set(key, state);
          return state;
        }
        before = await read(pool, check);
      }
      throw new Error(
        `spot check ${check.id} was not recorded: other gateways updated the node's spot-check state first ${TRIES_MAX} times`,
      );
    },
    async owe(payments) {
      await pool.query(OWE, paymentValues(payments));
    },
    async recordSample({ id, requestId, verifierIds, model, method, class: kind, score, at }) {
      const { mean, opening, tail, tokens } = score;
      const values = [
        id,
        requestId,
        ...verifierIds,
        model,
        method,
        kind,
        mean,
        opening,
        tail,
        tokens,
        at.toISOString(),
      ];
      await queryRow(pool, Written, SAMPLE, values);
    },
    async verifierErrors() {
      const rows = await queryRows(pool, VerifierErrors, `select host_id as "hostId", errors from spot_check_verifier`);
      return new Map(rows.map(({ hostId, errors }) => [hostId, errors]));
    },
    addVerifierError: async (hostId, erred) =>
      (await queryOne(pool, VerifierErrors, ADD_ERROR, [hostId, erred])).errors,
    badScores: (nodeId, model, since) =>
      queryRows(
        pool,
        Bad,
        `select at, mean as score, method from spot_check
          where node_id = $1 and model = $2 and at >= $3 and verdict = 'bad' order by at desc limit ${BAD_SCORES_MAX}`,
        [nodeId, model, since],
      ),
  };
}

const valuesOf = (check: CheckRecord, calibrates: boolean): unknown[] => [
  check.id,
  check.requestId,
  check.nodeId,
  check.verifierId,
  check.model,
  check.method,
  check.class,
  check.score?.mean ?? null,
  check.score?.opening ?? null,
  check.score?.tail ?? null,
  check.score?.tokens ?? 0,
  check.badness ?? null,
  check.verdict,
  calibrates,
  check.tokens,
  check.cost.toString(),
  check.at.toISOString(),
  check.answers,
];

/** One payment row per host. All gateways use the same order, so that their transactions do not deadlock. */
function paymentValues(payments: readonly VerifierPayment[]): string[] {
  const hosts = new Map<Uuid, VerifierPayment>();
  for (const payment of payments.toSorted((a, b) => (a.hostId < b.hostId ? -1 : 1))) {
    const { id, hostId, amount } = payment;
    hosts.set(hostId, { id, hostId, amount: pico(amount + (hosts.get(hostId)?.amount ?? 0n)) });
  }
  const sums = [...hosts.values()];
  return [
    formatUnquotedArray(sums.map(({ hostId }) => hostId)),
    formatUnquotedArray(sums.map(({ id }) => id)),
    formatUnquotedArray(sums.map(({ amount }) => amount)),
  ];
}

const stateValues = ({ evidence, badSince, confirmed, watch }: SequentialTestState): unknown[] => [
  formatUnquotedArray(evidence),
  badSince === null ? null : new Date(badSince).toISOString(),
  confirmed,
  watch,
];

const VerifierErrors = row({ hostId: column.uuid, errors: z.array(z.boolean()) });
const ADD_ERROR = `insert into spot_check_verifier as v (host_id, errors) values ($1, array[$2::boolean])
  on conflict (host_id) do update
    set errors = (v.errors || excluded.errors)[greatest(1, cardinality(v.errors) + 2 - ${VERIFIER_RESULTS_KEPT}):]
  returning host_id as "hostId", errors`;

const EARNED = `on conflict (host_id) do update set amount_pico = spot_check_due.amount_pico + excluded.amount_pico`;
const OWE = `insert into spot_check_due (host_id, transfer_id, amount_pico)
  select * from unnest($1::text::uuid[], $2::text::uuid[], $3::text::bigint[]) ${EARNED}`;

/** The inserts of every check, which run only if the update of the node's row succeeded. */
const INSERT = `, earned as (
    insert into spot_check_due (host_id, transfer_id, amount_pico)
    select due.* from changed, unnest($19::text::uuid[], $20::text::uuid[], $21::text::bigint[]) due
    ${EARNED})
  insert into spot_check (id, request_id, node_id, verifier_id, model, method, class, mean, opening, tail, tokens,
                          badness, verdict, calibrates, read_tokens, cost_pico, at)
  select $1::uuid, $2::uuid, $3::uuid, $4::uuid, $5::text, $6::text, $7::text, $8::float8, $9::float8, $10::float8, $11::int,
         $12::float8, $13::text, $14::boolean, $15::bigint, $16::numeric, $17::timestamptz from changed
  returning true as "isWritten"`;
const COUNTED =
  "answers = spot_check_test.answers + excluded.answers, checked = spot_check_test.checked + excluded.checked";
const Written = row({ isWritten: z.literal(true) });

/** Prepared once per connection, because planning these statements costs the database more than running them. */
const TRAP = {
  name: "spot_check_trap",
  text: `with changed as (
    insert into spot_check_test (node_id, model, evidence, confirmed, watch, answers, checked)
    values ($3, $5, array_fill(0::float8, array[${INITIAL_TEST_STATE.evidence.length}]), 0, 0, $18, 0)
    on conflict (node_id, model) do update set ${COUNTED}
    returning 1)${INSERT}`,
};

/**
 * Records a check and the new state of the node's test. Writes nothing if the stored state is not the one that the new
 * state was computed from (`$26` to `$28`), because another gateway recorded a check meanwhile.
 */
const CHECK = {
  name: "spot_check",
  text: `with changed as (
    insert into spot_check_test (node_id, model, at, evidence, bad_since, confirmed, watch, answers, checked)
    values ($3, $5, $17, $22, $23, $24, $25, $18, case $13 when 'unjudged' then 0 else 1 end)
    on conflict (node_id, model) do update
      set at = excluded.at, evidence = excluded.evidence, bad_since = excluded.bad_since, confirmed = excluded.confirmed,
          watch = excluded.watch, ${COUNTED}
      where spot_check_test.evidence = $26 and spot_check_test.confirmed = $27 and spot_check_test.watch = $28
    returning 1)${INSERT}`,
};

const SAMPLE = {
  name: "spot_check_sample",
  text: `insert into spot_check (id, request_id, node_id, verifier_id, model, method, class, mean, opening, tail, tokens, at,
                          verdict, calibrates, read_tokens, cost_pico)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 'sample', true, 0, 0) returning true as "isWritten"`,
};

async function read(pool: pg.Pool, { nodeId, model }: CheckRecord): Promise<SequentialTestState> {
  const found = await queryRow(
    pool,
    Test,
    `select at, evidence, bad_since as "badSince", confirmed, watch from spot_check_test where node_id = $1 and model = $2`,
    [nodeId, model],
  );
  return found
    ? { ...found, at: found.at?.getTime() ?? null, badSince: found.badSince?.getTime() ?? null }
    : INITIAL_TEST_STATE;
}
