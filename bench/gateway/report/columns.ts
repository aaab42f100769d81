/** What the tables show: of requests, of streams, of pairs. */
import type { Payer, Row } from "../measure.ts";
import { type Column, cpuPerEventUs, cpuPerRequestUs, errorsOf, median, spread, timesOf } from "./figures.ts";

const of = (all: Row[], target: string): Row[] => all.filter((row) => row.target === target);
const requestsPerSecond = (row: Row): number => (row.ok / row.wallUs) * 1e6;
const ms = (figure: (row: Row) => number | undefined) => (row: Row) => {
  const us = figure(row);
  return us === undefined ? undefined : us / 1000;
};

const common: Column[] = [
  {
    title: "MiB before / peak",
    cell: (own) => `${median(own, (row) => row.gatewayBeforeMib, 0)} / ${median(own, (row) => row.gatewayPeakMib, 0)}`,
  },
  { title: "others' processors", cell: (own) => median(own, (row) => (row.cpuUs.other ?? 0) / row.wallUs, 2) },
  { title: "errors", cell: (own) => String(errorsOf(own)) },
];

const perRequestMs = (title: string, who: Payer): Column => ({
  title,
  cell: (own) => median(own, ms(cpuPerRequestUs(who)), 3),
});
const perEventUs = (title: string, who: Payer): Column => ({
  title,
  cell: (own) => median(own, cpuPerEventUs(who), 1),
});

export const requestColumns: Column[] = [
  { title: "gateway ms", cell: (own) => spread(own, ms(cpuPerRequestUs("gateway")), 3) },
  { title: "× bare", cell: (own, all) => timesOf(own, of(all, "bare"), cpuPerRequestUs("gateway")) },
  perRequestMs("PostgreSQL ms", "postgres"),
  perRequestMs("agent ms", "agent"),
  { title: "requests/s", cell: (own) => median(own, requestsPerSecond, 0) },
  {
    title: "p50 / p99 ms",
    cell: (own) => `${median(own, (row) => row.latencyMs?.p50, 2)} / ${median(own, (row) => row.latencyMs?.p99, 2)}`,
  },
  ...common,
];

export const streamColumns: Column[] = [
  { title: "gateway µs/event", cell: (own) => spread(own, cpuPerEventUs("gateway"), 1) },
  { title: "× bare", cell: (own, all) => timesOf(own, of(all, "bare"), cpuPerEventUs("gateway")) },
  perEventUs("PostgreSQL µs/event", "postgres"),
  perEventUs("agent µs/event", "agent"),
  {
    title: "first byte p50 / p99 ms",
    cell: (own) => `${median(own, (row) => row.ttftMs?.p50, 1)} / ${median(own, (row) => row.ttftMs?.p99, 1)}`,
  },
  {
    title: "relay p50 / p99 ms",
    cell: (own) => `${median(own, (row) => row.relayMs?.p50, 2)} / ${median(own, (row) => row.relayMs?.p99, 2)}`,
  },
  { title: "slowest ÷ pace", cell: (own) => median(own, (row) => row.slowestOverPace, 3) },
  ...common,
];

export const pairedColumns: Column[] = [
  { title: "direct p50 ms", cell: (own) => median(own, (row) => row.paired?.direct?.p50, 3) },
  { title: "through it p50 ms", cell: (own) => median(own, (row) => row.latencyMs?.p50, 3) },
  { title: "added p50 ms", cell: (own) => spread(own, (row) => row.paired?.added?.p50, 3) },
  { title: "added p95 / p99 ms", cell: (own) => addedTail(own) },
  { title: "gateway ms", cell: (own) => median(own, ms(cpuPerRequestUs("gateway")), 3) },
  perRequestMs("PostgreSQL ms", "postgres"),
  perRequestMs("agent ms", "agent"),
  ...common.slice(1),
];

function addedTail(own: Row[]): string {
  return `${median(own, (row) => row.paired?.added?.p95, 2)} / ${median(own, (row) => row.paired?.added?.p99, 2)}`;
}
