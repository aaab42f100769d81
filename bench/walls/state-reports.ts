/**
 * Measures what a node's state report costs each gateway. A node reports the number of its busy slots whenever it
 * changes, and every gateway on the dispatch plane receives the report. Light nodes (connections without an agent)
 * report at a rate, on a real NATS server, and one gateway has no other work.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { connect, jwtAuthenticator, type NatsConnection } from "@nats-io/transport-node";
import { encodeFrame } from "@tollgate/protocol/frame-codec.ts";
import { nodeStateSubject } from "@tollgate/protocol/nats-subjects.ts";
import { enrolNode } from "@tollgate/stage/nodes/hand-made-node.ts";
import { openStage } from "@tollgate/stage/stage.ts";
import { cpuSpentUs, readCpuTime } from "../gateway/process-resource-usage.ts";

/** The number of nodes: enough that none exceeds the maximum rate of reports per node. */
const NODES = 100;
const SLOTS = 64;
const TICK_MS = 50;
const MODEL = "tiny-3b";

export async function measureStateReports(rates: number[], seconds: number): Promise<void> {
  const stage = await openStage({
    as: "processes",
    plane: "nats",
    env: { AUTO_QUARANTINE: "false" },
  });
  const lines: { id: string; line: NatsConnection }[] = [];
  try {
    for (let i = 0; i < NODES; i++) {
      // Each node gets a host of its own, because a new host may have few nodes.
      const host = await stage.host();
      const { id, credentials } = await enrolNode(stage, host, { name: `light-${i}`, models: [MODEL] });
      const authenticator = jwtAuthenticator(credentials.jwt, Buffer.from(credentials.seed));
      lines.push({ id, line: await connect({ servers: credentials.url, authenticator, reconnect: false }) });
    }
    const watched = { pid: stage.pid, withChildren: false };
    console.log("\n| reports a second | gateway, ms of processor time a second | µs a report |\n|---|---|---|");
    let atRest = 0;
    for (const rate of [0, ...rates]) {
      const before = readCpuTime(watched);
      const begunAt = performance.now();
      const sent = await report(lines, rate, seconds);
      const perSecond = cpuSpentUs(before, readCpuTime(watched)) / ((performance.now() - begunAt) / 1000);
      if (rate === 0) atRest = perSecond;
      const actual = sent / seconds;
      const each = rate === 0 ? "" : ((perSecond - atRest) / actual).toFixed(1);
      console.log(`| ${actual.toFixed(0)} | ${(perSecond / 1000).toFixed(1)} | ${each} |`);
    }
  } finally {
    await Promise.all(lines.map(({ line }) => line.close()));
    await stage.close();
  }
}

/** Each report has another number of busy slots than the node's report before. */
async function report(lines: { id: string; line: NatsConnection }[], rate: number, seconds: number): Promise<number> {
  const begunAt = performance.now();
  let sent = 0;
  while (performance.now() - begunAt < seconds * 1000) {
    await sleep(TICK_MS);
    const due = Math.floor(((performance.now() - begunAt) / 1000) * rate);
    for (; sent < due; sent++) {
      const { id, line } = lines[sent % NODES] as (typeof lines)[number];
      const busy = Math.floor(sent / NODES) % SLOTS;
      const state = {
        protocol: "1.0",
        agent: "bench",
        slots: SLOTS,
        busy,
        models: [MODEL],
        accepts_early: true,
        draining: false,
      };
      line.publish(nodeStateSubject(id), encodeFrame({ kind: "state", state }));
    }
  }
  return sent;
}
