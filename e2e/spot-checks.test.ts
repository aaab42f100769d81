/**
 * Tests spot checks on a whole platform with honest nodes and one that answers junk: from the first request to the
 * quarantine and the withheld earnings.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sendUserMessage } from "@tollgate/stage/builder-requests.ts";
import { callNodeApi, HandMadeNode } from "@tollgate/stage/nodes/hand-made-node.ts";
import { answerHonestly, HONEST_ANSWER } from "@tollgate/stage/nodes/node-behaviours.ts";
import { type InProcessStage, openStage } from "@tollgate/stage/stage.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { writeCatalogue } from "@tollgate/stage/write-catalogue.ts";

const MODEL = "tiny-3b";
const JUNK = "lorem ipsum dolor sit amet consectetur adipiscing elit";
const AT_ONCE = 8;
/**
 * The maximum number of requests, after which the test fails. Spot checks (one answer in five) first need 100 honest
 * answers, and then three bad ones.
 */
const REQUESTS_MAX = 4_000;

interface Check {
  request_id: string;
  verdict: string;
}

describe("a node that returns wrong output", () => {
  let stage: InProcessStage;
  const nodes: HandMadeNode[] = [];
  before(async () => {
    const plain = { [MODEL]: { canaries: [], tps_max: 1e9 } };
    stage = await openStage({
      as: "in-process",
      clock: "running",
      env: async (folder) => ({ AUTO_QUARANTINE: "true", CATALOGUE_FILE: await writeCatalogue(folder, plain) }),
    });
    for (const answer of [HONEST_ANSWER, HONEST_ANSWER, HONEST_ANSWER, HONEST_ANSWER, JUNK]) {
      const behaviour = answerHonestly(() => answer);
      const traits = { name: `node ${nodes.length}`, models: [MODEL], behaviour };
      nodes.push(await HandMadeNode.join(stage, await stage.host(), traits));
    }
  });
  after(async () => {
    for (const node of nodes) await node.leave();
    await stage?.close();
  });

  test("spot checks find the node and quarantine it with evidence, and its later earnings are withheld", async () => {
    const cheat = nodes.at(-1) as HandMadeNode;
    const { key } = await stage.builder();
    const isBarred = async () => (await stage.query("select 1 from node_quarantine")).length > 0;
    for (let sent = 0; sent < REQUESTS_MAX && !(await isBarred()); sent += AT_ONCE) {
      const asked = Array.from({ length: AT_ONCE }, (_, i) =>
        sendUserMessage(stage, key, { model: MODEL, prompt: `${sent + i}` }),
      );
      for (const response of await Promise.all(asked)) {
        assert.equal(response.status, 200);
        await response.text();
      }
    }
    const rows = await stage.query<{ node: string; reason: string; evidence: { model: string; bad_scores: number } }>(
      "select 'node_' || node_id as node, reason, evidence from node_quarantine",
    );
    assert.deepEqual(
      rows.map(({ reason, evidence }) => [reason, evidence.model, evidence.bad_scores >= 3]),
      [["spot_check", MODEL, true]],
    );
    assert.equal(await cheat.state(), "quarantined");
    for (const node of nodes.slice(0, -1)) assert.equal(await node.state(), "online");

    const path = `/nodes/${cheat.id}/checks?limit=100`;
    const { status, body } = await callNodeApi<{ data: Check[] }>(stage, cheat.host.token, "GET", path);
    assert.equal(status, 200);
    assert.ok(body.data.filter(({ verdict }) => verdict === "bad").length >= 3);
    assert.doesNotMatch(JSON.stringify(body), /lorem/);

    const withheld = async () =>
      (
        await stage.query<{ sum: string | null }>(
          "select sum(amount_pico) as sum from withheld_share where released_at is null",
        )
      )[0]?.sum;
    await eventually(
      "its shares since the first bad answer are withheld",
      async () => BigInt((await withheld()) ?? 0) > 0n,
    );
  });
});
