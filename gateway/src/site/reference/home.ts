/** What the bare address of a gateway says: what it is and where things are, to a person or to a program. */
import { block, framed, GUIDE_URL, STATUS_URL } from "./frame.ts";
import { html } from "./html.ts";

interface Places {
  object: "gateway";
  name: "Tollgate";
  /** What a client of the OpenAI dialect is given. */
  base_url: string;
  docs_url: string;
  console_url: string;
  /** Null where the operator has turned it off. */
  status_url: string | null;
}

export const placesOf = (address: string, hasStatus: boolean): Places => ({
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
<p class="lead">Prepaid, metered text generation and embeddings in the OpenAI dialect. A client changes its base address and its key.</p>
${block("The base address", base_url)}
${block("The models there are, with curl", line, "curl")}
<ul class="places">
<li><a href="/console/"><strong>Console</strong> Sign in, make a key, buy credits, try a model.</a></li>
<li><a href="/docs"><strong>Docs</strong> The first call in three languages, and every endpoint.</a></li>
<li><a href="${GUIDE_URL}"><strong>Guide</strong> For builders, hosts and operators, page by page.</a></li>
${status_url === null ? "" : html`<li><a href="${STATUS_URL}"><strong>Status</strong> Which models are served, and how fast.</a></li>\n`}</ul>
</main>`;
  return framed({ title: "Tollgate", body, hasStatus: status_url !== null });
}

/** A browser asks for HTML by name; curl and other programs take anything, and get JSON. */
export function wantsHtml(accept: string | undefined): boolean {
  return (accept ?? "").split(",").some((part) => {
    const [type, ...parameters] = part.split(";").map((piece) => piece.trim().toLowerCase());
    return type === "text/html" && !parameters.some((one) => /^q=0(\.0*)?$/.test(one));
  });
}
