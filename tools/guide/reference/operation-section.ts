/** Renders the section of one API operation: its route, an example, its input and its responses. */

import {
  type Document,
  type Endpoint,
  type Example,
  type Media,
  type Parameter,
  type Ref,
  type Response,
  resolveRef,
  type Schema,
} from "@tollgate/api/openapi/openapi-types.ts";
import type { CallExamples } from "../../../gateway/src/site/reference/api-documents.ts";
import { type Html, html, inlineMarkdown, renderMarkdown } from "../../../gateway/src/site/reference/html-template.ts";
import { type CodeSample, codeFigure, samplesBlock } from "../../../gateway/src/site/reference/page-frame.ts";
import { findCaption, highlight } from "../highlight.ts";
import { createSamples } from "./code-samples.ts";
import { describeType, listFields } from "./fields-list.ts";

export function renderOperationSection(document: Document, endpoint: Endpoint, calling: CallExamples): Html {
  const { method, path, operation } = endpoint;
  const { operationId: id, summary, description, requestBody, responses } = operation;
  const request = requestBody?.content["application/json"];
  const [[, success] = [], ...refusals] = Object.entries(responses);
  const keyless = operation.security?.length === 0;
  return html`<section aria-labelledby="${id}">
${renderHeading(id, summary)}
<p class="route"><span class="method">${method.toUpperCase()}</span> <code>${path}</code>${keyless ? html` <span class="note">${calling.openNote}</span>` : ""}</p>
${description === undefined ? "" : renderMarkdown(description)}
${example(`Call ${path}`, createSamples(endpoint, calling))}
${parameters(document, endpoint)}
${request === undefined ? "" : html`${subheading(`${id}-request`, "Request")}\n${renderSchema(document, request.schema)}`}
${success === undefined ? "" : answer(document, id, resolveRef<Response>(document, success))}
<p class="errors">Errors: ${refusals.map(([status], i) => html`${i > 0 ? ", " : ""}<a href="#status-${status}">${status}</a>`)}</p>
</section>
`;
}

function parameters(document: Document, { operation }: Endpoint): Html | string {
  const list = (operation.parameters ?? []).map((one) => resolveRef<Parameter>(document, one));
  if (list.length === 0) return "";
  const rows = list.map((one) => ({
    path: one.name,
    type: `${describeType(document, one.schema as Schema)}, in the ${one.in}`,
    required: one.required,
    description: one.description,
  }));
  return html`${subheading(`${operation.operationId}-parameters`, "Parameters")}\n${fieldRows(rows)}`;
}

function answer(document: Document, id: string, response: Response): Html {
  const medias = Object.entries(response.content ?? {});
  return html`${subheading(`${id}-answer`, "Answer")}
${renderMarkdown(response.description)}
${medias.map(([type, media]) => html`<h4>${type}</h4>\n${mediaPart(document, media)}`)}`;
}

function mediaPart(document: Document, media: Media): Html {
  const event = media["x-event-schema"] as Schema | undefined;
  const chunk = event?.anyOf?.[0] as Schema | undefined;
  const named = Object.entries(media["x-event-schemas"] ?? {});
  const isText = !("$ref" in media.schema) && media.schema.type === "string";
  const own = chunk ?? (isText ? undefined : media.schema);
  return html`${isText ? renderMarkdown((media.schema as Schema).description ?? "") : ""}
${own === undefined ? "" : renderSchema(document, own)}
${named.map(([name, schema]) => html`<h4>event: ${name}</h4>\n${renderSchema(document, schema)}`)}
${Object.values(media.examples ?? {}).map(shownExample)}`;
}

export function renderSchema(document: Document, schema: Schema | Ref): Html {
  return fieldRows(listFields(document, schema));
}

function fieldRows(rows: { path: string; type: string; required: boolean; description: string }[]): Html {
  const fields = rows.map(
    ({ path, type, required, description }) => html`<div>
<dt><code>${path}</code> <span class="type">${type}</span>${required ? "" : html` <span class="note">optional</span>`}</dt>
${description === "" ? "" : html`<dd>${inlineMarkdown(description)}</dd>`}
</div>
`,
  );
  return html`<dl>\n${fields}</dl>`;
}

function shownExample({ summary, value }: Example): Html {
  const text = typeof value === "string" ? value.trimEnd() : JSON.stringify(value, null, 2);
  const title = summary ?? "Example";
  const language = typeof value === "string" ? "text" : "json";
  return html`<details>\n<summary>${title}</summary>\n${codeFigure(title, highlight(language, text), findCaption(language))}\n</details>\n`;
}

/** Renders samples: a single one as an ordinary code block, several as tabs. */
function example(label: string, samples: CodeSample[]): Html {
  const [only, second] = samples;
  return only !== undefined && second === undefined
    ? codeFigure(`${label} with curl`, highlight("curl", only.text), "curl")
    : samplesBlock(label, samples, highlight);
}

/** Renders a heading that links to itself. */
export const renderHeading = (id: string, text: string): Html => html`<h2 id="${id}"><a href="#${id}">${text}</a></h2>`;

const subheading = (id: string, text: string): Html => html`<h3 id="${id}"><a href="#${id}">${text}</a></h3>`;
