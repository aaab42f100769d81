/** Renders the links between the guide and the API reference, and to the internal APIs. */
import { DOCUMENTS } from "../../../gateway/src/site/reference/api-documents.ts";
import { type Html, html } from "../../../gateway/src/site/reference/html-template.ts";
import { GUIDE_URL } from "../../../gateway/src/site/reference/page-frame.ts";

const [PUBLIC, ...INTERNAL] = DOCUMENTS;
export const REFERENCE_URL = PUBLIC?.pageUrl ?? "";
export const INTERNAL_APIS_HEADING = "Internal APIs";

/** Renders the tabs Guide and API reference. `part`: the tab of the current page. */
export function renderNavigationTabs(part: "guide" | "reference" | undefined): Html {
  const links = [
    { name: "Guide", url: GUIDE_URL, isHere: part === "guide" },
    { name: "API reference", url: REFERENCE_URL, isHere: part === "reference" },
  ].map(({ name, url, isHere }) => {
    return html`<li><a href="${url}"${isHere ? html` aria-current="true"` : ""}>${name}</a></li>\n`;
  });
  return html`<nav class="tabs" aria-label="Docs">\n<ul>\n${links}</ul>\n</nav>`;
}

/** Renders links to the APIs for operators and authors of agents, which builders do not need. */
export function renderInternalApiLinks(hereUrl = ""): Html {
  const links = INTERNAL.map(({ name, pageUrl }) => {
    const current = pageUrl === hereUrl ? html` aria-current="true"` : "";
    return html`<li><a href="${pageUrl}"${current}>${name}</a></li>\n`;
  });
  return html`<p>${INTERNAL_APIS_HEADING}</p>\n<ul>${links}</ul>\n`;
}
