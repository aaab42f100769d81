/** The way between the reference's pages, one for each API, and the guide. */
import { DOCUMENTS } from "./documents.ts";
import { GUIDE_URL } from "./frame.ts";
import { type Html, html } from "./html.ts";

export function tabs(hereUrl: string): Html {
  const all = [...DOCUMENTS.map(({ name, pageUrl: url }) => ({ name, url })), { name: "Guide", url: GUIDE_URL }];
  const links = all.map(({ name, url }) => {
    const current = url === hereUrl ? html` aria-current="page"` : "";
    return html`<li><a href="${url}"${current}>${name}</a></li>\n`;
  });
  return html`<nav class="tabs" aria-label="Docs">\n<ul>\n${links}</ul>\n</nav>`;
}
