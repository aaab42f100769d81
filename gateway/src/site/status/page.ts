/** The status as a page: plain HTML that says everything in words and tables too, and needs no script. Times are in UTC. */
import { framed } from "../reference/frame.ts";
import { type Html, html } from "../reference/html.ts";
import type { Status } from "./document.ts";

export const STYLE_URL = "/status/status.css";

type ModelStatus = Status["models"][number];
type Day = ModelStatus["days"][number];

const STATES: Record<ModelStatus["now"]["state"], string> = {
  available: "Available",
  degraded: "Degraded",
  unavailable: "Unavailable",
};

export function statusPage(status: Status): string {
  const { at, stale, models, incidents, sample_seconds } = status;
  const body = html`<main id="content" class="status">
<h1>Status</h1>
<p class="lead">${summaryOf(models)}</p>
${stale ? html`<p class="notice" role="status">The gateway cannot read the current status. These are the last known figures, of ${moment(at)}.</p>` : ""}
<p class="note">${stale ? "" : html`As of ${moment(at)}. `}Sampled every ${everyText(sample_seconds)}. The same <a href="/status.json">as JSON</a>.</p>
${models.map(modelSection)}
<section aria-labelledby="incidents">
<h2 id="incidents">Incidents</h2>
${incidentTable(incidents)}
</section>
</main>`;
  return framed({ title: "Status · Tollgate", body, styleUrl: STYLE_URL, hasStatus: true });
}

function summaryOf(models: ModelStatus[]): string {
  const wrong = models.filter(({ now }) => now.state !== "available");
  if (models.length === 0) return "No models are offered.";
  if (wrong.length === 0) return "All models are available.";
  if (wrong.length === models.length && wrong.every(({ now }) => now.state === "unavailable"))
    return "No model is available.";
  return `${wrong.length} of ${models.length} models: ${wrong.map(({ id, now }) => `${id} ${now.state}`).join(", ")}.`;
}

function modelSection({ id, kind, now, availability, days }: ModelStatus): Html {
  const speeds = [
    ...(now.ttft_p50_ms === null ? [] : [`first token ${msText(now.ttft_p50_ms)}`]),
    ...(now.tokens_per_second === null ? [] : [`${Math.round(now.tokens_per_second)} tokens/s`]),
  ];
  return html`<section class="model" aria-labelledby="model-${id}">
<div class="heading"><h2 id="model-${id}">${id}</h2><span class="state ${now.state}">${STATES[now.state]}</span><span class="note">${speeds.join(", ")}</span></div>
${bars(id, days)}
<p class="ends note"><span>${days.length} days ago</span><span>${availability === null ? "not sampled yet" : html`${percent(availability)} available`}</span><span>today</span></p>
<details>
<summary>Day by day<span class="aside"> of ${id}</span></summary>
${dayTable(id, kind, days)}
</details>
</section>
`;
}

const BAR = { step: 5, width: 4, height: 34 };
/** The worse, the shorter: it can be told without the colours. */
const LEVELS = { none: 8, good: 34, fair: 25, bad: 16 };

function bars(id: string, days: Day[]): Html {
  const each = days.map((day, i) => {
    const level = levelOf(day.availability);
    const height = LEVELS[level];
    return html`<rect class="${level}" x="${i * BAR.step}" y="${BAR.height - height}" width="${BAR.width}" height="${height}"><title>${day.day}: ${day.availability === null ? "not sampled" : percent(day.availability)}</title></rect>`;
  });
  return html`<svg class="bars" role="img" aria-label="${barsText(id, days)}" viewBox="0 0 ${days.length * BAR.step - 1} ${BAR.height}" preserveAspectRatio="none">${each}</svg>`;
}

function levelOf(availability: number | null): keyof typeof LEVELS {
  if (availability === null) return "none";
  if (availability >= 0.999) return "good";
  return availability >= 0.95 ? "fair" : "bad";
}

function barsText(id: string, days: Day[]): string {
  const known = days.filter(({ availability }) => availability !== null);
  const short = known.filter(({ availability }) => availability !== null && availability < 1);
  if (known.length === 0) return `Availability of ${id}: not sampled yet.`;
  if (short.length === 0) return `Availability of ${id}: 100 % on all of ${known.length} days.`;
  const worst = short.toSorted((a, b) => (a.availability ?? 1) - (b.availability ?? 1))[0] as Day;
  return `Availability of ${id}: below 100 % on ${short.length} of ${known.length} days, least on ${worst.day} with ${percent(worst.availability ?? 0)}.`;
}

/** Newest first, without the days before the first sample. */
function dayTable(id: string, kind: ModelStatus["kind"], days: Day[]): Html {
  const known = days.filter((day) => day.availability !== null || day.tokens_per_second !== null).toReversed();
  if (known.length === 0) return html`<p class="note">Nothing measured yet.</p>`;
  const isEmbedding = kind === "embedding";
  const rows = known.map(
    (day) =>
      html`<tr><th scope="row">${day.day}</th><td>${percentOr(day.availability)}</td><td>${percentOr(day.failed_share, 1)}</td>${isEmbedding ? "" : html`<td>${day.ttft_p50_ms === null ? "–" : msText(day.ttft_p50_ms)}</td><td>${day.tokens_per_second === null ? "–" : Math.round(day.tokens_per_second)}</td>`}</tr>\n`,
  );
  return html`<div class="wide" tabindex="0" role="group" aria-label="Days of ${id}">
<table>
<thead><tr><th scope="col">Day</th><th scope="col">Available</th><th scope="col">Failed</th>${isEmbedding ? "" : html`<th scope="col">First token</th><th scope="col">Tokens/s</th>`}</tr></thead>
<tbody>
${rows}</tbody>
</table>
</div>`;
}

const KINDS: Record<Status["incidents"][number]["kind"], string> = {
  unavailable: "no node could serve it",
  errors: "too many requests failed",
};

function incidentTable(incidents: Status["incidents"]): Html {
  if (incidents.length === 0) return html`<p>None in the last 90 days.</p>`;
  const rows = incidents.map(
    ({ model, kind, from, to }) =>
      html`<tr><td>${model}</td><td>${KINDS[kind]}</td><td>${moment(from)}</td><td>${to === null ? html`<strong>ongoing</strong>` : html`${moment(to)} <span class="note">${lengthText(to - from)}</span>`}</td></tr>\n`,
  );
  return html`<div class="wide incidents" tabindex="0" role="group" aria-label="Incidents">
<table>
<thead><tr><th scope="col">Model</th><th scope="col">What</th><th scope="col">From</th><th scope="col">To</th></tr></thead>
<tbody>
${rows}</tbody>
</table>
</div>`;
}

function moment(unixSeconds: number): Html {
  const iso = new Date(unixSeconds * 1000).toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC</time>`;
}

/** What is less than whole is never shown as whole. */
function percent(share: number, places = 2): string {
  const factor = 10 ** places;
  return `${Math.floor(share * 100 * factor + 1e-6) / factor} %`;
}

const percentOr = (share: number | null, places?: number): string => (share === null ? "–" : percent(share, places));
const msText = (ms: number): string => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(2)} s`);
const everyText = (seconds: number): string => (seconds === 60 ? "minute" : `${seconds} s`);

function lengthText(seconds: number): string {
  const minutes = Math.max(1, Math.round(seconds / 60));
  if (minutes < 60) return `${minutes} min`;
  return minutes < 1440
    ? `${Math.floor(minutes / 60)} h ${minutes % 60} min`
    : `${Math.round(minutes / 144) / 10} days`;
}
