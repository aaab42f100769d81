/** The reference as a page: made once from the document, plain HTML with one style sheet and no script. */
import { fieldsOf } from "./fields-list.ts";
import { type Html, html, inline, marked } from "./html.ts";
import {
  type Document,
  type Endpoint,
  type Example,
  follow,
  type Media,
  type Operation,
  operationsOf,
  type Ref,
  type Response,
  type Schema,
} from "./openapi.ts";

export const STYLE_URL = "/docs/reference.css";

export function referencePage(document: Document, options: { baseUrl: string }): string {
  const endpoints = operationsOf(document);
  const { title, summary } = document.info;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} reference</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${STYLE_URL}">
</head>
<body>
<a class="skip" href="#content">Skip to the reference</a>
<header>
<p class="brand">Tollgate</p>
<p><a href="/openapi.json">OpenAPI document</a></p>
</header>
<div class="columns">
${contents(endpoints)}
<main id="content">
<section aria-labelledby="introduction">
<h1 id="introduction">${title}</h1>
<p class="lead">${summary}</p>
${marked(document.info.description)}
</section>
${start(document, options.baseUrl)}
${endpoints.map((endpoint) => operationSection(document, endpoint))}
${errors(document, endpoints)}
${headers(document)}
</main>
</div>
</body>
</html>
`.text;
}

function contents(endpoints: Endpoint[]): Html {
  const tags = Map.groupBy(endpoints, ({ operation }) => operation.tags[0] ?? "");
  const link = ({ operation }: Endpoint) => html`<li><a href="#${operation.operationId}">${operation.summary}</a></li>`;
  return html`<nav aria-label="Contents">
<ul>
<li><a href="#introduction">Introduction</a></li>
<li><a href="#start">Start</a></li>
</ul>
${[...tags].map(([tag, inside]) => html`<p>${tag}</p>\n<ul>${inside.map(link)}</ul>\n`)}
<ul>
<li><a href="#errors">Errors</a></li>
<li><a href="#headers">Headers</a></li>
</ul>
</nav>`;
}

function start(document: Document, baseUrl: string): Html {
  const lines = [`export TOLLGATE_BASE_URL=${baseUrl}`, "export TOLLGATE_API_KEY=tsk_live_your_key"];
  return html`<section aria-labelledby="start">
<h2 id="start">Start</h2>
<p>Set these two once; every example on this page then works when it is pasted.</p>
${block("The two variables", lines.join("\n"))}
${Object.values(document.components.securitySchemes).map(({ description }) => marked(description ?? ""))}
</section>
`;
}

function operationSection(document: Document, { method, path, operation }: Endpoint): Html {
  const { operationId: id, summary, description, requestBody, responses } = operation;
  const request = requestBody?.content["application/json"];
  const [[, success] = [], ...refusals] = Object.entries(responses);
  const keyless = operation.security?.length === 0;
  return html`<section aria-labelledby="${id}">
<h2 id="${id}"><a href="#${id}">${summary}</a></h2>
<p class="route"><span class="method">${method.toUpperCase()}</span> <code>${path}</code>${keyless ? html` <span class="note">no key needed</span>` : ""}</p>
${marked(description)}
${block(`Call ${path} with curl`, curl({ method, path, operation }))}
${request === undefined ? "" : html`<h3>Request</h3>\n${schemaPart(document, request.schema)}`}
${success === undefined ? "" : answer(document, follow<Response>(document, success))}
<p class="errors">Errors: ${refusals.map(([status], i) => html`${i > 0 ? ", " : ""}<a href="#status-${status}">${status}</a>`)}</p>
</section>
`;
}

function answer(document: Document, response: Response): Html {
  const medias = Object.entries(response.content ?? {});
  return html`<h3>Answer</h3>
${marked(response.description)}
${medias.map(([type, media]) => html`<h4>${type}</h4>\n${mediaPart(document, media)}`)}`;
}

function mediaPart(document: Document, media: Media): Html {
  const event = media["x-event-schema"] as Schema | undefined;
  const chunk = event?.anyOf?.[0] as Schema | undefined;
  return html`${chunk === undefined ? "" : marked((media.schema as Schema).description ?? "")}
${schemaPart(document, chunk ?? media.schema)}
${Object.values(media.examples ?? {}).map(example)}`;
}

function schemaPart(document: Document, schema: Schema | Ref): Html {
  const fields = fieldsOf(document, schema).map(
    ({ path, type, required, description }) => html`<div>
<dt><code>${path}</code> <span class="type">${type}</span>${required ? "" : html` <span class="note">optional</span>`}</dt>
${description === "" ? "" : html`<dd>${inline(description)}</dd>`}
</div>
`,
  );
  return html`<dl>\n${fields}</dl>`;
}

function example({ summary, value }: Example): Html {
  const text = typeof value === "string" ? value.trimEnd() : JSON.stringify(value, null, 2);
  const title = summary ?? "Example";
  return html`<details>\n<summary>${title}</summary>\n${block(title, text)}\n</details>\n`;
}

/** Can be focused, so that a keyboard can scroll what is too wide. */
function block(label: string, text: string): Html {
  return html`<pre tabindex="0" role="group" aria-label="${label}"><code>${text}</code></pre>`;
}

function curl({ method, path, operation }: { method: string; path: string; operation: Operation }): string {
  const lines = [`curl "$TOLLGATE_BASE_URL${path}"`];
  if (operation.security === undefined) lines.push('-H "Authorization: Bearer $TOLLGATE_API_KEY"');
  const [sample] = Object.values(operation.requestBody?.content["application/json"]?.examples ?? {});
  if (method === "post" && sample !== undefined) {
    lines.push('-H "content-type: application/json"');
    const json = JSON.stringify(sample.value, null, 2).replaceAll("\n", "\n  ");
    lines.push(`-d '${json.replaceAll("'", "'\\''")}'`);
  }
  return lines.join(" \\\n  ");
}

function errors(document: Document, endpoints: Endpoint[]): Html {
  const rows = new Map<string, { status: string; name: string; example: Example }>();
  for (const { operation } of endpoints) {
    for (const [status, found] of Object.entries(operation.responses)) {
      if (status.startsWith("2")) continue;
      const examples = follow<Response>(document, found).content?.["application/json"]?.examples ?? {};
      for (const [name, example] of Object.entries(examples)) rows.set(`${status} ${name}`, { status, name, example });
    }
  }
  const byStatus = [...Map.groupBy(rows.values(), ({ status }) => status)].sort(([a], [b]) => Number(a) - Number(b));
  const row = ({ name, example }: { name: string; example: Example }) => {
    const { error } = example.value as { error: { message: string; code?: string } };
    const text = error.code === undefined ? html`No code. For example: ${error.message}` : error.message;
    return html`<td><code>${breakable(name)}</code></td><td>${text} <span class="note">${example.summary ?? ""}</span></td></tr>\n`;
  };
  return html`<section aria-labelledby="errors">
<h2 id="errors">Errors</h2>
${schemaPart(document, { $ref: "#/components/schemas/Error" })}
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

/** Codes are long words: on a narrow screen they break where a person would break them. */
function breakable(name: string): Html {
  const words = name.split("_");
  return html`${words.map((word, i) => (i < words.length - 1 ? html`${word}_<wbr>` : word))}`;
}

function headers(document: Document): Html {
  const rows = Object.entries(document.components.headers).map(
    ([name, { description }]) => html`<div>\n<dt><code>${name}</code></dt>\n<dd>${inline(description)}</dd>\n</div>\n`,
  );
  return html`<section aria-labelledby="headers">\n<h2 id="headers">Headers</h2>\n<dl>\n${rows}</dl>\n</section>\n`;
}
