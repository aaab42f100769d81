/**
 * Measures the longest time for which one frame of a hostile node blocks the gateway's event loop. The target is 20 ms
 * for any frame.
 *
 * npm run bench -- frames [part of a name]
 */
import { createLog } from "../../gateway/src/base/log.ts";
import { loadCatalogue } from "../../gateway/src/metering/catalogue.ts";
import { openTokenMetering } from "../../gateway/src/metering/metering.ts";
import { SCENARIOS } from "./frame-scenarios.ts";
import { GatewayUnderTest } from "./gateway-under-test.ts";

const AIM_MS = 20;
/**
 * The fastest of several rounds counts: the slower ones were disturbed by other work or ran code that was not compiled
 * yet.
 */
const ROUNDS = 6;

const wanted = process.argv[2] ?? "";
const { active } = await loadCatalogue(new URL("../../gateway/catalogue/models.json", import.meta.url));
const metering = await openTokenMetering({ log: createLog("silent") });
let over = 0;
for (const { name, run } of SCENARIOS.filter(({ name }) => name.includes(wanted))) {
  const bestMs: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const gateway = new GatewayUnderTest(metering, active);
    await run(gateway);
    for (const [i, ms] of gateway.frameMs.entries()) bestMs[i] = Math.min(bestMs[i] ?? Number.POSITIVE_INFINITY, ms);
    gateway.close();
  }
  const worstMs = bestMs.reduce((worst, ms) => Math.max(worst, ms), 0);
  if (worstMs > AIM_MS) over++;
  console.log(`${worstMs.toFixed(2).padStart(10)} ms${worstMs > AIM_MS ? " !" : "  "} ${name}`);
}
console.log(over === 0 ? `every frame within ${AIM_MS} ms` : `${over} over ${AIM_MS} ms`);
process.exit(0);
