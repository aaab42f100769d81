/**
 * Draws a dashboard with Grafana's own components (frame, chart, legend, big number, units, thresholds, colours), from its JSON and
 * the answers to its queries, which `drawing` holds. What Grafana's server would add to the JSON, the defaults of its two kinds of
 * panel, is here, because those are published with the server alone.
 */
import {
  applyFieldOverrides,
  createTheme,
  dateTime,
  FieldType,
  getFieldDisplayValues,
  Registry,
  ThemeContext,
  toDataFrame,
  VizOrientation,
} from "@grafana/data";
import { BigValue, GlobalStyles, PanelChrome, TimeSeries, VizRepeater } from "@grafana/ui";
import { createElement as h } from "react";
import { createRoot } from "react-dom/client";

const TIME_ZONE = "utc";
/** Grafana's grid: 24 columns, rows of 30 pixels, 8 pixels between them. */
const GRID = { columns: 24, row: 30, gap: 8 };

const theme = createTheme({ colors: { mode: "light" } });
const { drawing } = window;

/** What a panel has that does not say otherwise. */
const DEFAULTS = {
  timeseries: {
    field: { color: { mode: "palette-classic" } },
    custom: { drawStyle: "line", lineWidth: 1, lineInterpolation: "linear", gradientMode: "none", spanNulls: false },
    options: { legend: { showLegend: true, displayMode: "list", placement: "bottom", calcs: [] } },
  },
  stat: {
    field: {
      color: { mode: "thresholds" },
      thresholds: {
        mode: "absolute",
        steps: [
          { value: Number.NEGATIVE_INFINITY, color: "green" },
          { value: 80, color: "red" },
        ],
      },
    },
    custom: {},
    options: { graphMode: "area", colorMode: "value", textMode: "auto", justifyMode: "auto", orientation: "auto" },
  },
};

/** The panel's own configuration of its fields over the defaults. */
function fieldConfigOf({ type, fieldConfig: { defaults, overrides } }) {
  const { field, custom } = DEFAULTS[type];
  const own = structuredClone(defaults);
  for (const step of own.thresholds?.steps ?? []) step.value ??= Number.NEGATIVE_INFINITY;
  return { defaults: { ...field, ...own, custom: { ...custom, ...own.custom } }, overrides };
}

/** Every property that the configuration names, as Grafana's own registry would have it. */
function registryOf({ defaults, overrides }) {
  const { custom, ...standard } = defaults;
  const named = overrides.flatMap(({ properties }) => properties.map(({ id }) => id));
  const ids = new Set([...Object.keys(standard), ...Object.keys(custom).map((name) => `custom.${name}`), ...named]);
  return new Registry(() =>
    [...ids].map((id) => ({
      id,
      name: id,
      path: id.replace(/^custom\./, ""),
      isCustom: id.startsWith("custom."),
      process: (value) => value,
      shouldApply: ({ type }) => type !== FieldType.time,
    })),
  );
}

function framesOf(panel) {
  const fieldConfig = fieldConfigOf(panel);
  const data = panel.series.map(({ name, labels, times, values }) =>
    toDataFrame({
      fields: [
        { name: "Time", type: FieldType.time, values: times, config: {} },
        { name: "Value", type: FieldType.number, values, labels, config: { displayNameFromDS: name } },
      ],
    }),
  );
  const fieldConfigRegistry = registryOf(fieldConfig);
  const shared = { fieldConfig, replaceVariables: (text) => text, theme, timeZone: TIME_ZONE };
  return { ...shared, data: applyFieldOverrides({ ...shared, data, fieldConfigRegistry }) };
}

const timeRange = () => {
  const [from, to] = [dateTime(drawing.fromMs), dateTime(drawing.toMs)];
  return { from, to, raw: { from, to } };
};

const KINDS = {
  timeseries(panel, width, height) {
    const { data: frames } = framesOf(panel);
    const legend = { ...DEFAULTS.timeseries.options.legend, ...panel.options.legend };
    return h(TimeSeries, {
      frames,
      legend,
      options: panel.options,
      timeRange: timeRange(),
      timeZone: TIME_ZONE,
      width,
      height,
    });
  },
  stat(panel, width, height) {
    const options = { ...DEFAULTS.stat.options, ...panel.options };
    const asked = { ...framesOf(panel), reduceOptions: { values: false, ...options.reduceOptions } };
    const sparkline = options.graphMode !== "none";
    const renderValue = ({ value: { display, sparkline: line }, width, height, count }) =>
      h(BigValue, { ...options, value: display, sparkline: line, width, height, count, theme });
    return h(VizRepeater, {
      getValues: () => getFieldDisplayValues({ ...asked, sparkline }),
      renderValue,
      width,
      height,
      source: panel,
      orientation: VizOrientation.Auto,
      itemSpacing: 3,
      renderCounter: 0,
      autoGrid: true,
    });
  },
};

function Panel({ panel }) {
  const { x, y, w, h: rows } = panel.gridPos;
  const column = (document.documentElement.clientWidth - 2 * GRID.gap + GRID.gap) / GRID.columns;
  const [width, height] = [column * w - GRID.gap, (GRID.row + GRID.gap) * rows - GRID.gap];
  const style = { position: "absolute", left: column * x, top: (GRID.row + GRID.gap) * y, width, height };
  const inside = (innerWidth, innerHeight) =>
    panel.series.length === 0
      ? h("p", { style: { color: theme.colors.text.secondary, textAlign: "center", paddingTop: 40 } }, "No data")
      : KINDS[panel.type](panel, innerWidth, innerHeight);
  const { title, description } = panel;
  return h("section", { style, "data-title": title }, h(PanelChrome, { title, description, width, height }, inside));
}

function Dashboard() {
  const { title, variables, panels } = drawing;
  const rows = Math.max(...panels.map(({ gridPos }) => gridPos.y + gridPos.h));
  const { colors, typography } = theme;
  const chosen = variables.map(({ label, text }) =>
    h(
      "span",
      {
        key: label,
        style: { border: `1px solid ${colors.border.medium}`, borderRadius: 2, background: colors.background.primary },
      },
      h("span", { style: { padding: "4px 8px", color: colors.text.secondary, display: "inline-block" } }, label),
      h("span", { style: { padding: "4px 8px", display: "inline-block" } }, text),
    ),
  );
  return h(
    "main",
    { style: { padding: GRID.gap, background: colors.background.canvas } },
    h(GlobalStyles),
    h("h1", { style: { ...typography.h3, margin: "4px 0 8px" } }, title),
    h("div", { style: { display: "flex", gap: GRID.gap, marginBottom: GRID.gap } }, chosen),
    h(
      "div",
      { style: { position: "relative", height: rows * (GRID.row + GRID.gap) - GRID.gap } },
      panels.map((panel) => h(Panel, { key: panel.id, panel })),
    ),
  );
}

createRoot(document.getElementById("root")).render(h(ThemeContext.Provider, { value: theme }, h(Dashboard)));
