/**
 * Shows how a single chat spends its time: the moments at which gateway and agent read and write, as medians over all
 * chats. `record-hop-times.ts` records them, which costs a few microseconds a chat, so nothing else is measured.
 *
 * npm run bench -- hops [--seconds 4] [--beside CHECKOUT] [--pin]
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { assignProcessors } from "../gateway/bench-process.ts";
import { FakeEngine } from "../gateway/fake-engine.ts";
import { TARGETS } from "../gateway/flags.ts";
import { runLoad } from "../gateway/load.ts";
import { SCENARIOS } from "../gateway/scenarios.ts";
import type { ProcessRole, Target, TargetOptions } from "../gateway/targets/target.ts";
import { scriptedTollgate, scriptedTollgateFromCheckout } from "../gateway/targets/tollgate.ts";
import { computeHopTimes, type HopTimes, renderHopTimesTable, type TimedChat } from "./hop-times.ts";
import type { RecordedMoment } from "./record-hop-times.ts";

const WATCH = fileURLToPath(new URL("./record-hop-times.ts", import.meta.url));
const TURNS = 6;
/** How long a watched process may take to write its records. */
const WRITTEN_AFTER_MS = 500;

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "4" },
    beside: { type: "string" },
    pin: { type: "boolean", default: false },
  },
});
const outDir = mkdtempSync(join(tmpdir(), "tollgate-hops-"));
const processors = assignProcessors(values.pin);
const engine = await FakeEngine.start({ processors: processors.others, outDir });
const plain = { engine, processors, outDir, profile: false };
const direct = (await TARGETS.direct(plain)).address;
const watched: { target: Target; chats: TimedChat[]; files: Record<ProcessRole, string> }[] = [];
try {
  await start("now", scriptedTollgate);
  if (values.beside !== undefined) await start("before", scriptedTollgateFromCheckout(values.beside));
  for (let turn = -1; turn < TURNS; turn++) {
    for (const one of turn % 2 === 0 ? watched : watched.toReversed()) {
      const scenario = { ...SCENARIOS["chat-c1"], seconds: Number(values.seconds) / TURNS };
      const onAnswer =
        turn < 0 ? undefined : (sentAtUs: number, endedAtUs: number) => one.chats.push({ sentAtUs, endedAtUs });
      await runLoad({ address: one.target.address, direct, scenario, look: async () => undefined, onAnswer });
    }
  }
  await new Promise((resolve) => setTimeout(resolve, WRITTEN_AFTER_MS));
  const columns = watched.map(({ target, chats, files }): [string, HopTimes[]] => [
    target.name,
    computeHopTimes(chats, { gateway: momentsIn(files.gateway), agent: momentsIn(files.agent) }),
  ]);
  console.log(renderHopTimesTable(columns));
} finally {
  for (const { target } of watched) await target.stop();
  await engine.child.stop();
  rmSync(outDir, { recursive: true });
}

async function start(name: string, target: (surroundings: TargetOptions) => Promise<Target>): Promise<void> {
  const fileOf = (role: ProcessRole): string => join(outDir, `${name}-${role}.jsonl`);
  const preload = (role: ProcessRole) => ({ flags: [`--import=${WATCH}`], env: { HOPS_FILE: fileOf(role) } });
  const files = { gateway: fileOf("gateway"), agent: fileOf("agent"), postgres: "" };
  watched.push({ target: { ...(await target({ ...plain, preload })), name }, chats: [], files });
}

function momentsIn(file: string): RecordedMoment[] {
  const lines = readFileSync(file, "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line) as RecordedMoment);
}
