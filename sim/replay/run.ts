/**
 * `npm run sim:replay`: replays the ledgers of simulated worlds with the ledger's SQL on a real PostgreSQL. Exits with
 * 1 if an answer or balance differs.
 */
import { parseArgs } from "node:util";
import { openTestDatabase } from "../../gateway/src/db/testing.ts";
import { generateRandomPlan } from "../generate-random-plan.ts";
import { loadTokenCounting } from "../token-counting.ts";
import { recordWorldLedger } from "./record-world-ledger.ts";
import { replayRecording } from "./replay.ts";

const USAGE = `Usage: npm run sim:replay -- [flags]
  --seeds FROM-TO   which worlds (default 1-200)
  --minutes M       how long each lasts (default 0.5)`;
const SHOWN = 5;

const { values: flags } = parseArgs({
  options: {
    seeds: { type: "string", default: "1-200" },
    minutes: { type: "string", default: "0.5" },
    help: { type: "boolean", default: false },
  },
});
if (flags.help) {
  console.log(USAGE);
  process.exit(0);
}
const [, from, to] = /^(\d+)-(\d+)$/.exec(flags.seeds) ?? [];
const minutes = Number(flags.minutes);
if (from === undefined || to === undefined) throw new Error("--seeds must be two whole numbers, FROM-TO");
if (!(minutes >= 0.1)) throw new Error("--minutes must be a number from 0.1 on");

const tokens = await loadTokenCounting();
let [worlds, statements, differing] = [0, 0, 0];
for (let seed = Number(from); seed <= Number(to); seed++) {
  const recording = await recordWorldLedger(generateRandomPlan(seed, { minutes }), tokens);
  const db = await openTestDatabase();
  const client = await db.pool.connect();
  const differences = await replayRecording(client, recording);
  // Closes the connection, because its settings must not affect another replay.
  client.release(true);
  await db.close();
  worlds += 1;
  statements += recording.done.reduce((sum, done) => sum + done.statements.length, 0);
  if (differences.length === 0) continue;
  differing += 1;
  console.log(`seed ${seed} differs:`);
  for (const line of differences.slice(0, SHOWN)) console.log(`  ${line}`);
}
console.log(`${worlds} worlds, ${statements} statements, ${differing} worlds differ from PostgreSQL`);
process.exitCode = differing > 0 ? 1 : 0;
