/** The fleet's records, as far as dispatch and trust ask for them, kept in the simulated store. */
import { parseId, publicId, type Uuid } from "../../gateway/src/base/ids.ts";
import type { Fleet, Node } from "../../gateway/src/fleet/fleet.ts";
import { NODE_RULES } from "../../gateway/src/fleet/rules.ts";
import { EPOCH_MS, type Life } from "../world/life.ts";
import type { World } from "../world/world.ts";

export interface NodeRecord {
  id: Uuid;
  accountId: Uuid;
  models: string[];
  answers: number;
  quarantine: { reason: string; evidence: Record<string, unknown>; by: string; atMs: number } | null;
}

export const nodeIdOf = (record: NodeRecord): string => publicId("node", record.id);

/** The part of `Fleet` that a gateway uses by itself. */
export function fleetOf(world: World, life: Life, records: NodeRecord[]): Fleet {
  const find = (id: Uuid): NodeRecord | undefined => records.find((record) => record.id === id);
  const run = <T>(what: string, act: () => T): Promise<T> => world.store.run(life, `fleet: ${what}`, act);
  const part: Pick<Fleet, "rules" | "find" | "quarantine" | "answered" | "barredSince"> = {
    rules: NODE_RULES,
    find: (_owner, id) => run("find", () => nodeOf(find(id))),
    quarantine: (id, why) =>
      run("quarantine", () => {
        const record = find(id);
        if (record === undefined) return { kind: "absent" as const };
        record.quarantine ??= { ...why, atMs: world.scheduler.nowMs };
        world.trace.add("fleet", `${nodeIdOf(record)} is in quarantine: ${why.reason} ${JSON.stringify(why.evidence)}`);
        return { kind: "moved" as const, node: nodeOf(record) as Node };
      }),
    answered: (id, answers) =>
      run("answered", () => {
        const record = find(id);
        if (record === undefined || record.answers >= NODE_RULES.probationAnswers) return false;
        record.answers += answers;
        return record.answers >= NODE_RULES.probationAnswers;
      }),
    barredSince: () => run("barred", () => records.filter(({ quarantine }) => quarantine !== null).map(({ id }) => id)),
  };
  return part as Fleet;
}

function nodeOf(record: NodeRecord | undefined): Node | undefined {
  if (record === undefined) return undefined;
  const { id, accountId, models, answers, quarantine } = record;
  const needed = NODE_RULES.probationAnswers;
  return {
    id,
    accountId,
    hostSuspended: false,
    name: "simulated",
    standing: quarantine === null ? "ready" : "quarantined",
    hardware: {},
    agent: "simulated",
    models,
    createdAt: new Date(EPOCH_MS),
    quarantine: quarantine === null ? null : { ...quarantine, at: new Date(EPOCH_MS) },
    probation: answers >= needed ? null : { answers, needed },
    withheld: null,
  };
}

export const uuidOfNode = (nodeId: string): Uuid => parseId("node", nodeId) as Uuid;
