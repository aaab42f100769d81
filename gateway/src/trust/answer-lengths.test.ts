import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Random } from "../base/random.ts";
import { seededRandom } from "../base/testing.ts";
import type { PeerGateways } from "../dispatch/exchange/peer-gateways.ts";
import { AnswerLengthStatistics } from "./answer-lengths.ts";
import { randomChoices } from "./questions/random-choices.ts";

interface Fleet {
  /** For each node, a function from the honest answer's length to the length of the node's answer. */
  nodes: { host: string; answer: (honest: number) => number }[];
  accounts: number;
  answers: number;
  /** The mean length of honest answers to an account's requests at this time. */
  meanOf?: (account: number, time: number) => number;
}

/** The mean answer length differs by builder: some ask for a few words, others for pages. */
const spread = (account: number): number => 20 * 3 ** (account % 5);

/** Maps each suspected node to the number of its answers before the suspicion. Other nodes are absent. */
function suspicions(random: Random, { nodes, accounts, answers, meanOf = spread }: Fleet): Map<number, number> {
  const [lengths, d] = [new AnswerLengthStatistics(random), randomChoices(random)];
  const given = nodes.map(() => 0);
  const found = new Map<number, number>();
  for (let time = 0; time < answers; time++) {
    const [account, n] = [d.between(0, accounts - 1), d.between(0, nodes.length - 1)];
    const { host, answer } = nodes[n] as Fleet["nodes"][0];
    const honest = Math.min(400, Math.max(1, Math.round(meanOf(account, time) * Math.exp(0.7 * d.normal()))));
    given[n] = (given[n] ?? 0) + 1;
    const suspected = lengths.note({
      ...{ nodeId: `n${n}`, host, model: "m", accountId: `a${account}`, formatted: false },
      ...{ promptTokens: 100, outputTokensMax: 400, outputTokens: answer(honest) },
    });
    if (suspected !== undefined && !found.has(n)) found.set(n, given[n] as number);
  }
  return found;
}

const honest = (length: number): number => length;
const fleet = (count: number): Fleet["nodes"] =>
  Array.from({ length: count }, (_, i) => ({ host: `h${i % 5}`, answer: honest }));

describe("statistics on answer length", () => {
  test("suspect no honest node in 200,000 answers of 20 nodes to 40 different builders", () => {
    assert.deepEqual([...suspicions(seededRandom(1), { nodes: fleet(20), accounts: 40, answers: 200_000 })], []);
  });

  for (const [what, answer, meanOf = spread] of [
    ["answers with a few words", () => 12],
    ["always writes to the cap", () => 400],
    ["gives one canned answer of a usual length", () => 90],
    ["gives one canned answer that is neither long nor short", () => 90, () => 90],
    ["writes half as much", (length: number) => Math.ceil(length / 2)],
  ] as const) {
    test(`suspect a node that ${what} within 1,000 of its answers, and no other node`, () => {
      const nodes = [...fleet(8), { host: "cheat", answer }];
      const found = suspicions(seededRandom(2), { nodes, accounts: 30, answers: 30_000, meanOf });
      assert.ok((found.get(8) ?? Number.POSITIVE_INFINITY) <= 1000, `after ${found.get(8)} answers`);
      assert.deepEqual([...found.keys()], [8]);
    });
  }

  test("suspect no honest node in a fleet with a dishonest node, however long the test runs", () => {
    const nodes = [...fleet(4), { host: "cheat", answer: () => 3 }];
    const found = suspicions(seededRandom(9), { nodes, accounts: 20, answers: 100_000 });
    assert.deepEqual([...found.keys()], [4]);
  });

  test("never suspect a node because of a single builder's requests", () => {
    const odd = (account: number, time: number): number => (account === 0 ? 1 + time / 50 : 60);
    const growing = suspicions(seededRandom(3), { nodes: fleet(6), accounts: 1, answers: 20_000, meanOf: odd });
    assert.deepEqual([...growing], [], "answers that grow longer and longer");
    // Node n0 recognizes one builder's requests, and gives very short answers only to those.
    const [lengths, d] = [new AnswerLengthStatistics(seededRandom(4)), randomChoices(seededRandom(5))];
    for (let i = 0; i < 20_000; i++) {
      const n = d.between(0, 5);
      const [accountId, target] = i % 2 === 0 ? ["odd", 1] : [`a${i % 20}`, 100 + d.between(0, 50)];
      const outputTokens = accountId === "odd" && n === 0 ? target : 100 + d.between(0, 50);
      lengths.note({
        nodeId: `n${n}`,
        host: `h${n}`,
        model: "m",
        accountId,
        promptTokens: 9,
        outputTokens,
        outputTokensMax: 400,
        formatted: false,
      });
    }
    assert.equal(lengths.isSuspicious("n0"), false);
  });

  test("count the comparisons of all gateways", () => {
    const gateways: AnswerLengthStatistics[] = [];
    const hearers: ((nodeId: string, items: unknown[]) => void)[] = [];
    for (const own of [0, 1, 2, 3]) {
      const peers = {
        exchange: ({ hear }: { hear: (nodeId: string, items: never[], how: never) => void }) => {
          hearers[own] = (nodeId, items) => hear(nodeId, items as never[], undefined as never);
          return (nodeId: string, item: unknown) => {
            for (const [i, tell] of hearers.entries()) if (i !== own) tell(nodeId, [item]);
          };
        },
      } as Pick<PeerGateways, "exchange">;
      gateways.push(new AnswerLengthStatistics(seededRandom(10 + own), peers));
    }
    const alone = new AnswerLengthStatistics(seededRandom(20));
    const d = randomChoices(seededRandom(21));
    const answer = (at: AnswerLengthStatistics[]): void => {
      const n = d.between(0, 4);
      const outputTokens = n === 0 ? 12 : d.between(50, 300);
      const request = { model: "m", accountId: `a${d.between(0, 19)}`, promptTokens: 9, outputTokensMax: 400 };
      for (const one of at) one.note({ nodeId: `n${n}`, host: `h${n}`, outputTokens, formatted: false, ...request });
    };
    // Each gateway serves a quarter of the requests.
    for (let i = 0; !gateways.every((one) => one.isSuspicious("n0")); i++) {
      assert.ok(i < 4_000, "the gateways did not suspect the node");
      answer([gateways[i % 4] as AnswerLengthStatistics, ...(i % 4 === 0 ? [alone] : [])]);
    }
    assert.equal(alone.isSuspicious("n0"), false, "a quarter of the answers is not enough");
    assert.ok(gateways.every((one) => ["n1", "n2", "n3", "n4"].every((id) => !one.isSuspicious(id))));
  });

  test("give no result without nodes of two other hosts to compare with", () => {
    const nodes = [
      { host: "a", answer: honest },
      { host: "a", answer: honest },
      { host: "b", answer: () => 1 },
    ];
    assert.deepEqual([...suspicions(seededRandom(6), { nodes, accounts: 30, answers: 20_000 })], []);
  });

  test("clear a suspected node after a series of ordinary answers", () => {
    const [lengths, d] = [new AnswerLengthStatistics(seededRandom(7)), randomChoices(seededRandom(8))];
    const isSuspicious = (answers: number, isOdd: boolean): boolean => {
      for (let i = 0; i < answers; i++) {
        const n = d.between(0, 4);
        const outputTokens = n === 0 && isOdd ? 1 : d.between(50, 300);
        const accountId = `a${d.between(0, 19)}`;
        lengths.note({
          nodeId: `n${n}`,
          host: `h${n}`,
          model: "m",
          accountId,
          promptTokens: 9,
          outputTokens,
          outputTokensMax: 400,
          formatted: false,
        });
      }
      return lengths.isSuspicious("n0");
    };
    assert.equal(isSuspicious(3_000, true), true);
    assert.equal(lengths.evidenceOf("n0")[0]?.model, "m");
    assert.equal(isSuspicious(20_000, false), false);
  });
});
