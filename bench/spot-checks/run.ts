/**
 * Measures what spot checks (verified real answers) cost per chat: `npm run bench -- spot-checks [--rounds 60]
 * [--seconds 1] [--concurrent 16]`.
 *
 * One gateway runs with its private PostgreSQL, and four nodes of four hosts with a long record, whose engines can
 * verify answers. Two keys send requests in turn: one with the defaults, and one that opted out, so that none of its
 * answers is checked. The figures are medians over the rounds.
 *
 * With 1 check in 100 the difference is smaller than the noise of a shared machine. So the nodes are watched closely, 1
 * answer in 5 is checked, and the cost of 1 in 100 is computed from the cost of a check.
 */
import { setTimeout as rest } from "node:timers/promises";
import { parseArgs } from "node:util";
import { HIGH_KEY_LIMITS, makeKey, openBuilderAccount } from "@tollgate/stage/builder-and-host-accounts.ts";
import { openStage, type ProcessStage } from "@tollgate/stage/stage.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { writeCatalogue } from "@tollgate/stage/write-catalogue.ts";
import { SAMPLING } from "../../gateway/src/trust/spot-checks/sampling.ts";
import { INITIAL_TEST_STATE } from "../../gateway/src/trust/spot-checks/sequential-test.ts";
import { ClientConnection, repeatRequest } from "../gateway/client-connection.ts";
import { cpuSpentUs, readCpuTime } from "../gateway/process-resource-usage.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "60" },
    seconds: { type: "string", default: "1" },
    concurrent: { type: "string", default: "16" },
  },
});
const [rounds, seconds, concurrent] = [Number(values.rounds), Number(values.seconds), Number(values.concurrent)];

const MODEL = "tiny-3b";
const HOSTS = 4;
const CREDIT = 10_000_000_000_000_000n;
/** The record of a trusted node: 1 in 100 of its answers is checked, and it may serve builders who opted out. */
const RECORD = { answers: 100_000, checked: 5_000 };
/** For how many checks a suspicious node is watched closely; each check reduces the number by one. */
const WATCHED_CHECKS = 1_000_000;
/** How long to wait for the checks of one turn to end, in milliseconds. */
const REST_MS = 500;

const WAYS = ["checked", "not checked"] as const;
type Way = (typeof WAYS)[number];
interface Turn {
  chats: number;
  checks: number;
  /** Microseconds of processor time per chat. */
  gateway: number;
  withPostgres: number;
}

const plain = { [MODEL]: { admission_max: 100_000, tps_max: 1_000_000_000, canaries: [] } };
const stage = await openStage({
  as: "processes",
  store: "private",
  env: async (dataDir) => ({ CATALOGUE_FILE: await writeCatalogue(dataDir, plain) }),
});
try {
  await stage.query(`alter table node alter column honest_answers set default ${RECORD.answers}`);
  for (let i = 0; i < HOSTS; i++) {
    await stage.node({ models: [MODEL], slots: 256 });
  }
  const watched = `insert into spot_check_test (node_id, model, at, evidence, confirmed, watch, answers, checked)
    select id, $1, now(), $2, 0, $3, $4, $5 from node`;
  await stage.query(watched, [MODEL, INITIAL_TEST_STATE.evidence, WATCHED_CHECKS, RECORD.answers, RECORD.checked]);
  const account = await openBuilderAccount(stage.query, CREDIT);
  const [checked, not] = [
    await makeKey(stage.query, account, HIGH_KEY_LIMITS),
    await makeKey(stage.query, account, HIGH_KEY_LIMITS),
  ];
  await stage.query("update api_key set spot_checks = false where id = $1", [not.id]);
  const requests = { checked: requestOf(checked.token), "not checked": requestOf(not.token) };
  // Waits until the gateway has read the nodes' records again, which takes up to a minute.
  await eventually("somebody serves a key that opted out", () => answers(requests["not checked"]));
  for (const way of WAYS) await send(requests[way], 3);

  const turns: Record<Way, Turn[]> = { checked: [], "not checked": [] };
  for (let round = 0; round < rounds; round++) {
    for (const way of round % 2 === 0 ? WAYS : WAYS.toReversed()) turns[way].push(await turn(stage, requests[way]));
  }
  report(turns);
} finally {
  await stage.close();
}

function requestOf(token: string): Buffer {
  const order = { text: "The harbour is quiet in the morning, and the boats come back at noon with fish. ".repeat(6) };
  const content = `#script ${JSON.stringify(order)}`;
  const text = JSON.stringify({ model: MODEL, max_tokens: 200, messages: [{ role: "user", content }] });
  const head = [
    "POST /v1/chat/completions HTTP/1.1",
    "host: bench",
    `authorization: Bearer ${token}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(text)}`,
  ];
  return Buffer.from(`${head.join("\r\n")}\r\n\r\n${text}`);
}

async function answers(request: Buffer): Promise<boolean> {
  const connection = new ClientConnection(Number(new URL(stage.baseUrl).port));
  await connection.open();
  const { status } = await connection.ask(request);
  connection.close();
  return status === 200;
}

/** Sends requests one after the other on each connection, and returns how many were answered successfully. */
function send(request: Buffer, seconds: number): Promise<number> {
  return repeatRequest(request, { port: Number(new URL(stage.baseUrl).port), connections: concurrent, seconds });
}

async function turn(running: ProcessStage, request: Buffer): Promise<Turn> {
  const look = () => [
    readCpuTime({ pid: running.pid, withChildren: false }),
    readCpuTime({ pid: running.pid, withChildren: true }),
  ];
  const checksBefore = await checksRun(running);
  const [gatewayBefore, allBefore] = look() as [ReturnType<typeof readCpuTime>, ReturnType<typeof readCpuTime>];
  const chats = await send(request, seconds);
  await rest(REST_MS);
  const [gateway, all] = look() as [ReturnType<typeof readCpuTime>, ReturnType<typeof readCpuTime>];
  return {
    chats,
    checks: (await checksRun(running)) - checksBefore,
    gateway: cpuSpentUs(gatewayBefore, gateway) / chats,
    withPostgres: cpuSpentUs(allBefore, all) / chats,
  };
}

async function checksRun(running: ProcessStage): Promise<number> {
  return Number(/^tollgate_spot_checks_run_total (\d+)/m.exec(await running.metrics())?.[1] ?? Number.NaN);
}

function report(turns: Record<Way, Turn[]>): void {
  const median = (numbers: number[]): number => numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? Number.NaN;
  console.log(
    `${rounds} rounds of ${seconds} s, ${concurrent} chats at once; µs of processor for each chat, medians\n`,
  );
  console.log("| | Chats | Checks | Gateway | Gateway and PostgreSQL |\n|---|---|---|---|---|");
  for (const way of WAYS) {
    const sum = (of: "chats" | "checks"): number => turns[way].reduce((total, one) => total + one[of], 0);
    const figures = (["gateway", "withPostgres"] as const).map((of) =>
      median(turns[way].map((one) => one[of])).toFixed(0),
    );
    console.log(`| ${way} | ${sum("chats")} | ${sum("checks")} | ${figures.join(" | ")} |`);
  }
  const each = (["gateway", "withPostgres"] as const).map((of) => {
    const perCheck = turns.checked.map(
      (one, i) => (one[of] - (turns["not checked"][i]?.[of] ?? Number.NaN)) / (one.checks / one.chats),
    );
    const chat = median(turns["not checked"].map((one) => one[of]));
    const percent = ((median(perCheck) / SAMPLING.oneIn / chat) * 100).toFixed(2);
    return `${median(perCheck).toFixed(0)} a check: ${percent} % more at 1 in ${SAMPLING.oneIn}`;
  });
  console.log(`| | | | ${each.join(" | ")} |`);
}
