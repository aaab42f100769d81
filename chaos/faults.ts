/**
 * The list of faults: what each does, how long it lasts, and which errors clients may get during it. Any other error is
 * a violation, and so is any error when there is no fault.
 */
import { join } from "node:path";
import type { SeededRandom } from "@tollgate/stage/seeded-random.ts";
import { runAdminJson } from "./stage/admin-commands.ts";
import { waitUntilRefusing, waitUntilServing } from "./stage/chaos-gateways.ts";
import { restartGatewaysInTurn, runRollingUpgrade } from "./stage/rolling-restart.ts";
import type { Platform, Stage } from "./stage/stage.ts";

type Heal = () => Promise<void> | void;

export interface Fault<On extends Platform = Stage> {
  name: string;
  /** The duration of the fault in seconds. */
  lasts: number;
  /** The seconds that beginning and ending the fault take, if that is long. */
  takes?: number;
  /** The seconds after the end of the fault within which clients must be served as before. */
  recoversWithin?: number;
  /** The results that clients may get besides `ok`, in the form that `describeEnd` returns. */
  mayShow: readonly string[];
  /** Whether clients may wait long for an error, because the fault freezes or cuts off their gateway. */
  mayWait?: boolean;
  /** Whether the platform may quarantine a node, because the fault is in that node. */
  mayBar?: boolean;
  /** The equipment that the stage must have for the fault. */
  uses?: "clock" | "network";
  /** Returns why the fault is not possible on this stage; undefined if it is possible. */
  missing?: (stage: On) => string | undefined;
  strike(stage: On, chance: SeededRandom): Promise<Heal> | Heal;
}

/**
 * Errors before the request began: nothing was charged, and the client can retry. The 503 without a code comes from the
 * load balancer when no gateway is ready.
 */
export const REFUSAL_ANSWERS = ["503 no_capacity", "503"];
/** The error events of streams, whose status 200 has already been sent. */
const CUT_SHORT = ["event upstream_stall"];
const PLANE = [...REFUSAL_ANSWERS, "event no_capacity", ...CUT_SHORT];
const LOST = ["connection lost"];
const NO_ERROR: string[] = [];

/** Settings with which a gateway does not belong to this deployment. */
const WRONG_SETTINGS = { KEY_PEPPER: "the pepper of another deployment, 32 characters", NATS_URL: "", VALKEY_URL: "" };

const nothingToHeal = (): void => {};

const GATEWAY: Fault[] = [
  { name: "gateway killed", lasts: 3, mayShow: LOST, strike: killOne("gateways") },
  { name: "gateway frozen 5 s", lasts: 5, mayShow: PLANE, strike: freezeOne("gateways") },
  {
    name: "gateway frozen 40 s",
    lasts: 40,
    mayShow: [...PLANE, ...LOST],
    mayWait: true,
    strike: freezeOne("gateways"),
  },
  { name: "gateway cut off 8 s", lasts: 8, mayShow: [...PLANE, ...LOST], mayWait: true, ...cutOff("gateway") },
  { name: "gateway's clock 3 h ahead", lasts: 10, mayShow: NO_ERROR, ...jump(3 * 3600) },
  { name: "gateway's clock 3 h behind", lasts: 10, mayShow: NO_ERROR, ...jump(-3 * 3600) },
  ...Object.entries(WRONG_SETTINGS).map(([setting, value]) => ({
    name: value === "" ? `gateway restarted without ${setting}` : `gateway restarted with another ${setting}`,
    lasts: 5,
    takes: 20,
    mayShow: NO_ERROR,
    async strike({ gateways }: Stage, by: SeededRandom) {
      const one = by.pick(gateways);
      await one.end();
      one.setSettings({ [setting]: value, PLANE_PORT: "0" });
      await waitUntilRefusing(one, setting);
      return async () => {
        await one.end();
        one.setSettings({});
        await waitUntilServing(one);
      };
    },
  })),
  { name: "rolling restart", lasts: 0, takes: 30, mayShow: NO_ERROR, strike: roll(restartGatewaysInTurn) },
];

const AGENT: Fault[] = [
  { name: "agent killed", lasts: 3, mayShow: CUT_SHORT, mayBar: true, strike: killOne("agents") },
  { name: "agent frozen 5 s", lasts: 5, mayShow: CUT_SHORT, mayBar: true, strike: freezeOne("agents") },
  { name: "agent frozen 40 s", lasts: 40, mayShow: CUT_SHORT, mayBar: true, strike: freezeOne("agents") },
  { name: "agent cut off 8 s", lasts: 8, mayShow: CUT_SHORT, mayBar: true, ...cutOff("agent") },
];

const POSTGRES: Fault[] = [
  {
    name: "PostgreSQL killed",
    lasts: 5,
    mayShow: REFUSAL_ANSWERS,
    async strike({ postgres }) {
      await postgres.kill();
      return () => postgres.start();
    },
  },
  {
    name: "PostgreSQL restarted",
    lasts: 0,
    mayShow: REFUSAL_ANSWERS,
    async strike({ postgres }) {
      await postgres.restart();
      return nothingToHeal;
    },
  },
  {
    name: "PostgreSQL fails over",
    lasts: 0,
    takes: 15,
    mayShow: REFUSAL_ANSWERS,
    async strike({ postgres }) {
      await postgres.failover();
      return () => postgres.inStep();
    },
  },
  {
    name: "PostgreSQL's standby killed",
    lasts: 5,
    mayShow: REFUSAL_ANSWERS,
    async strike({ postgres }) {
      await postgres.kill("standby");
      return () => postgres.start("standby");
    },
  },
  ...[5, 40].map((lasts) => ({
    name: `PostgreSQL frozen ${lasts} s`,
    lasts,
    mayShow: REFUSAL_ANSWERS,
    strike({ postgres }: Stage) {
      postgres.stop();
      return () => postgres.cont();
    },
  })),
  ...[8, 100].map((lasts) => ({
    name: `database unreachable ${lasts} s`,
    lasts,
    mayShow: REFUSAL_ANSWERS,
    async strike({ postgres }: Stage) {
      await postgres.cutFront("black-hole");
      return () => postgres.healFront();
    },
  })),
  {
    name: "database refuses connections",
    lasts: 5,
    mayShow: REFUSAL_ANSWERS,
    async strike({ postgres }) {
      await postgres.cutFront("refusing");
      return () => postgres.healFront();
    },
  },
  {
    name: "PostgreSQL's disk slow",
    lasts: 10,
    mayShow: REFUSAL_ANSWERS,
    async strike({ postgres }) {
      await postgres.slowDisk(400);
      return () => postgres.fastDisk();
    },
  },
  {
    name: "PostgreSQL's disk full",
    lasts: 8,
    mayShow: REFUSAL_ANSWERS,
    missing: ({ postgres }) => postgres.leftOut[0],
    async strike({ postgres }) {
      await postgres.fillDisk();
      return () => postgres.freeDisk();
    },
  },
  {
    name: "gateway killed while PostgreSQL is down",
    lasts: 4,
    takes: 6,
    mayShow: [...REFUSAL_ANSWERS, ...LOST],
    async strike({ postgres, gateways }, by) {
      await postgres.kill();
      // Waits until requests in flight have ended: they cannot be settled while the database is down.
      await pause(3_000);
      await by.pick(gateways).kill();
      return () => postgres.start();
    },
  },
  {
    name: "gateway stopped while the database is unreachable, its spool entered by command",
    lasts: 2,
    takes: 30,
    mayShow: REFUSAL_ANSWERS,
    async strike({ postgres, gateways, admin, directory }, by) {
      await postgres.cutFront("refusing");
      // Waits until requests in flight have ended: their settlements are in the spool then.
      await pause(3_000);
      const one = by.pick(gateways);
      await one.end();
      return async () => {
        await postgres.healFront();
        await runAdminJson(admin, ["spool", "enter", join(directory, one.name, "spool")]);
        await waitUntilServing(one);
      };
    },
  },
  {
    name: "account's row locked 6 s",
    lasts: 0,
    takes: 6,
    mayShow: REFUSAL_ANSWERS,
    async strike({ postgres }) {
      const locked = "select id from ledger_account where kind = 'builder' order by id limit 1 for update";
      await postgres.query(`select pg_sleep(6) from (${locked}) account`);
      return nothingToHeal;
    },
  },
  {
    name: "role's connections used up",
    lasts: 6,
    mayShow: REFUSAL_ANSWERS,
    async strike({ postgres }) {
      await postgres.query("alter role tollgate connection limit 8");
      await postgres.query("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'tollgate'");
      return async () => void (await postgres.query("alter role tollgate connection limit -1"));
    },
  },
];

const NATS: Fault[] = [
  {
    name: "NATS server killed",
    lasts: 5,
    mayShow: PLANE,
    async strike({ nats }, by) {
      const one = by.between(0, nats.size - 1);
      await nats.kill(one);
      return () => nats.start(one);
    },
  },
  ...[5, 40].map((lasts) => ({
    name: `NATS server frozen ${lasts} s`,
    lasts,
    mayShow: PLANE,
    strike({ nats }: Stage, by: SeededRandom) {
      const one = by.between(0, nats.size - 1);
      nats.stop(one);
      return () => nats.cont(one);
    },
  })),
  {
    name: "every NATS server killed",
    lasts: 5,
    mayShow: PLANE,
    async strike({ nats }) {
      const all = Array.from({ length: nats.size }, (_, i) => i);
      await Promise.all(all.map((i) => nats.kill(i)));
      return async () => void (await Promise.all(all.map((i) => nats.start(i))));
    },
  },
  {
    name: "NATS servers restarted in turn",
    lasts: 0,
    takes: 30,
    mayShow: PLANE,
    async strike({ nats }) {
      await nats.rollingRestart();
      return nothingToHeal;
    },
  },
];

const VALKEY: Fault[] = [
  {
    name: "Valkey killed",
    lasts: 5,
    mayShow: REFUSAL_ANSWERS,
    async strike({ valkey }) {
      await valkey.kill();
      return () => valkey.start();
    },
  },
  ...[5, 40].map((lasts) => ({
    name: `Valkey frozen ${lasts} s`,
    lasts,
    mayShow: REFUSAL_ANSWERS,
    strike({ valkey }: Stage) {
      valkey.stop();
      return () => valkey.cont();
    },
  })),
  {
    name: "Valkey full",
    lasts: 5,
    mayShow: REFUSAL_ANSWERS,
    async strike({ valkey }) {
      await valkey.fill();
      return () => valkey.free();
    },
  },
];

export const FAULTS: readonly Fault[] = [...GATEWAY, ...AGENT, ...POSTGRES, ...NATS, ...VALKEY];

/** Happens once at the beginning of a run: gateways of the older version cannot run after it. */
export const ROLLING_UPGRADE: Fault = {
  name: "rolling upgrade",
  lasts: 0,
  takes: 30,
  mayShow: NO_ERROR,
  strike: roll(runRollingUpgrade),
};

/** Kills one process; its supervisor restarts it. */
function killOne(of: "gateways" | "agents"): Fault["strike"] {
  return async (stage, by) => {
    await by.pick(stage[of]).kill();
    return nothingToHeal;
  };
}

function freezeOne(of: "gateways" | "agents"): Fault["strike"] {
  return (stage, by) => {
    const one = by.pick(stage[of]);
    one.freeze();
    return () => one.thaw();
  };
}

function cutOff(which: "gateway" | "agent"): Pick<Fault, "uses" | "strike"> {
  return {
    uses: "network",
    strike({ apart }) {
      apart?.[which].cut();
      return () => apart?.[which].heal();
    },
  };
}

function jump(seconds: number): Pick<Fault, "uses" | "strike"> {
  return {
    uses: "clock",
    async strike({ clock }) {
      await clock?.jump(seconds);
      return () => clock?.jump(0);
    },
  };
}

function roll(how: (stage: Stage) => Promise<void>): Fault["strike"] {
  return async (stage) => {
    await how(stage);
    return nothingToHeal;
  };
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
