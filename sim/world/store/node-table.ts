/**
 * The simulated table of nodes, as far as dispatch and trust use it, with the semantics of the statements in
 * `fleet/fleet.ts`.
 */
import type { Uuid } from "../../../gateway/src/base/ids.ts";
import { WORLD_START_MS } from "../process-lifetime.ts";

export interface NodeRecord {
  id: Uuid;
  accountId: Uuid;
  models: string[];
  answers: number;
  quarantine: { reason: string; evidence: Record<string, unknown>; by: string; atMs: number } | null;
}

type Row = Record<string, unknown>;

export class NodeTable {
  readonly records: NodeRecord[] = [];
  /** Returns the current virtual time in milliseconds. */
  readonly #nowMs: () => number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  find(id: Uuid): Row[] {
    return this.#of(id).map(rowOf);
  }

  /**
   * Changes a node's standing, which here only a quarantine does. Returns no row if the standing is no longer `from`.
   */
  move(id: Uuid, from: string, to: string, [reason, evidence, by]: [string, Record<string, unknown>, string]): Row[] {
    if (to !== "quarantined") throw new Error(`no simulated gateway makes a node ${to}`);
    const moved = this.#of(id).filter((record) => standingOf(record) === from);
    for (const record of moved) {
      record.quarantine = { reason, evidence, by, atMs: this.#nowMs() };
      record.answers = 0;
    }
    return moved.map(() => ({ id }));
  }

  /** Adds answers to the nodes' counts. Returns the nodes whose probation ends with these answers. */
  record(ids: Uuid[], answers: number[], needed: number): Row[] {
    return ids.flatMap((id, i) => {
      const more = Number(answers[i]);
      const counted = this.#of(id).filter(({ quarantine }) => more > 0 && quarantine === null);
      for (const record of counted) record.answers += more;
      return counted.filter((record) => record.answers >= needed && record.answers - more < needed).map(() => ({ id }));
    });
  }

  barred(): Row[] {
    return this.records.filter(({ quarantine }) => quarantine !== null).map(({ id }) => ({ id }));
  }

  #of(id: Uuid): NodeRecord[] {
    return this.records.filter((record) => record.id === id);
  }
}

const standingOf = ({ quarantine }: NodeRecord): string => (quarantine === null ? "ready" : "quarantined");

function rowOf(record: NodeRecord): Row {
  const { id, accountId, models, answers, quarantine } = record;
  return {
    id,
    accountId,
    hostSuspended: false,
    name: "simulated",
    standing: standingOf(record),
    hardware: {},
    agent: "simulated",
    models,
    createdAt: new Date(WORLD_START_MS),
    honestAnswers: answers,
    owners: [accountId],
    hostQuarantined: false,
    quarantine: quarantine === null ? null : { ...quarantine, at: new Date(WORLD_START_MS).toISOString() },
  };
}
