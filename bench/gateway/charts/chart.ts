/**
 * Draws a chart of horizontal bars as SVG. Each bar has one or two parts, and its figure is written at its end.
 *
 * The chart has its own background, light or dark by the reader's system setting, so that it is readable on any page. A
 * bar much longer than all others is cut and marked.
 */

export interface ChartBar {
  label: string;
  /** The lengths of the bar's parts, drawn one after the other; the second is paler. */
  parts: number[];
  /** The text at the end of the bar. */
  figure: string;
  isOurs: boolean;
}

interface Chart {
  title: string;
  /** The names of the parts; empty if the bars have one part only. */
  legend: string[];
  bars: ChartBar[];
}

const WIDTH = 760;
const MARGIN = 16;
const LABELS = 236;
const FIGURES = 130;
const TOP = 44;
const LEGEND = 22;
const ROW = 30;
const THICK = 18;
/** A bar is cut if it is more than this many times as long as the next shorter one. */
const DWARFS = 2.5;
const CUT_AT = 1.2;
const ROUND = 2;

const STYLE = `text{font:13px system-ui,-apple-system,"Segoe UI",sans-serif}.title{font-size:15px;font-weight:600}.ours{font-weight:600}\
@media(prefers-color-scheme:dark){.ground{fill:#14181f;stroke:#313945}.ink{fill:#e6eaf0}.quiet{fill:#a5afbd}.bar{fill:#7d8da3}.pale{fill:#4d5a6c}\
.ours.bar{fill:#35b39a}.ours.pale{fill:#1f6d5e}.cut{stroke:#14181f}}`;

export function renderChartSvg({ title, legend, bars }: Chart): string {
  const longest = lengthOfScale(bars.map(({ parts }) => sum(parts)));
  const top = TOP + (legend.length === 0 ? 0 : LEGEND);
  const height = top + bars.length * ROW + MARGIN / 2;
  const pixels = (value: number): number =>
    Number(((value / longest) * (WIDTH - LABELS - FIGURES - MARGIN)).toFixed(1));
  const lines = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<style>${STYLE}</style>`,
    `<rect class="ground" x="0.5" y="0.5" width="${WIDTH - 1}" height="${height - 1}" rx="6" fill="#ffffff" stroke="#d5dae1"/>`,
    `<text class="ink title" x="${MARGIN}" y="28" fill="#1a2029">${escaped(title)}</text>`,
    ...legendLines(legend),
    ...bars.flatMap((bar, i) => barLines(bar, top + i * ROW, { longest, pixels })),
    "</svg>",
  ];
  return `${lines.join("\n")}\n`;
}

/**
 * Returns the bar length that fills the chart's width: that of the longest bar. If the other bars would then be tiny,
 * returns slightly more than the second longest, and the longest bar is cut.
 */
function lengthOfScale(lengths: number[]): number {
  const [first = 0, second = first] = lengths.toSorted((a, b) => b - a);
  return first > DWARFS * second && second > 0 ? second * CUT_AT : first || 1;
}

function barLines(
  { label, parts, figure, isOurs }: ChartBar,
  y: number,
  { longest, pixels }: { longest: number; pixels: (value: number) => number },
): string[] {
  const ours = isOurs ? " ours" : "";
  const middle = y + THICK / 2 + 5;
  const lines = [
    `<text class="ink${ours}" x="${LABELS - 10}" y="${middle}" text-anchor="end" fill="#1a2029">${escaped(label)}</text>`,
  ];
  let from = 0;
  parts.forEach((part, i) => {
    const width = pixels(Math.min(part, longest - from));
    if (width <= 0) return;
    const [tone, fill] = i === 0 ? ["bar", isOurs ? "#0f8a72" : "#6b7a90"] : ["pale", isOurs ? "#8fd3c5" : "#b9c3d0"];
    lines.push(
      `<rect class="${tone}${ours}" x="${LABELS + pixels(from)}" y="${y}" width="${width}" height="${THICK}" rx="${ROUND}" fill="${fill}"/>`,
    );
    from += part;
  });
  const end = LABELS + pixels(Math.min(from, longest));
  if (from > longest) {
    const at = end - 22;
    lines.push(
      `<path class="cut" d="M${at} ${y - 3}l5 ${THICK / 2 + 3}l-5 0l5 ${THICK / 2 + 3}" fill="none" stroke="#ffffff" stroke-width="4"/>`,
    );
  }
  lines.push(`<text class="ink${ours}" x="${end + 8}" y="${middle}" fill="#1a2029">${escaped(figure)}</text>`);
  return lines;
}

function legendLines(legend: string[]): string[] {
  return legend.flatMap((text, i) => {
    const x = MARGIN + i * 170;
    const [tone, fill] = i === 0 ? ["bar", "#6b7a90"] : ["pale", "#b9c3d0"];
    return [
      `<rect class="${tone}" x="${x}" y="39" width="12" height="12" rx="${ROUND}" fill="${fill}"/>`,
      `<text class="quiet" x="${x + 18}" y="50" fill="#4c5766">${escaped(text)}</text>`,
    ];
  });
}

const sum = (values: number[]): number => values.reduce((total, value) => total + value, 0);
const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
