/**
 * Checks that the files in deploy/ are consistent with each other and with docs/operators/runbook.md. Prometheus's own
 * tool checks the alert rules, if it is installed.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { readDashboards } from "./dashboards/dashboards.ts";

const at = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url));
const read = (path: string): string => readFileSync(at(path), "utf8");

const rules = read("deploy/prometheus/alerts.yml");
/** The text of each alert rule, from its name to the next rule. */
const alerts = rules.split(/^ {6}- alert: /m).slice(1);
const nameOf = (alert: string): string => /^\w+/.exec(alert)?.[0] ?? assert.fail(`no name: ${alert}`);

/** The runbook's address before prepare.sh and the chart replace the host name. */
const RUNBOOK = "https://gate\\.example/docs/guide/operators/runbook";

describe("alerts", () => {
  test("each alert links to its runbook paragraph, which explains its meaning, what to check and what to do", () => {
    assert.ok(alerts.length > 20, "the rules were found");
    const paragraphs = new Map(
      read("docs/operators/runbook.md")
        .split(/^### /m)
        .slice(1)
        .map((text) => [nameOf(text), text.split(/^## /m)[0] ?? ""]),
    );
    for (const alert of alerts) {
      const name = nameOf(alert);
      assert.match(alert, new RegExp(`runbook_url: ${RUNBOOK}#${name.toLowerCase()}$`, "m"), name);
      const paragraph = paragraphs.get(name) ?? assert.fail(`docs/operators/runbook.md has no paragraph for ${name}`);
      for (const part of ["**Means.**", "**Look at**", "**Do.**"])
        assert.ok(paragraph.includes(part), `${name}: ${part}`);
    }
    const stale = [...paragraphs.keys()].filter((name) => !alerts.some((alert) => nameOf(alert) === name));
    assert.deepEqual(stale, [], "paragraphs of alerts that are no more");
  });

  test("links within the runbook have existing targets", () => {
    const text = read("docs/operators/runbook.md");
    const anchors = [...text.matchAll(/^#+ (.*)$/gm)].map(([, title = ""]) => title.toLowerCase());
    for (const [, to] of text.matchAll(/\]\(#([\w-]+)\)/g)) assert.ok(anchors.includes(String(to)), to);
  });

  test("each alert has a severity, a summary, and a test case in which it fires", () => {
    const cases = read("deploy/prometheus/alerts.test.yml");
    for (const alert of alerts) {
      assert.match(alert, /severity: (critical|warning)\b/);
      assert.match(alert, /summary: "/);
      const name = nameOf(alert);
      assert.match(cases, new RegExp(`alertname: ${name}\\n +eval_time: \\S+\\n +exp_alerts:\\n +- exp_labels`), name);
      assert.match(
        cases,
        new RegExp(`alertname: ${name}, eval_time: \\S+, exp_alerts: \\[\\]`),
        `${name} on a quiet day`,
      );
    }
  });

  test("promtool accepts the alert rules, and each fires only in its test cases", (t) => {
    const run = (...args: string[]) => spawnSync("promtool", args, { cwd: at("deploy/prometheus"), encoding: "utf8" });
    const checked = run("check", "rules", "alerts.yml");
    if (checked.error !== undefined) return t.skip("promtool is not installed");
    assert.equal(checked.status, 0, checked.stderr);
    assert.match(checked.stdout, new RegExp(`${alerts.length} rules found`));
    const tested = run("test", "rules", "alerts.test.yml");
    assert.equal(tested.status, 0, tested.stdout + tested.stderr);
    const config = run("check", "config", "prometheus.yml");
    assert.equal(config.status, 0, config.stderr);
  });
});

/** Variables that Grafana sets itself. */
const GRAFANAS_OWN = ["__rate_interval", "__range"];
const COLUMNS = 24;

describe("dashboards", () => {
  const dashboards = readDashboards();

  test("four dashboards exist, each with a unique title and ID", () => {
    assert.equal(dashboards.length, 4);
    for (const key of ["uid", "title"] as const) assert.equal(new Set(dashboards.map((one) => one[key])).size, 4);
    for (const { schemaVersion } of dashboards) assert.ok(schemaVersion >= 36, "of a Grafana that is still supported");
  });

  for (const { name, panels, templating } of dashboards) {
    test(`${name}: every panel queries the chosen Prometheus with declared variables, and each variable is used`, () => {
      const declared = templating.list.map((variable) => variable.name);
      const used = new Set<string>();
      assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
      for (const { title, targets } of panels) {
        assert.ok(targets.length > 0, title);
        for (const { expr, datasource } of targets) {
          assert.equal(datasource.uid, "$".concat("{datasource}"));
          for (const [, variable = ""] of expr.matchAll(/\$(\w+)/g)) {
            assert.ok([...declared, ...GRAFANAS_OWN].includes(variable), `${title}: ${variable}`);
            used.add(variable);
          }
        }
      }
      assert.deepEqual(
        declared.filter((variable) => !used.has(variable)),
        ["datasource"],
      );
    });

    test(`${name}: no two panels overlap, and the grid has no gap`, () => {
      const taken = new Map<string, string>();
      for (const { title, gridPos } of panels) {
        assert.ok(gridPos.x + gridPos.w <= COLUMNS, title);
        for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
          for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
            const other = taken.get(`${x} ${y}`);
            assert.equal(other, undefined, `${title} lies over ${other}`);
            taken.set(`${x} ${y}`, title);
          }
        }
      }
      const rows = Math.max(...panels.map(({ gridPos }) => gridPos.y + gridPos.h));
      assert.equal(taken.size, rows * COLUMNS, "a hole in the grid");
    });

    test(`${name}: every single-value panel replaces Grafana's default thresholds, which turn red at 80`, () => {
      for (const { type, title, fieldConfig } of panels)
        if (type === "stat") assert.ok(fieldConfig.defaults.thresholds !== undefined, title);
    });

    test(`${name}: panels with negative values have no minimum that would hide them`, () => {
      for (const { title, targets, fieldConfig } of panels) {
        if (targets.some(({ expr }) => expr.includes("_offset_")))
          assert.equal(fieldConfig.defaults.min, undefined, title);
      }
    });
  }
});
