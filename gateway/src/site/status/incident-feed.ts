/** The incidents as an Atom feed. An entry changes when its incident ends or operators add a note. */
import { html } from "../reference/html-template.ts";
import type { Status } from "./status-document.ts";

export const FEED_URL = "/status.atom";

type Incident = Status["incidents"][number];

const KINDS: Record<Incident["kind"], string> = {
  internal: "a part of the platform failed",
  stopped: "the platform was not running",
  unavailable: "no node could serve this model",
  errors: "many requests failed",
};

/** A short description, such as "tiny-3b: no node could serve it". */
export function formatIncidentTitle({ model, state, kind }: Incident): string {
  if (model !== null) return `${model}: ${KINDS[kind]}`;
  const what = kind === "unavailable" ? "no node could serve any model" : KINDS[kind];
  return state === "down" ? `No requests were served: ${what}` : `Some requests were not served: ${what}`;
}

/** The feed's XML. `address` is the URL of the status page. */
export function incidentFeed({ incidents, at }: Status, address: string): string {
  const changedAt = ({ from, to, updates }: Incident): number =>
    Math.max(from, to ?? 0, ...updates.map((update) => update.at));
  const entries = incidents.map((incident) => {
    const { id, from, to, updates } = incident;
    const said = [
      `${timeText(from)} to ${to === null ? "now" : timeText(to)}`,
      ...updates.map((update) => `${timeText(update.at)}: ${update.text}`),
    ];
    return html`<entry><id>${address}#${id}</id><title>${formatIncidentTitle(incident)}</title><updated>${timeText(changedAt(incident))}</updated><link href="${address}#${id}"/><content type="text">${said.join("\n")}</content></entry>
`;
  });
  const updated = incidents.length === 0 ? at : Math.max(...incidents.map(changedAt));
  return html`<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom"><id>${address}</id><title>Status</title><updated>${timeText(updated)}</updated><link href="${address}"/><author><name>Tollgate</name></author>
${entries}</feed>
`.text;
}

const timeText = (unixSeconds: number): string => new Date(unixSeconds * 1000).toISOString().replace(".000Z", "Z");
