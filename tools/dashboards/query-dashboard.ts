/** Runs every query of a dashboard against a Prometheus, as Grafana does with "All" chosen in every variable. */
import type { Prometheus, Series } from "../../e2e/outside/prometheus.ts";
import { type Dashboard, fillVariables, formatLineName, type Panel, type Variable } from "./dashboards.ts";

/** A line of a chart, in the format of Grafana's components. */
interface Line {
  name: string;
  labels: Record<string, string>;
  times: number[];
  /** Null for a missing value, so that the line has a gap. */
  values: (number | null)[];
}

/** A dashboard with the results of its queries. */
export interface DashboardData extends Pick<Dashboard, "title"> {
  fromMs: number;
  toMs: number;
  variables: { label: string; text: string }[];
  panels: (Panel & { series: Line[] })[];
}

/** Times in seconds. */
interface Time {
  from: number;
  to: number;
  /** The scrape interval of the gateways, which Grafana's data source needs. */
  scrape: number;
}

/**
 * Runs all queries of a dashboard. The step equals the scrape interval, which is the shortest useful one: over a few
 * minutes no chart is narrow enough to need a longer step.
 */
export async function queryDashboard(
  prometheus: Prometheus,
  dashboard: Dashboard,
  { from, to, scrape }: Time,
): Promise<DashboardData> {
  const { title, templating, panels } = dashboard;
  const range = { from: Math.ceil(from / scrape) * scrape, to: Math.floor(to / scrape) * scrape, step: scrape };
  const times = Array.from({ length: (range.to - range.from) / scrape + 1 }, (_, i) => range.from + i * scrape);
  const queried = templating.list.filter(({ type }) => type === "query");
  for (const variable of queried) await assertKnown(prometheus, variable, range);
  const intervals = { rateS: 4 * scrape, rangeS: range.to - range.from };
  const linesOf = async ({ targets }: Panel): Promise<Line[]> => {
    const answers = targets.map(async ({ expr, legendFormat }) => {
      const found = await prometheus.range(fillVariables(dashboard, expr, intervals), range);
      return found.map((series) => lineOf(series, legendFormat, times));
    });
    return (await Promise.all(answers)).flat();
  };
  return {
    ...{ title, fromMs: range.from * 1000, toMs: range.to * 1000 },
    variables: templating.list.map(({ label, type }) => ({ label, text: type === "query" ? "All" : "Prometheus" })),
    panels: await Promise.all(panels.map(async (panel) => ({ ...panel, series: await linesOf(panel) }))),
  };
}

/** Throws if a variable has no value, because the whole dashboard would be empty. */
async function assertKnown(
  prometheus: Prometheus,
  { name, definition = "" }: Variable,
  range: Omit<Time, "scrape">,
): Promise<void> {
  const [, metric, label] = /^label_values\((\w+), (\w+)\)$/.exec(definition) ?? [];
  if (metric === undefined || label === undefined) throw new Error(`$${name}: this is not understood: ${definition}`);
  const values = await prometheus.labelValues(label, metric, range);
  if (values.length === 0) throw new Error(`$${name}: ${definition} has no value`);
}

function lineOf({ metric, values }: Series, legendFormat: string, times: number[]): Line {
  const known = new Map(values.map(([seconds, value]) => [seconds, Number(value)]));
  return {
    name: formatLineName(legendFormat, metric),
    labels: metric,
    times: times.map((seconds) => seconds * 1000),
    values: times.map((seconds) => known.get(seconds) ?? null),
  };
}
