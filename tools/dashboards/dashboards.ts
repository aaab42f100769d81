/** Reads the dashboards in deploy/, and replaces variables and legend formats like Grafana. */
import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

const FOLDER = fileURLToPath(new URL("../../deploy/grafana/dashboards/", import.meta.url));

export interface Panel {
  id: number;
  type: string;
  title: string;
  description?: string;
  gridPos: { x: number; y: number; w: number; h: number };
  targets: { expr: string; legendFormat: string; datasource: { uid: string } }[];
  fieldConfig: { defaults: { min?: number; thresholds?: object } };
  options: object;
}

export interface Variable {
  name: string;
  label: string;
  type: string;
  definition?: string;
  allValue?: string;
}

export interface Dashboard {
  /** The name of the dashboard's file. */
  name: string;
  uid: string;
  title: string;
  schemaVersion: number;
  templating: { list: Variable[] };
  panels: Panel[];
}

export function readDashboards(): Dashboard[] {
  return globSync("*.json", { cwd: FOLDER })
    .sort()
    .map((file) => ({ name: basename(file, ".json"), ...JSON.parse(readFileSync(join(FOLDER, file), "utf8")) }));
}

/** Replaces the variables of a query as Grafana does with "All" chosen in each. */
export function fillVariables(
  { templating }: Dashboard,
  expr: string,
  { rateS, rangeS }: { rateS: number; rangeS: number },
) {
  const own = expr.replaceAll("$__rate_interval", `${rateS}s`).replaceAll("$__range", `${rangeS}s`);
  return templating.list.reduce((text, { name, allValue = ".*" }) => text.replaceAll(`$${name}`, allValue), own);
}

/**
 * Returns the name of a chart's line: the legend's format with the values of the line's labels. A missing label becomes
 * an empty text.
 */
export const formatLineName = (legendFormat: string, labels: Record<string, string>): string =>
  legendFormat.replaceAll(/\{\{\s*(\w+)\s*\}\}/g, (_, label: string) => labels[label] ?? "");
