/**
 * Builds the docs as files, by their paths below /docs: a page for each Markdown file of the guide and for each API,
 * the examples that pages link to, pictures, the page for unknown addresses, and the search index.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, posix, relative, sep } from "node:path";
import { gzipSync } from "node:zlib";
import { buildDocument } from "@tollgate/api/openapi/document.ts";
import { DOCUMENTS } from "../../gateway/src/site/reference/api-documents.ts";
import { type Html, html } from "../../gateway/src/site/reference/html-template.ts";
import {
  ADDRESS_PLACEHOLDER,
  codeFigure,
  framePage,
  GUIDE_STYLE_URL,
  GUIDE_URL,
} from "../../gateway/src/site/reference/page-frame.ts";
import { replaceFolder } from "../replace-folder.mjs";
import { detectLanguage, findCaption, highlight } from "./highlight.ts";
import { buildGuideUrl, renderBreadcrumbs, renderPreviousAndNextLinks, renderTableOfContents } from "./navigation.ts";
import { EXAMPLE_FOLDERS, findGuidePath, type GuidePage, PAGES } from "./pages.ts";
import { readPictureSize } from "./picture-size.ts";
import { REFERENCE_URL, renderNavigationTabs } from "./reference/navigation-tabs.ts";
import { renderReferencePage } from "./reference/reference-page.ts";
import { type Heading, type LinkTargets, renderPage } from "./render-markdown.ts";
import { bundleSearchScript } from "./search/bundle-search-script.ts";
import { indexApi, indexPage } from "./search/search-entries.ts";
import type { SearchEntry } from "./search/search-query.ts";

const PICTURES = "docs/pictures/";

type Files = Map<string, string | Buffer>;

export async function buildSite(root: string): Promise<Files> {
  const files: Files = new Map();
  const entries: SearchEntry[] = [];
  const put = (page: GuidePage, title: string, shown: { headings: Heading[]; body: Html }): void => {
    const name = page.path === "" ? "index" : page.path;
    files.set(`guide/${name}.html`, guidePage(page, title, shown));
    entries.push(...indexPage(page, shown.body));
  };
  // The loop appends examples after the pages that link to them, because examples may link to further examples.
  const pages = [...PAGES];
  const publish = (file: string, { section }: GuidePage): GuidePage | undefined => {
    const known = pages.find((page) => page.file === file);
    if (known !== undefined || !isExample(root, file)) return known;
    const page = { file, path: findGuidePath(file), name: file, section };
    pages.push(page);
    return page;
  };
  const readPicture = (name: string): Buffer => {
    const picture = readFileSync(join(root, PICTURES, name));
    files.set(`guide/pictures/${name}`, picture);
    return picture;
  };
  for (const page of pages) {
    const path = join(root, page.file);
    if (statSync(path).isDirectory()) {
      put(page, page.file, {
        headings: [],
        body: html`${titleOf(page)}${fileList(root, page.file, { from: page, publish })}`,
      });
    } else if (page.file.endsWith(".md")) {
      const { title, headings, body } = renderPage(
        readFileSync(path, "utf8"),
        placesOf(page, { publish, readPicture }),
      );
      // A page in examples/ also lists and publishes all files of its folder. A page in deploy/ does not, because
      // deploy/ may contain secrets: its files are published only if a page links to them.
      const isWithFiles = page.file.startsWith("examples/");
      const list = isWithFiles ? fileList(root, posix.dirname(page.file), { from: page, publish }) : "";
      put(page, title, { headings, body: html`${body}${list}` });
    } else put(page, page.file, { headings: [], body: sourceOf(page, readFileSync(path, "utf8")) });
  }
  for (const api of DOCUMENTS) {
    const document = buildDocument(api.api);
    const name = api.pageUrl === REFERENCE_URL ? "index" : posix.basename(api.pageUrl);
    files.set(`${name}.html`, renderReferencePage(api, { document, baseUrl: ADDRESS_PLACEHOLDER, hasStatus: true }));
    entries.push(...indexApi(api, document));
  }
  files.set("not-found.html", notFoundPage());
  const index = JSON.stringify(entries);
  for (const [name, text] of [
    ["search.json", index],
    ["search.js", await bundleSearchScript()],
  ] as const) {
    files.set(name, text).set(`${name}.gz`, gzipSync(text, { level: 9 }));
  }
  return files;
}

/** Writes the site to a temporary folder and renames it, so that readers get the old site meanwhile. */
export function writeSite(files: Files, folder: string): void {
  const fresh = `${folder}-${process.pid}`;
  rmSync(fresh, { recursive: true, force: true });
  for (const [name, content] of files) {
    mkdirSync(dirname(join(fresh, name)), { recursive: true });
    writeFileSync(join(fresh, name), content);
  }
  replaceFolder(folder, fresh);
}

function guidePage(page: GuidePage, title: string, { headings, body }: { headings: Heading[]; body: Html }): string {
  const main = html`<div class="columns">
${renderTableOfContents(page, headings)}
<main id="content" class="guide">
${renderBreadcrumbs(page)}${body}${renderPreviousAndNextLinks(page)}</main>
</div>`;
  const framing = { nav: renderNavigationTabs("guide"), styleUrl: GUIDE_STYLE_URL, hasStatus: true };
  return framePage({ ...framing, title: `${title} · Tollgate`, body: main });
}

const isExample = (root: string, file: string): boolean =>
  EXAMPLE_FOLDERS.some((folder) => file.startsWith(folder)) && existsSync(join(root, file));

/** Returns the title of the page of an example file or folder. */
const titleOf = ({ file }: GuidePage): Html =>
  html`<h1 id="file">${posix.basename(file)}</h1>\n<p><code>${file}</code></p>\n`;

function sourceOf(page: GuidePage, text: string): Html {
  const language = detectLanguage(page.file);
  return html`${titleOf(page)}${codeFigure(page.file, highlight(language, text.trimEnd()), findCaption(language))}\n`;
}

/** Lists every file below a folder and publishes each as a page of its own. */
function fileList(
  root: string,
  folder: string,
  { from, publish }: { from: GuidePage } & Pick<Published, "publish">,
): Html {
  const found = readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join("/"))
    .filter((name) => name !== from.file && !name.includes("node_modules/"));
  const links = found.toSorted().map((name) => {
    const page = publish(name, from);
    return page === undefined
      ? ""
      : html`<li><a href="${buildGuideUrl(page)}">${name.slice(folder.length + 1)}</a></li>\n`;
  });
  return html`<h2 id="files">Files</h2>\n<ul>${links}</ul>\n`;
}

interface Published {
  /**
   * Returns the page of a file; undefined if it has none. Publishes the file if it is an example. `from` is the page
   * that links to it.
   */
  publish(file: string, from: GuidePage): GuidePage | undefined;
  readPicture(name: string): Buffer;
}

function placesOf(from: GuidePage, { publish, readPicture }: Published): LinkTargets {
  const { file } = from;
  const resolve = (path: string): string => posix.join(posix.dirname(file), path);
  return {
    link(address) {
      if (/^([a-z]+:|#)/.test(address)) return address;
      const [path = "", anchor] = address.split("#");
      const target = resolve(path).replace(/\/$/, "");
      const page = publish(`${target}/README.md`, from) ?? publish(target, from);
      return page === undefined ? undefined : `${buildGuideUrl(page)}${anchor === undefined ? "" : `#${anchor}`}`;
    },
    picture(address) {
      const path = resolve(address);
      if (!path.startsWith(PICTURES)) throw new Error(`${file}: pictures are in ${PICTURES}, not ${address}`);
      const name = path.slice(PICTURES.length);
      return { url: `${GUIDE_URL}/pictures/${name}`, ...readPictureSize(readPicture(name)) };
    },
  };
}

function notFoundPage(): string {
  const body = html`<main id="content" class="home">
<h1>Page not found</h1>
<p class="lead">There is no page at this address. It may have moved. Search the docs above, or start here:</p>
<ul class="places">
<li><a href="${GUIDE_URL}"><strong>Guide</strong> For builders, hosts and operators.</a></li>
<li><a href="${REFERENCE_URL}"><strong>API reference</strong> Every endpoint, with examples.</a></li>
<li><a href="/console/"><strong>Console</strong> API keys, credits and the playground.</a></li>
</ul>
</main>`;
  return framePage({ title: "Page not found · Tollgate", nav: renderNavigationTabs(undefined), body, hasStatus: true });
}
