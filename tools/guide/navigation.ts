/**
 * Renders the guide's navigation: the table of contents, a page's section, and the links to the previous and next page.
 */

import { type Html, html } from "../../gateway/src/site/reference/html-template.ts";
import { GUIDE_URL } from "../../gateway/src/site/reference/page-frame.ts";
import { type GuidePage, PAGES, SECTIONS } from "./pages.ts";
import { REFERENCE_URL, renderInternalApiLinks } from "./reference/navigation-tabs.ts";
import type { Heading } from "./render-markdown.ts";

export const buildGuideUrl = ({ path }: Pick<GuidePage, "path">): string =>
  path === "" ? GUIDE_URL : `${GUIDE_URL}/${path}`;

/**
 * Renders the table of contents with collapsible sections. The section of the shown page is open, and the page's
 * headings are listed below its name.
 */
export function renderTableOfContents(shown: GuidePage, headings: Heading[]): Html {
  const within = headings.filter(({ level }) => level === 2);
  const below = html`\n<ul class="within">${within.map(({ id, text }) => html`<li><a href="#${id}">${text}</a></li>\n`)}</ul>\n`;
  const link = (page: GuidePage) =>
    page === shown
      ? html`<li><a href="${buildGuideUrl(page)}" aria-current="page">${page.name}</a>${within.length === 0 ? "" : below}</li>\n`
      : html`<li><a href="${buildGuideUrl(page)}">${page.name}</a></li>\n`;
  const isOpen = (name: string): boolean => name === shown.section || shown.path === "";
  const sections = [...SECTIONS].map(
    ([name, pages]) =>
      html`<details${isOpen(name) ? html` open` : ""}>\n<summary>${name}</summary>\n<ul>${pages.map(link)}</ul>\n</details>\n`,
  );
  return html`<nav class="contents" aria-label="Contents">
<button type="button" class="with-script" aria-expanded="false" aria-controls="contents">Contents</button>
<div id="contents">
${sections}<p>Reference</p>
<ul><li><a href="${REFERENCE_URL}">API reference</a></li></ul>
${renderInternalApiLinks()}</div>
</nav>`;
}

export function renderBreadcrumbs({ path, section }: GuidePage): Html | string {
  if (path === "") return "";
  return html`<p class="crumbs"><a href="${GUIDE_URL}">Guide</a> <span aria-hidden="true">/</span> ${section}</p>\n`;
}

export function renderPreviousAndNextLinks(shown: GuidePage): Html | string {
  const at = PAGES.indexOf(shown);
  if (at < 0) return "";
  const link = (page: GuidePage | undefined, rel: "prev" | "next", text: string): Html | string =>
    page === undefined
      ? ""
      : html`<a rel="${rel}" href="${buildGuideUrl(page)}"><span>${text}</span> <strong>${page.name}</strong></a>\n`;
  return html`<nav class="pager" aria-label="Previous and next page">\n${link(PAGES[at - 1], "prev", "Previous")}${link(PAGES[at + 1], "next", "Next")}</nav>\n`;
}
