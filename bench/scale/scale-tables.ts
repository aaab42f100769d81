/** The computed tables of docs/scale.md; a test compares them with the page. */

import { BUCKET_COUNT, placeAccounts } from "./account-placement.ts";
import { simulateEarningsTransfers } from "./earnings-transfers.ts";
import { ASSUMED_INPUTS, MEASURED_INPUTS } from "./measured-and-assumed-inputs.ts";
import {
  CAPACITY_PER_PART,
  computeMaxNodesPerCluster,
  computePlatformSize,
  ledgerServerCapacity,
  listBottlenecks,
  type PlatformSize,
} from "./platform-size.ts";

/** Multiples of the number of streams that were measured on one gateway. */
const TIMES = [1, 10, 100];
const SEED = 1;
const SWEPT_REQUESTS = 100_000;

export function renderScaleTables(): { title: string; text: string }[] {
  return [
    { title: "What one of each carries", text: table(["Part", "Requests a second"], onesOf()) },
    {
      title: "What is full first",
      text: table(["A platform of one of each: full is", "at requests a second"], inOrder()),
    },
    {
      title: "Streams",
      text: table(["Open streams", ...TIMES.map((times) => whole(times * MEASURED_INPUTS.streams))], streamRows()),
    },
    {
      title: "Accounts on servers",
      text: table(
        [
          "Servers",
          "Greatest account",
          "Fullest ÷ mean by the hash",
          "with purses",
          "and moved buckets",
          "Purses",
          `Moved of ${whole(BUCKET_COUNT)}`,
        ],
        placements(),
      ),
    },
    {
      title: "Sweeps",
      text: table(["Servers", "Requests", "Sweeps", "Deaths on the way", "Brought twice", "Most in transit"], sweeps()),
    },
  ];
}

function onesOf(): string[][] {
  const { processors, disk } = ledgerServerCapacity();
  return [
    ["gateway process", whole(CAPACITY_PER_PART.gateway)],
    ["rollup job", whole(CAPACITY_PER_PART.rollups)],
    ["Valkey", whole(CAPACITY_PER_PART.valkey)],
    ["NATS cluster of three", whole(CAPACITY_PER_PART.natsCluster)],
    ["PostgreSQL, by its processors", whole(processors)],
    ["PostgreSQL, by its disk", whole(disk)],
    [
      "region, by its nodes' reports",
      whole(computeMaxNodesPerCluster() * (ASSUMED_INPUTS.tokensPerNode / ASSUMED_INPUTS.tokensPerRequest)),
    ],
  ];
}

const inOrder = (): string[][] => listBottlenecks().map(({ part, at }) => [part, whole(at)]);

function streamRows(): string[][] {
  const rates = TIMES.map((times) => (times * MEASURED_INPUTS.streams) / ASSUMED_INPUTS.openSeconds);
  const rows: [string, (step: PlatformSize) => string][] = [
    ["requests a second", ({ rate }) => whole(rate)],
    ["gateway processes", ({ gateways }) => whole(gateways)],
    ["PostgreSQL servers", ({ postgres }) => whole(postgres)],
    ["WAL, MB a second, all of them", ({ walMbPerSecond }) => digits(walMbPerSecond)],
    ["records, TB a day", ({ keptTbPerDay }) => digits(keptTbPerDay)],
    ["rollup jobs", ({ rollupJobs }) => whole(rollupJobs)],
    ["NATS clusters, by messages", ({ natsClusters }) => whole(natsClusters)],
    ["regions, by reports", ({ regions }) => whole(regions)],
    ["Valkey servers", ({ valkeys }) => whole(valkeys)],
    ["nodes", ({ nodes }) => whole(nodes)],
  ];
  const steps = rates.map(computePlatformSize);
  return rows.map(([name, cell]) => [name, ...steps.map(cell)]);
}

function placements(): string[][] {
  return [4, 16, 64].flatMap((servers) =>
    [1, 1.2].map((skew) => {
      const { hashed, pursed, moved, moves, purses, greatest } = placeAccounts(100_000, servers, skew);
      return [
        whole(servers),
        `${digits(greatest * 100)} %`,
        digits(hashed),
        digits(pursed),
        digits(moved),
        whole(purses),
        whole(moves),
      ];
    }),
  );
}

function sweeps(): string[][] {
  return [4, 16, 64].map((servers) => {
    const told = simulateEarningsTransfers(servers, SWEPT_REQUESTS, SEED);
    return [
      whole(servers),
      whole(SWEPT_REQUESTS),
      whole(told.sweeps),
      whole(told.deaths),
      whole(told.repeats),
      `${digits(told.transitMost * 100)} %`,
    ];
  });
}

const whole = (value: number): string => Math.round(value).toLocaleString("en-US");
const digits = (value: number): string => (value >= 100 ? whole(value) : value.toPrecision(value >= 1 ? 3 : 2));

function table(head: string[], rows: string[][]): string {
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}
