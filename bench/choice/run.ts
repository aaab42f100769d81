/**
 * Measures the cost of choosing a node for a request, by the number of connected nodes.
 *
 * node bench/choice/run.ts [--beside CHECKOUT]
 *
 * Uses a gateway's roster (its list of connected nodes) and node speeds, with a dispatch plane in memory. Every node
 * has eight slots, two models and 31 measured answers for each model; half of the nodes support output formats. Reports
 * this process's processor time, as medians of several turns. With `--beside` it measures another checkout too, in
 * alternating turns.
 */
import { resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import type { Uuid } from "../../gateway/src/base/ids.ts";
import { createLog } from "../../gateway/src/base/log.ts";
import { systemRandom } from "../../gateway/src/base/random.ts";
import { manualClock } from "../../gateway/src/base/testing.ts";
import type { RosterNode } from "../../gateway/src/dispatch/roster-node.ts";
import { MemoryPlane } from "../../gateway/src/dispatch/testing.ts";
import { encodeFrame } from "../../protocol/src/frame-codec.ts";
import { nodeStateSubject } from "../../protocol/src/nats-subjects.ts";

const COUNTS = [10, 100, 1_000, 10_000];
const SLOTS = 8;
const MODELS = ["small", "large"];
const SAMPLES = 31;
const TURNS = 5;
const STEPS_PER_TURN = 1_000;
const EXCLUDED = { none: new Set<string>(), two: new Set(["n1", "n2"]) };

const { values } = parseArgs({ options: { beside: { type: "string" } } });
const OWN = fileURLToPath(new URL("../..", import.meta.url));
const checkouts = [OWN, ...(values.beside === undefined ? [] : [resolve(values.beside)])];

type Step = () => void;

console.log(
  "| Nodes | | a choice, µs | of those that keep a format | a job sent and ended | a node's report | leaves and joins |",
);
console.log("|---|---|---|---|---|---|---|");
for (const count of COUNTS) {
  const measured = await Promise.all(checkouts.map((checkout) => stepsOf(checkout, count)));
  const figures = measured.map((steps) => Object.keys(steps).map((): number[] => []));
  for (let turn = -1; turn < TURNS; turn++) {
    for (const [at, steps] of measured.entries()) {
      for (const [nth, step] of Object.values(steps).entries()) {
        const us = await usPer(step);
        // The first turn compiles the code and is not counted.
        if (turn >= 0) figures[at]?.[nth]?.push(us);
      }
    }
  }
  for (const [at, rows] of figures.entries()) {
    const cells = rows.map((times) => times.sort((a, b) => a - b)[TURNS >> 1]?.toFixed(2));
    console.log(`| ${count} | ${at === 0 ? "now" : "beside"} | ${cells.join(" | ")} |`);
  }
}

async function stepsOf(checkout: string, count: number): Promise<Record<string, Step>> {
  const at = (file: string): string => pathToFileURL(resolve(checkout, "gateway/src/dispatch", file)).href;
  const { Roster } = (await import(at("roster.ts"))) as typeof import("../../gateway/src/dispatch/roster.ts");
  const { NodeSpeeds: Speeds } = (await import(
    at("node-speeds.ts")
  )) as typeof import("../../gateway/src/dispatch/node-speeds.ts");
  const plane = new MemoryPlane();
  const nodeRecord = async (id: string) => ({ nodeId: id as Uuid, hostAccountId: "h" as Uuid, models: MODELS });
  const roster = new Roster({
    plane,
    clock: manualClock(),
    random: systemRandom(),
    log: createLog("silent"),
    nodeRecord,
  });
  const speeds = new Speeds();
  // Turns off the rate limit on a node's state reports, because the clock stands still here.
  roster.rates.count = () => true;
  const reports = Array.from({ length: count }, (_, i) => {
    const formats = i % 2 === 0 ? MODELS : [];
    const told = { models: MODELS, slots: SLOTS, busy: 0, draining: false, json_schema: formats };
    return { id: `n${i}`, frame: encodeFrame({ kind: "state", state: { agent: "bench", protocol: "1.2", ...told } }) };
  });
  const report = ({ id, frame }: (typeof reports)[number]): void => plane.publish(nodeStateSubject(id), frame);
  for (const each of reports) {
    report(each);
    for (const model of MODELS) {
      for (let i = 0; i < SAMPLES; i++) {
        speeds.note(each.id, model, { at: i, ttftMs: (i * 7919) % 1_000, tokensPerSecond: i });
      }
    }
  }
  await new Promise(setImmediate);
  const ttftMs = (id: string): number | null => speeds.ofNode(id, "small").ttftMs;
  for (const { id } of reports) ttftMs(id);
  const find = (formatted: boolean): RosterNode => {
    const excluded = turn++ % 2 === 0 ? EXCLUDED.none : EXCLUDED.two;
    const node = roster.pick({ model: "small", formatted }, excluded, ttftMs);
    if (node === undefined) throw new Error("no node was found");
    return node;
  };
  let turn = 0;
  // Puts a quarter of all slots in use.
  const running = Array.from({ length: (count * SLOTS) / 4 }, () => {
    const node = find(false);
    roster.sent(node);
    return node;
  });
  return {
    choice: () => void find(false),
    formatted: () => void find(true),
    job: () => {
      const node = running[turn++ % running.length] as RosterNode;
      roster.ended(node);
      roster.sent(node);
    },
    report: () => report(reports[turn++ % count] as (typeof reports)[number]),
    rejoin: () => {
      const one = reports[turn++ % count] as (typeof reports)[number];
      plane.drop(one.id);
      report(one);
    },
  };
}

/**
 * Returns the processor time per step, including the work that a node's state report causes shortly after it arrives.
 */
async function usPer(step: Step): Promise<number> {
  const before = process.cpuUsage();
  for (let steps = 0; steps < STEPS_PER_TURN; steps++) {
    step();
    if (steps % 16 === 0) await new Promise(setImmediate);
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / STEPS_PER_TURN;
}
