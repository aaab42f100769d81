/** A real Prometheus on loopback, with the rules of deploy/, that scrapes one gateway every second. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort } from "../../gateway/src/dispatch/nats/testing.ts";
import { eventually } from "../platform.ts";

const RULES = fileURLToPath(new URL("../../deploy/prometheus/alerts.yml", import.meta.url));

export const skipWithoutPrometheus =
  spawnSync("prometheus", ["--version"]).error === undefined ? false : "prometheus is not installed";

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

  static async open(target: string): Promise<Prometheus> {
    const place = await mkdtemp(join(tmpdir(), "tollgate-prometheus-"));
    await cp(RULES, join(place, "alerts.yml"));
    const config = {
      global: { scrape_interval: "1s", evaluation_interval: "1s" },
      rule_files: ["alerts.yml"],
      scrape_configs: [{ job_name: "tollgate", static_configs: [{ targets: [target] }] }],
    };
    // JSON is YAML.
    await writeFile(join(place, "prometheus.yml"), JSON.stringify(config));
    const address = `127.0.0.1:${await freePort()}`;
    const args = ["--config.file=prometheus.yml", "--storage.tsdb.path=data", `--web.listen-address=${address}`];
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

  /** How many series an expression has now. Fails where Prometheus cannot read it. */
  async series(expr: string): Promise<number> {
    const answer = await this.#get(`query?query=${encodeURIComponent(expr)}`, expr);
    return (answer as { result: unknown[] }).result.length;
  }

  async rules(): Promise<Rule[]> {
    const { groups } = (await this.#get("rules", "rules")) as { groups: { rules: Rule[] }[] };
    return groups.flatMap(({ rules }) => rules);
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
