/** Tests every operation on the cluster of NATS servers, with a gateway's own login. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { systemClock } from "../../gateway/src/base/clock.ts";
import { createLog } from "../../gateway/src/base/log.ts";
import { systemRandom } from "../../gateway/src/base/random.ts";
import { openNatsPlane } from "../../gateway/src/plane/nats/nats-plane.ts";
import { natsReleases } from "../../tools/nats-servers.ts";
import { eventually } from "../wait.ts";
import { startNats } from "./nats.ts";

const skip = natsReleases().length === 0 && "nats-server is not installed";

for (const release of ["newest", "oldest"]) {
  test(`a test can kill, freeze and restart three NATS servers (${release} release) in turn`, { skip }, async (t) => {
    const nats = await startNats({ release });
    t.after(() => nats.close());
    t.diagnostic(`NATS ${nats.version}`);
    const { NATS_URL: url, PLANE_SEED, NATS_OPERATOR_SEED, NATS_SYSTEM_JWT, NATS_SYSTEM_SEED } = nats.environment;
    assert.equal(url?.split(",").length, 3);
    const authority = await readFile(nats.environment.NODE_EXTRA_CA_CERTS as string, "utf8");
    setDefaultCACertificates([...getCACertificates("default"), authority]);
    const plane = await openNatsPlane({
      url: url as string,
      gatewayId: "g1",
      accountSeed: PLANE_SEED as string,
      operatorSeed: NATS_OPERATOR_SEED as string,
      system: { jwt: NATS_SYSTEM_JWT as string, seed: NATS_SYSTEM_SEED as string },
      clock: systemClock,
      random: systemRandom(),
      log: createLog("silent"),
    });
    t.after(() => plane.close());
    let heard = 0;
    plane.subscribe("tg.test.chaos", () => {
      heard++;
    });
    const carries = async (): Promise<void> => {
      const before = heard;
      await eventually("a message goes round", () => {
        plane.publish("tg.test.chaos", Buffer.from("x"));
        return heard > before;
      });
    };
    await carries();
    for (let i = 0; i < nats.size; i++) {
      await nats.kill(i);
      assert.equal(nats.running(i), false);
      await carries();
      await nats.start(i);
      nats.stop(i);
      nats.cont(i);
    }
    await nats.rollingRestart();
    await carries();
    await Promise.all([0, 1, 2].map((i) => nats.kill(i)));
    await Promise.all([0, 1, 2].map((i) => nats.start(i)));
    await carries();
  });
}
