/**
 * Renders the API reference as one page per API, from the API documents, as plain HTML with one style sheet. Built
 * once, not for each request.
 */

import {
  type Document,
  type Endpoint,
  type Example,
  listOperations,
  type Response,
  resolveRef,
} from "@tollgate/api/openapi/openapi-types.ts";
import type { ApiDocument, GettingStartedStep } from "../../../gateway/src/site/reference/api-documents.ts";
import { type Html, html, inlineMarkdown, renderMarkdown } from "../../../gateway/src/site/reference/html-template.ts";
import { codeFigure, framePage, samplesBlock } from "../../../gateway/src/site/reference/page-frame.ts";
import { highlight } from "../highlight.ts";
import { createFirstCallSamples } from "./code-samples.ts";
import {
  INTERNAL_APIS_HEADING,
  REFERENCE_URL,
  renderInternalApiLinks,
  renderNavigationTabs,
} from "./navigation-tabs.ts";
import { renderHeading, renderOperationSection, renderSchema } from "./operation-section.ts";

interface PageOptions {
  document: Document;
  baseUrl: string;
  hasStatus: boolean;
}

export function renderReferencePage(api: ApiDocument, options: PageOptions): string {
  const { document, baseUrl } = options;
  const endpoints = listOperations(document);
  const { title, summary } = document.info;
  const body = html`<div class="columns">
${contents(endpoints, api)}
<main id="content">${internalNote(api)}
<section aria-labelledby="introduction">
<h1 id="introduction">${title}</h1>
<p class="lead">${summary}</p>
<p class="links"><a href="${api.url}">OpenAPI document</a></p>
</section>
${quickStart(document, api, baseUrl)}
<section aria-labelledby="about">
${renderHeading("about", "About this API")}
${renderMarkdown(document.info.description)}
${Object.values(document.components.securitySchemes).map(({ description }) => renderMarkdown(description ?? ""))}
</section>
${endpoints.map((endpoint) => renderOperationSection(document, endpoint, api.calling))}
${errors(document, endpoints)}
${headers(document)}
</main>
</div>`;
  return framePage({
    title: `${title} reference`,
    nav: renderNavigationTabs("reference"),
    body,
    hasStatus: options.hasStatus,
  });
}

/** Renders a note for an internal API's page, which points builders to the public API. Empty for the public API. */
function internalNote({ pageUrl }: ApiDocument): Html | string {
  if (pageUrl === REFERENCE_URL) return "";
  return html`
<p class="crumbs"><a href="${REFERENCE_URL}">API reference</a> <span aria-hidden="true">/</span> ${INTERNAL_APIS_HEADING}</p>
<p class="note">The platform's own programs use this API. To call models, use the <a href="${REFERENCE_URL}">public API</a>.</p>`;
}

function contents(endpoints: Endpoint[], { pageUrl }: ApiDocument): Html {
  const tags = Map.groupBy(endpoints, ({ operation }) => operation.tags[0] ?? "");
  const link = ({ operation }: Endpoint) => html`<li><a href="#${operation.operationId}">${operation.summary}</a></li>`;
  return html`<nav class="contents" aria-label="Contents">
<button type="button" class="with-script" aria-expanded="false" aria-controls="contents">Contents</button>
<div id="contents">
<ul>
<li><a href="#introduction">Introduction</a></li>
<li><a href="#start">Quick start</a></li>
<li><a href="#about">About this API</a></li>
</ul>
${[...tags].map(([tag, inside]) => html`<p>${tag}</p>\n<ul>${inside.map(link)}</ul>\n`)}
<ul>
<li><a href="#errors">Errors</a></li>
<li><a href="#headers">Headers</a></li>
</ul>
${pageUrl === REFERENCE_URL ? "" : html`<p>Reference</p>\n<ul><li><a href="${REFERENCE_URL}">Public API</a></li></ul>\n`}${renderInternalApiLinks(pageUrl)}</div>
</nav>`;
}

function quickStart(document: Document, { calling }: ApiDocument, baseUrl: string): Html {
  const lines = [`TOLLGATE_BASE_URL=${baseUrl}`, ...calling.variables].map((line) => `export ${line}`);
  const chat = listOperations(document).find(({ operation }) => operation.operationId === "createChatCompletion");
  const key = calling.variables[0]?.split("=")[1] ?? "";
  const step = ({ text, link }: GettingStartedStep) =>
    html`${inlineMarkdown(text)} <a href="${link.url}">${link.name}</a>`;
  const [first, ...others] = calling.steps.map(step);
  const steps =
    others.length === 0
      ? html`<p>${first ?? ""}</p>`
      : html`<ol class="steps">\n${calling.steps.map((one) => html`<li>${step(one)}</li>\n`)}</ol>`;
  return html`<section aria-labelledby="start">
${renderHeading("start", "Quick start")}
${steps}
${chat === undefined ? "" : html`<p>The base URL for clients is <code>${baseUrl}/v1</code>.</p>\n${samplesBlock("The first call", createFirstCallSamples(chat, { baseUrl, key }), highlight)}`}
${renderMarkdown(calling.before)}
${codeFigure("What to set", highlight("sh", lines.join("\n")), "Shell")}
</section>
`;
}

function errors(document: Document, endpoints: Endpoint[]): Html {
  const rows = new Map<string, { status: string; name: string; example: Example }>();
  for (const { operation } of endpoints) {
    for (const [status, found] of Object.entries(operation.responses)) {
      if (/^[23]/.test(status)) continue;
      const examples = resolveRef<Response>(document, found).content?.["application/json"]?.examples ?? {};
      for (const [name, example] of Object.entries(examples)) {
        const { code, message } = errorOf(example);
        // Lists an error code once for each of its messages, and errors without a code once.
        rows.set(`${status} ${name} ${code === undefined ? "" : message}`, { status, name, example });
      }
    }
  }
  const byStatus = [...Map.groupBy(rows.values(), ({ status }) => status)].sort(([a], [b]) => Number(a) - Number(b));
  const row = ({ name, example }: { name: string; example: Example }) => {
    const { code, message } = errorOf(example);
    const text = code === undefined ? html`No code. For example: ${message}` : message;
    return html`<td><code>${breakable(name)}</code></td><td>${text} <span class="note">${example.summary ?? ""}</span></td></tr>\n`;
  };
  return html`<section aria-labelledby="errors">
${renderHeading("errors", "Errors")}
${renderSchema(document, { $ref: "#/components/schemas/Error" })}
<table>
<thead><tr><th scope="col">Status</th><th scope="col">Code</th><th scope="col">Meaning</th></tr></thead>
${byStatus.map(
  ([status, inside]) => html`<tbody id="status-${status}">
${inside.map((one, i) => html`<tr>${i === 0 ? html`<th scope="rowgroup" rowspan="${inside.length}">${status}</th>` : ""}${row(one)}`)}</tbody>
`,
)}</table>
</section>
`;
}

const errorOf = ({ value }: Example) => (value as { error: { message: string; code?: string } }).error;

/** Allows line breaks between the words of a long error code, for narrow screens. */
function breakable(name: string): Html {
  const words = name.split("_");
  return html`${words.map((word, i) => (i < words.length - 1 ? html`${word}_<wbr>` : word))}`;
}

function headers(document: Document): Html {
  const rows = Object.entries(document.components.headers).map(
    ([name, { description }]) =>
      html`<div>\n<dt><code>${name}</code></dt>\n<dd>${inlineMarkdown(description)}</dd>\n</div>\n`,
  );
  return html`<section aria-labelledby="headers">\n${renderHeading("headers", "Headers")}\n<dl>\n${rows}</dl>\n</section>\n`;
}
