/**
 * Where a process spends its time: by function alone, and by function of our own with all that it calls outside our code.
 * `node bench/gateway/profile/top.ts FILE.cpuprofile`. Shares are of the time it was at work.
 */
import { readFileSync } from "node:fs";
import type { CpuProfile } from "./inspector.ts";

const ROWS = 40;
const RESTING = new Set(["(idle)", "(root)"]);
/** Native work outside any JavaScript: the system calls of the event loop above all. */
const PROGRAM = "(program)";

type Node = CpuProfile["nodes"][number];

export function topTable(profile: CpuProfile): string {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const parents = new Map(
    profile.nodes.flatMap((node) => (node.children ?? []).map((child) => [child, node] as const)),
  );
  const alone = new Map<string, number>();
  const owned = new Map<string, number>();
  let workUs = 0;
  for (const [i, id] of profile.samples.entries()) {
    const node = nodes.get(id);
    if (node === undefined || RESTING.has(node.callFrame.functionName)) continue;
    const us = profile.timeDeltas[i] ?? 0;
    workUs += us;
    add(alone, nameOf(node), us);
    add(owned, ownerOf(node, parents), us);
  }
  const part = (title: string, shares: Map<string, number>): string => `${title}\n${table(shares, workUs)}\n`;
  return [
    `at work ${(workUs / 1000).toFixed(0)} ms\n`,
    part("By function:", alone),
    part("By function of ours, with what it calls elsewhere:", owned),
  ].join("\n");
}

/** The nearest of our functions up the stack; where there is none, the outermost that is somebody's. */
function ownerOf(node: Node, parents: Map<number, Node>): string {
  let outermost = node;
  for (let at: Node | undefined = node; at !== undefined; at = parents.get(at.id)) {
    if (isOurs(at.callFrame.url)) return nameOf(at);
    if (at.callFrame.url !== "") outermost = at;
  }
  return nameOf(outermost);
}

const isOurs = (url: string): boolean => /\/(gateway|protocol|host)\/src\//.test(url);

function nameOf({ callFrame: { functionName, url, lineNumber } }: Node): string {
  if (functionName === PROGRAM) return PROGRAM;
  const file = url.replace(/^file:\/\//, "").replace(/^.*\/(node_modules|gateway|protocol|host)\//, "$1/");
  return `${functionName || "(anonymous)"}  ${file === "" ? "native" : `${file}:${lineNumber + 1}`}`;
}

function table(shares: Map<string, number>, allUs: number): string {
  const rows = [...shares].sort(([, a], [, b]) => b - a).slice(0, ROWS);
  return rows.map(([name, us]) => `${((100 * us) / allUs).toFixed(2).padStart(6)} %  ${name}`).join("\n");
}

function add(sums: Map<string, number>, name: string, us: number): void {
  sums.set(name, (sums.get(name) ?? 0) + us);
}

if (import.meta.main) {
  for (const file of process.argv.slice(2)) console.log(`${file}\n${topTable(JSON.parse(readFileSync(file, "utf8")))}`);
}
