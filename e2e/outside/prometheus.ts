/** A real Prometheus on loopback with the alert rules of deploy/. It scrapes the gateways' metrics. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findFreePort } from "@tollgate/stage/killable-process.ts";
import { eventually } from "@tollgate/stage/wait.ts";

const RULES = fileURLToPath(new URL("../../deploy/prometheus/alerts.yml", import.meta.url));

export const skipWithoutPrometheus =
  spawnSync("prometheus", ["--version"]).error === undefined ? false : "prometheus is not installed";

interface PrometheusOptions {
  /** The internal addresses of the gateways, by the gateways' names. */
  targets: Record<string, string>;
  everyS?: number;
  /** The folder for Prometheus's data. Default: a temporary one. */
  keepIn?: string;
  /** Replaces every period in the alert rules by this many seconds, so that tests need not wait. */
  periodS?: number;
}

/** A time range; all three values are in seconds. */
interface Range {
  from: number;
  to: number;
  step: number;
}

export interface Series {
  metric: Record<string, string>;
  values: [seconds: number, value: string][];
}

interface Now {
  metric: Record<string, string>;
  value: [seconds: number, value: string];
}

interface Rule {
  name: string;
  query: string;
  health: string;
  lastError?: string;
}

export class Prometheus {
  readonly #url: string;
  readonly #process: ChildProcess;
  readonly #place: string;

  private constructor(url: string, child: ChildProcess, place: string) {
    this.#url = url;
    this.#process = child;
    this.#place = place;
  }

  static async open({ targets, everyS = 1, keepIn, periodS }: PrometheusOptions): Promise<Prometheus> {
    const place = await mkdtemp(join(tmpdir(), "tollgate-prometheus-"));
    const rules = await readFile(RULES, "utf8");
    await writeFile(join(place, "alerts.yml"), periodS === undefined ? rules : withPeriods(rules, periodS));
    const config = {
      global: { scrape_interval: `${everyS}s`, scrape_timeout: `${everyS}s`, evaluation_interval: `${everyS}s` },
      rule_files: ["alerts.yml"],
      scrape_configs: [
        {
          job_name: "tollgate",
          static_configs: Object.entries(targets).map(([instance, address]) => ({
            targets: [address],
            labels: { instance },
          })),
        },
      ],
    };
    // Prometheus reads YAML, and JSON is valid YAML.
    await writeFile(join(place, "prometheus.yml"), JSON.stringify(config));
    const address = `127.0.0.1:${await findFreePort()}`;
    const args = [
      "--config.file=prometheus.yml",
      `--storage.tsdb.path=${keepIn ?? "data"}`,
      `--web.listen-address=${address}`,
    ];
    const child = spawn("prometheus", [...args, "--log.level=error"], {
      cwd: place,
      stdio: ["ignore", "ignore", "inherit"],
    });
    const url = `http://${address}`;
    await eventually("Prometheus is ready", async () => {
      assert.equal(child.exitCode, null, "Prometheus stopped");
      return await fetch(`${url}/-/ready`).then(
        ({ ok }) => ok,
        () => false,
      );
    });
    return new Prometheus(url, child, place);
  }

  /**
   * Returns the current values of an expression, one for each set of labels. Fails if Prometheus cannot parse the
   * expression.
   */
  async now(expr: string): Promise<Now[]> {
    const answer = await this.#get(`query?query=${encodeURIComponent(expr)}`, expr);
    return (answer as { result: Now[] }).result;
  }

  /** Returns the values of an expression at every step of a range, as a chart shows them. */
  async range(expr: string, { from, to, step }: Range): Promise<Series[]> {
    const query = new URLSearchParams({ query: expr, start: String(from), end: String(to), step: String(step) });
    const { result } = (await this.#get(`query_range?${query}`, expr)) as { result: Series[] };
    return result;
  }

  async labelValues(label: string, metric: string, { from, to }: Omit<Range, "step">): Promise<string[]> {
    const query = new URLSearchParams({ "match[]": metric, start: String(from), end: String(to) });
    return (await this.#get(`label/${label}/values?${query}`, metric)) as string[];
  }

  async rules(): Promise<Rule[]> {
    const { groups } = (await this.#get("rules", "rules")) as { groups: { rules: Rule[] }[] };
    return groups.flatMap(({ rules }) => rules);
  }

  /** Returns the names of the alerts that fire. */
  async firing(): Promise<string[]> {
    const { alerts } = (await this.#get("alerts", "alerts")) as {
      alerts: { state: string; labels: { alertname: string } }[];
    };
    return alerts.filter(({ state }) => state === "firing").map(({ labels }) => labels.alertname);
  }

  async close(): Promise<void> {
    this.#process.kill();
    if (this.#process.exitCode === null) await once(this.#process, "exit");
    await rm(this.#place, { recursive: true, force: true });
  }

  async #get(path: string, what: string): Promise<unknown> {
    const { status, data, error } = (await (await fetch(`${this.#url}/api/v1/${path}`)).json()) as {
      status: string;
      data: unknown;
      error?: string;
    };
    assert.equal(status, "success", `${what}: ${error}`);
    return data;
  }
}

/** Replaces the periods in the rules. Thresholds stay, except ages that end an alert, such as `time() - … < 3600`. */
function withPeriods(rules: string, seconds: number): string {
  return rules
    .replaceAll(/\[\d+[mhd]\]/g, `[${seconds}s]`)
    .replaceAll(/for: \d+[mhd]/g, "for: 0s")
    .replaceAll(/(time\(\) - \w+ <) \d+/g, `$1 ${seconds}`);
}
