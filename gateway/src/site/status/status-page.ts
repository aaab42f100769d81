/**
 * The status page as plain HTML without scripts. Everything shown as a graph is also given in words or tables. Times
 * are in UTC.
 */

import { type Html, html } from "../reference/html-template.ts";
import { framePage } from "../reference/page-frame.ts";
import { FEED_URL, formatIncidentTitle } from "./incident-feed.ts";
import type { Status } from "./status-document.ts";

export const STYLE_URL = "/status/status.css";

type ModelStatus = Status["models"][number];
type Incident = Status["incidents"][number];
type Day = ModelStatus["days"][number];

const STATES: Record<ModelStatus["now"]["state"], string> = {
  available: "Available",
  degraded: "Degraded",
  unavailable: "Unavailable",
};

export function statusPage(status: Status): string {
  const { as_of, at, stale, models, incidents, sample_seconds } = status;
  const [open, past] = [incidents.filter(({ to }) => to === null), incidents.filter(({ to }) => to !== null)];
  const body = html`<main id="content" class="status">
<h1>Status</h1>
${verdict(status)}
${stale ? html`<p class="notice" role="status">The figures below cannot be read now. They are the last known ones, from ${moment(at)}, ${lengthText(as_of - at)} ago.</p>` : ""}
<p class="note">As of ${moment(as_of)}. Checked every ${everyText(sample_seconds)}. Also available <a href="/status.json">as JSON</a> and <a href="${FEED_URL}">as a feed</a>.</p>
${open.length === 0 ? "" : html`<section aria-labelledby="ongoing">\n<h2 id="ongoing">Ongoing incidents</h2>\n${open.map(incidentItem)}\n</section>`}
${models.map(modelSection)}
<section aria-labelledby="incidents">
<h2 id="incidents">Past incidents</h2>
${past.length === 0 ? html`<p>No incidents in the last 90 days.</p>` : past.map(incidentItem)}
</section>
</main>`;
  return framePage({ title: "Status · Tollgate", body, styleUrl: STYLE_URL, hasStatus: true });
}

const HEADLINES: Record<Status["state"], string> = {
  serving: "The platform is serving requests.",
  degraded: "Degraded: some requests cannot be served.",
  down: "Down: no requests can be served.",
};
/** The CSS class for each state of the platform. Models use the same classes, and so the same colors. */
const CLASSES = { serving: "available", degraded: "degraded", down: "unavailable" } as const;

const verdict = ({ state, since, models }: Status): Html =>
  html`<div class="verdict ${CLASSES[state]}">
<p class="lead">${HEADLINES[state]}</p>
<p class="note">${since === null ? "" : html`Since ${moment(since)}. `}${modelsText(models)}</p>
</div>`;

function modelsText(models: ModelStatus[]): string {
  const wrong = models.filter(({ now }) => now.state !== "available");
  if (models.length === 0) return "No models are offered.";
  if (wrong.length === 0) return "All models are available.";
  if (wrong.length === models.length && wrong.every(({ now }) => now.state === "unavailable"))
    return "No model is available.";
  return `Problems with ${wrong.length} of ${models.length} models: ${wrong.map(({ id, now }) => `${id} ${now.state}`).join(", ")}.`;
}

function modelSection({ id, kind, now, availability, days }: ModelStatus): Html {
  const speeds = [
    ...(now.ttft_p50_ms === null ? [] : [`first token ${msText(now.ttft_p50_ms)}`]),
    ...(now.tokens_per_second === null ? [] : [`${Math.round(now.tokens_per_second)} tokens/s`]),
  ];
  return html`<section class="model" aria-labelledby="model-${id}">
<div class="heading"><h2 id="model-${id}">${id}</h2><span class="state ${now.state}">${STATES[now.state]}</span><span class="note">${speeds.join(", ")}</span></div>
${bars(id, days)}
<p class="ends note"><span>${days.length} days ago</span><span>${availability === null ? "no data yet" : html`${percent(availability)} available`}</span><span>today</span></p>
<details>
<summary>Daily history<span class="aside"> of ${id}</span></summary>
${dayTable(id, kind, days)}
</details>
</section>
`;
}

const BAR = { step: 5, width: 4, height: 34 };
/** The sizes of the bars. Heights differ by level, so that levels are visible without colors. */
const LEVELS = { none: 8, good: 34, fair: 25, bad: 16 };

function bars(id: string, days: Day[]): Html {
  const each = days.map((day, i) => {
    const level = levelOf(day.availability);
    const height = LEVELS[level];
    return html`<rect class="${level}" x="${i * BAR.step}" y="${BAR.height - height}" width="${BAR.width}" height="${height}"><title>${day.day}: ${day.availability === null ? "no data" : percent(day.availability)}</title></rect>`;
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
  if (known.length === 0) return `Availability of ${id}: no data yet.`;
  if (short.length === 0) return `Availability of ${id}: 100 % on all ${known.length} days.`;
  const worst = short.toSorted((a, b) => (a.availability ?? 1) - (b.availability ?? 1))[0] as Day;
  return `Availability of ${id}: below 100 % on ${short.length} of ${known.length} days, lowest on ${worst.day} (${percent(worst.availability ?? 0)}).`;
}

/** A table of days, newest first, without the days before the first sample. */
function dayTable(id: string, kind: ModelStatus["kind"], days: Day[]): Html {
  const known = days.filter((day) => day.availability !== null || day.tokens_per_second !== null).toReversed();
  if (known.length === 0) return html`<p class="note">No data yet.</p>`;
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

/** One incident: its kind, time, duration and the operators' notes. */
function incidentItem(incident: Incident): Html {
  const { id, from, to, updates } = incident;
  return html`<article class="incident" id="${id}">
<h3>${formatIncidentTitle(incident)}</h3>
<p class="note">${moment(from)} to ${to === null ? html`<strong>now</strong>` : html`${moment(to)}, ${lengthText(to - from)}`}</p>
${updates.length === 0 ? "" : html`<ol>${updates.map(({ at, text }) => html`<li>${moment(at)}: ${text}</li>\n`)}</ol>`}
</article>
`;
}

function moment(unixSeconds: number): Html {
  const iso = new Date(unixSeconds * 1000).toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC</time>`;
}

/** A share as a percentage, rounded down, so that 99.999 % is never shown as 100 %. */
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
