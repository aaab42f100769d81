/** Measures one attack: runs the same honest load without the attacker and then beside it, on a fresh platform. */
import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { waitUntilSettled } from "@tollgate/stage/ledger-check.ts";
import { convertRequestIdToUuid } from "@tollgate/stage/raw-http.ts";
import { type BuilderAccount, type InProcessStage, openStage } from "@tollgate/stage/stage.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import type { AttackGains, AttackStrategy } from "./attack-strategy.ts";
import type { AttackerCommand, AttackerMessage } from "./attacker-process.ts";
import { type LoadFigures, sendHonestLoad } from "./honest-builders.ts";
import { openHonestNodes } from "./honest-nodes.ts";
import type { StrategyRow } from "./report.ts";

const WARM_UP_S = 2;
const BUILDERS = 4;
const MIB = 1024 * 1024;
/** Uses the defaults of a production platform, not those of `tollgate dev`. */
const SETTINGS = { AUTO_QUARANTINE: "true", PROBATION_ANSWERS: "20" };

export async function measureStrategy(strategy: AttackStrategy, seconds: number): Promise<StrategyRow> {
  const plane = strategy.plane ?? "hub";
  const stage = await openStage({ as: "in-process", clock: "running", plane, env: SETTINGS });
  const enemy = startEnemy(stage, strategy);
  try {
    const hosts = await openHonestNodes(stage);
    const builders = await Promise.all(Array.from({ length: BUILDERS }, () => stage.builder()));
    await enemy.hears("ready");
    await sendHonestLoad(stage, builders, WARM_UP_S);
    const alone = await phase(stage, { hosts, builders }, seconds);
    enemy.told("begin");
    await enemy.hears("in place");
    const beside = await phase(stage, { hosts, builders }, seconds);
    enemy.told("end");
    const { loot } = (await enemy.hears("gone")) as Extract<AttackerMessage, { is: "gone" }>;
    await waitUntilSettled(stage);
    return rowOf(strategy, seconds, { alone, beside, loot, gained: await gains(stage, loot) });
  } finally {
    enemy.kill();
    await stage.close();
  }
}

interface Phase extends LoadFigures {
  /** The total earnings of the honest nodes. */
  earned: bigint;
  /** The processor time of this process, which runs the gateway, the honest nodes and the honest builders. */
  cpuMs: number;
  rssMax: number;
}

interface Honest {
  hosts: string[];
  builders: BuilderAccount[];
}

/** Runs the honest load of one phase, and measures its results and the platform's resources. */
async function phase(stage: InProcessStage, { hosts, builders }: Honest, seconds: number): Promise<Phase> {
  const earnings = async (): Promise<bigint> => {
    // Leaves out earnings from spot checks, because these are drawn at random.
    const sum = "select coalesce(sum(host_pico), 0) as sum from request where host_account_id = any($1)";
    const [row] = await stage.query<{ sum: string }>(sum, [hosts]);
    return BigInt(row?.sum ?? 0);
  };
  const before = await earnings();
  let rssMax = 0;
  const timer = setInterval(() => {
    rssMax = Math.max(rssMax, process.memoryUsage.rss());
  }, 50);
  const cpu = process.cpuUsage();
  const figures = await sendHonestLoad(stage, builders, seconds);
  const { user, system } = process.cpuUsage(cpu);
  clearInterval(timer);
  // Waits only for requests of honest builders, because the attacker's may continue.
  const accounts = builders.map(({ account }) => account);
  const open = (): Promise<object[]> => stage.query("select id from hold where account_id = any($1)", [accounts]);
  await eventually("honest requests are settled", async () => (await open()).length === 0);
  return { ...figures, earned: (await earnings()) - before, cpuMs: (user + system) / 1000, rssMax };
}

interface Gains {
  /** Earnings from requests of other users that the attacker did not answer properly. */
  earned: bigint;
  withheld: bigint;
  /** The number of requests of other users that the attacker's nodes answered or ended. */
  served: number;
}

async function gains(stage: InProcessStage, { hosts, builders, worked }: AttackGains): Promise<Gains> {
  const [row] = await stage.query<{ earned: string; withheld: string; served: string }>(
    `select coalesce(sum(r.host_pico) filter (where r.id <> all($3) and w.taken_by is null), 0) as earned,
            coalesce(sum(w.amount_pico), 0) as withheld, count(*) as served
       from request r join node n on n.id = r.node_id left join withheld_share w on w.request_id = r.id
      where n.account_id = any($1) and r.account_id <> all($2)`,
    [hosts, builders, worked.map((suffix) => convertRequestIdToUuid(`req_${suffix}`))],
  );
  return { earned: BigInt(row?.earned ?? 0), withheld: BigInt(row?.withheld ?? 0), served: Number(row?.served ?? 0) };
}

interface EnemyProcess {
  told(order: AttackerCommand): void;
  hears(is: AttackerMessage["is"]): Promise<AttackerMessage>;
  kill(): void;
}

function startEnemy({ baseUrl, env }: InProcessStage, { name }: AttackStrategy): EnemyProcess {
  const file = fileURLToPath(new URL("./attacker-process.ts", import.meta.url));
  const child: ChildProcess = fork(file, [name], {
    env: { ...process.env, BASE_URL: baseUrl, DATABASE_URL: env.DATABASE_URL },
  });
  const heard: AttackerMessage[] = [];
  child.on("message", (news: AttackerMessage) => heard.push(news));
  return {
    told: (order) => void child.send(order),
    hears: (is) =>
      eventually(`the enemy is ${is}`, () => {
        if (child.exitCode !== null && child.exitCode !== 0) throw new Error(`the enemy ${name} ended by itself`);
        return heard.find((news) => news.is === is);
      }),
    kill: () => void child.kill("SIGKILL"),
  };
}

const share = (part: number, of: number): number => (of === 0 ? 0 : part / of);

function rowOf(
  { name, known, does }: AttackStrategy,
  seconds: number,
  { alone, beside, loot, gained }: { alone: Phase; beside: Phase; loot: AttackGains; gained: Gains },
): StrategyRow {
  const round = (value: number): number => Math.round(value * 1000) / 1000;
  return {
    name,
    known: known ?? null,
    does,
    seconds,
    honest_earned_pico: [Number(alone.earned), Number(beside.earned)],
    honest_sent: [alone.sent, beside.sent],
    honest_errors: [round(share(alone.errors, alone.sent)), round(share(beside.errors, beside.sent))],
    honest_saw: beside.seen,
    ttft_p50_ms: [Math.round(alone.ttftMs), Math.round(beside.ttftMs)],
    ttft_p50_real_ms: [Math.round(alone.ttftRealMs), Math.round(beside.ttftRealMs)],
    cpu_ms: [Math.round(alone.cpuMs), Math.round(beside.cpuMs)],
    rss_max_mib: [Math.round(alone.rssMax / MIB), Math.round(beside.rssMax / MIB)],
    enemy_earned_pico: Number(gained.earned),
    enemy_withheld_pico: Number(gained.withheld),
    enemy_served: gained.served,
    enemy_took: loot.took,
    enemy_errors: loot.errors,
  };
}
