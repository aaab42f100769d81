/**
 * Draws small line charts in one SVG picture: samples as a thin line, the values of 5-minute blocks as dots, zero at
 * the bottom. The picture has its own background, light or dark by the reader's system setting.
 */

export interface PlotPanel {
  title: string;
  /** The line below the title: the slope, and whether the series grows. */
  note: string;
  isBad: boolean;
  lines: { name: string; points: { atH: number; value: number }[]; blocks: { atH: number; value: number }[] }[];
}

const COLUMNS = 2;
const WIDTH = 520;
const HEIGHT = 200;
const PLOT = { left: 56, right: 16, top: 56, bottom: 30 };
/** The horizontal distance between two drawn samples, in pixels. */
const STEP = 1.5;
const COLOURS = ["a", "b", "c"];

const STYLE = `text{font:12px system-ui,-apple-system,"Segoe UI",sans-serif;fill:#1a2029}.title{font-size:14px;font-weight:600}.quiet{fill:#4c5766}\
.bad{fill:#b3261e}.grid{stroke:#e3e7ec}.ground{fill:#ffffff;stroke:#d5dae1}polyline{fill:none;stroke-width:1}.a{stroke:#0f8a72}.b{stroke:#6b7a90}.c{stroke:#b7791f}\
circle{stroke:none}circle.a{fill:#0f8a72}circle.b{fill:#6b7a90}circle.c{fill:#b7791f}\
@media(prefers-color-scheme:dark){.ground{fill:#14181f;stroke:#313945}text{fill:#e6eaf0}.quiet{fill:#a5afbd}.bad{fill:#ff8a80}.grid{stroke:#272e38}\
.a{stroke:#35b39a}.b{stroke:#7d8da3}.c{stroke:#e0a94a}circle.a{fill:#35b39a}circle.b{fill:#7d8da3}circle.c{fill:#e0a94a}}`;

export function renderPlotSvg(title: string, panels: PlotPanel[]): string {
  const rows = Math.ceil(panels.length / COLUMNS);
  const [width, height] = [COLUMNS * WIDTH, rows * HEIGHT];
  const drawn = panels.map((panel, i) => {
    const at = `translate(${(i % COLUMNS) * WIDTH} ${Math.floor(i / COLUMNS) * HEIGHT})`;
    return `<g transform="${at}">${panelLines(panel).join("\n")}</g>`;
  });
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<style>${STYLE}</style>`,
    `<rect class="ground" x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="6"/>`,
    ...drawn,
    "</svg>",
  ].join("\n")}\n`;
}

function panelLines({ title, note, isBad, lines }: PlotPanel): string[] {
  const all = lines.flatMap(({ points }) => points).filter(({ value }) => Number.isFinite(value));
  const [toH, most] = [Math.max(...all.map(({ atH }) => atH)), niceAbove(Math.max(...all.map(({ value }) => value)))];
  const [plotWidth, plotHeight] = [WIDTH - PLOT.left - PLOT.right, HEIGHT - PLOT.top - PLOT.bottom];
  const x = (atH: number): string => (PLOT.left + (atH / toH) * plotWidth).toFixed(1);
  const y = (value: number): string => (PLOT.top + plotHeight * (1 - Math.max(0, value) / most)).toFixed(1);
  const grid = [0, 0.5, 1].flatMap((part) => [
    `<line class="grid" x1="${PLOT.left}" x2="${WIDTH - PLOT.right}" y1="${y(most * part)}" y2="${y(most * part)}"/>`,
    `<text class="quiet" x="${PLOT.left - 6}" y="${Number(y(most * part)) + 4}" text-anchor="end">${short(most * part)}</text>`,
  ]);
  const hours = Array.from({ length: Math.floor(toH * 2) + 1 }, (_, i) => i / 2);
  const times = hours.map(
    (at) => `<text class="quiet" x="${x(at)}" y="${HEIGHT - 10}" text-anchor="middle">${at} h</text>`,
  );
  const series = lines.flatMap(({ points, blocks }, i) => {
    const kept = thinned(points, plotWidth / STEP);
    const line = kept.map(({ atH, value }) => `${x(atH)},${y(value)}`).join(" ");
    const dots = blocks.map(
      ({ atH, value }) => `<circle class="${COLOURS[i]}" cx="${x(atH)}" cy="${y(value)}" r="2.6"/>`,
    );
    return [`<polyline class="${COLOURS[i]}" opacity="0.45" points="${line}"/>`, ...dots];
  });
  const legend = lines.map(({ name }, i) =>
    lines.length === 1
      ? ""
      : `<circle class="${COLOURS[i]}" cx="${WIDTH - 16 - (lines.length - i) * 92}" cy="20" r="4"/><text x="${WIDTH - 8 - (lines.length - i) * 92}" y="24">${escaped(name)}</text>`,
  );
  return [
    `<text class="title" x="16" y="24">${escaped(title)}</text>`,
    `<text class="${isBad ? "bad" : "quiet"}" x="16" y="42">${escaped(note)}</text>`,
    ...legend,
    ...grid,
    ...times,
    ...series,
  ];
}

/** Reduces the samples to at most `max`: keeps the largest of each group of neighbours. */
function thinned<Point extends { value: number }>(points: Point[], max: number): Point[] {
  const per = Math.max(1, Math.ceil(points.length / max));
  const groups = Array.from({ length: Math.ceil(points.length / per) }, (_, i) => points.slice(i * per, (i + 1) * per));
  return groups.flatMap((group) => {
    const finite = group.filter(({ value }) => Number.isFinite(value));
    return finite.length === 0 ? [] : [finite.reduce((most, one) => (one.value > most.value ? one : most))];
  });
}

function niceAbove(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((step) => step * power >= value) ?? 10) * power;
}

const short = (value: number): string =>
  value >= 10_000 ? `${Math.round(value / 1000)}k` : Number(value.toPrecision(3)).toString();
const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
