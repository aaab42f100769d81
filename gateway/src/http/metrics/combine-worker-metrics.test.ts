import assert from "node:assert/strict";
import { test } from "node:test";
import { Histogram } from "../../base/metric-counters.ts";
import { addCountersOfEndedWorker, combinedMetricsPage } from "./combine-worker-metrics.ts";
import { createMetricsPage, type MetricFigures, type MetricsPage } from "./metrics-page.ts";

/** The figures of a page without the metrics of the test's own process. */
const figuresOf = async (page: MetricsPage): Promise<MetricFigures> =>
  (await page.figures()).filter(({ name }) => name.startsWith("t_"));

async function worker(count: number): Promise<MetricFigures> {
  const page = createMetricsPage();
  const seconds = new Histogram([1, 10]);
  seconds.add(count);
  page.counter("t_total", "", () => [[count, { a: "x" }]]);
  page.histogram("t_seconds", "", () => [[seconds]]);
  page.gauge("t_in_flight", "", () => [[count]]);
  page.gauge("t_nodes", "", () => [[count]], "max");
  page.gauge("t_up", "", () => [[count - 1, { dependency: "database" }]], "min");
  page.gauge("t_lag", "", () => [[count]], "each");
  page.gauge("t_ready", "", () => [[count]], "none");
  return await figuresOf(page);
}

const linesOf = (text: string): string[] => text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));

test("the workers' combined metrics add up counters and histograms, and combine each gauge as it declares", async () => {
  const own = createMetricsPage();
  own.gauge("t_ready", "", () => [[1]]);
  const workers = [
    { worker: 1, figures: await worker(2) },
    { worker: 2, figures: await worker(3) },
  ];
  const { text } = await combinedMetricsPage(workers, { own: await figuresOf(own), gone: [] });
  assert.deepEqual(linesOf(text).sort(), [
    "t_in_flight 5",
    't_lag{worker="1"} 2',
    't_lag{worker="2"} 3',
    "t_nodes 3",
    "t_ready 1",
    't_seconds_bucket{le="+Inf"} 2',
    't_seconds_bucket{le="1"} 0',
    't_seconds_bucket{le="10"} 2',
    "t_seconds_count 2",
    "t_seconds_sum 5",
    't_total{a="x"} 5',
    't_up{dependency="database"} 1',
  ]);
});

test("the workers' combined metrics keep the counters of an ended worker, and drop its gauges", async () => {
  const gone = await addCountersOfEndedWorker(await worker(4), await addCountersOfEndedWorker(await worker(2), []));
  const { text } = await combinedMetricsPage([{ worker: 3, figures: await worker(1) }], { own: [], gone });
  const lines = linesOf(text);
  for (const line of ['t_total{a="x"} 7', "t_seconds_count 3", "t_seconds_sum 7", "t_in_flight 1", "t_nodes 1"])
    assert.ok(lines.includes(line), `${line}: ${lines.join("\n")}`);
});
