/**
 * The faults of a history: gateways and PostgreSQL are killed and frozen, alone and together, in an order that the seed
 * determines.
 */
import type { SeededRandom } from "@tollgate/stage/seeded-random.ts";
import type { ThreeGatewayStage } from "./three-gateway-stage.ts";

interface Strike {
  name: string;
  /** Causes the fault. Resolves when it has ended. */
  strike(stage: ThreeGatewayStage, chance: SeededRandom): Promise<void>;
}

/** Durations in milliseconds for which a process stays frozen, or a killed one stays down. */
const FROZEN_MS = [100, 1_000, 3_000];
const DOWN_MS = [0, 500, 2_500];

export const FREEZE_PAST_LEASE: Strike = {
  name: "gateway frozen past its lease",
  strike: ({ gateways }, by) => freezeFor(by.pick(gateways), 25_000),
};

export const KILL_POSTGRES: Strike = {
  name: "PostgreSQL killed",
  async strike({ postgres }, by) {
    await postgres.process.kill();
    await pause(by.pick(DOWN_MS));
    await postgres.process.start();
  },
};

export const HISTORY_FAULTS: readonly Strike[] = [
  KILL_POSTGRES,
  {
    name: "PostgreSQL frozen",
    strike: ({ postgres }, by) =>
      freezeFor({ freeze: postgres.process.stop, thaw: postgres.process.cont }, by.pick(FROZEN_MS)),
  },
  { name: "gateway killed", strike: ({ gateways }, by) => by.pick(gateways).kill() },
  { name: "gateway frozen", strike: ({ gateways }, by) => freezeFor(by.pick(gateways), by.pick(FROZEN_MS)) },
  {
    name: "gateway killed while PostgreSQL is frozen",
    async strike({ gateways, postgres }, by) {
      postgres.process.stop();
      await pause(by.pick(FROZEN_MS));
      await by.pick(gateways).kill();
      postgres.process.cont();
    },
  },
  {
    name: "gateway killed while PostgreSQL is down",
    async strike({ gateways, postgres }, by) {
      await postgres.process.kill();
      // Waits until requests in flight have ended: their settlements are then on a gateway's disk.
      await pause(by.pick(FROZEN_MS));
      await by.pick(gateways).kill();
      await postgres.process.start();
    },
  },
  {
    name: "gateway frozen while PostgreSQL is killed",
    async strike({ gateways, postgres }, by) {
      const one = by.pick(gateways);
      one.freeze();
      await postgres.process.kill();
      await pause(by.pick(DOWN_MS));
      await postgres.process.start();
      one.thaw();
    },
  },
];

async function freezeFor(part: { freeze(): void; thaw(): void }, ms: number): Promise<void> {
  part.freeze();
  await pause(ms);
  part.thaw();
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
