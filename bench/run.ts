/** `npm run bench -- NAME [flags]`: runs one of the benches of this folder. */
const BENCHES: Record<string, string> = {
  agent: "./agent/run.ts",
  charts: "./gateway/charts/run.ts",
  choice: "./choice/run.ts",
  console: "./console/run.ts",
  frames: "./frames/run.ts",
  gateway: "./gateway/run.ts",
  gpu: "./gpu/run.ts",
  history: "./history/run.ts",
  hops: "./hops/run.ts",
  hostile: "./hostile/run.ts",
  insight: "./insight/run.ts",
  ledger: "./ledger/run.ts",
  metering: "./metering/run.ts",
  parts: "./parts/run.ts",
  scale: "./scale/run.ts",
  soak: "./soak/run.ts",
  rollups: "./rollups/run.ts",
  "spot-checks": "./spot-checks/run.ts",
  start: "./start/run.ts",
  streams: "./streams/run.ts",
  walls: "./walls/run.ts",
  workers: "./workers/run.ts",
};

// Removes the bench's name, so that the bench reads the remaining arguments as if it had been started directly.
const [name] = process.argv.splice(2, 1);
const file = BENCHES[name ?? ""];
if (file === undefined) {
  console.error(`Usage: npm run bench -- ${Object.keys(BENCHES).join("|")}`);
  process.exit(1);
}
await import(file);
