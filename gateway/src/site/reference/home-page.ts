/** The root path: describes the service and links to its pages, as HTML for browsers or as JSON for programs. */

import { html } from "./html-template.ts";
import { codeFigure, framePage, GUIDE_URL, STATUS_URL } from "./page-frame.ts";

interface Places {
  object: "gateway";
  name: "Tollgate";
  /** The base URL for OpenAI clients. */
  base_url: string;
  docs_url: string;
  console_url: string;
  /** The status page's URL; null if the operator turned the page off. */
  status_url: string | null;
}

export const serviceUrls = (address: string, hasStatus: boolean): Places => ({
  object: "gateway",
  name: "Tollgate",
  base_url: `${address}/v1`,
  docs_url: `${address}/docs`,
  console_url: `${address}/console/`,
  status_url: hasStatus ? `${address}${STATUS_URL}` : null,
});

export function homePage({ base_url, status_url }: Places): string {
  const line = `curl ${base_url}/models -H "Authorization: Bearer tsk_live_your_key"`;
  const body = html`<main id="content" class="home">
<h1>This is a Tollgate gateway</h1>
<p class="lead">Prepaid, metered text generation and embeddings through an OpenAI-compatible API. Change your client's base URL and API key to use it.</p>
${codeFigure("Base URL", base_url)}
${codeFigure("List the models with curl", line, "curl")}
<ul class="places">
<li><a href="/console/"><strong>Console</strong> Sign in, create API keys, buy credits, try models.</a></li>
<li><a href="/docs"><strong>Docs</strong> Your first request in three languages, and every endpoint.</a></li>
<li><a href="${GUIDE_URL}"><strong>Guide</strong> Guides for builders, hosts and operators.</a></li>
${status_url === null ? "" : html`<li><a href="${STATUS_URL}"><strong>Status</strong> Which models are available, and how fast they are.</a></li>\n`}</ul>
</main>`;
  return framePage({ title: "Tollgate", body, hasStatus: status_url !== null });
}

/**
 * Whether the client is a browser, which asks for HTML explicitly. curl and other programs accept any type, and get
 * JSON.
 */
export function wantsHtml(accept: string | undefined): boolean {
  return (accept ?? "").split(",").some((part) => {
    const [type, ...parameters] = part.split(";").map((piece) => piece.trim().toLowerCase());
    return type === "text/html" && !parameters.some((one) => /^q=0(\.0*)?$/.test(one));
  });
}
