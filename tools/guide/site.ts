/** The guide as files: a page for each of its Markdown files, in the frame of the gateway's own pages, and their pictures. */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { framed, GUIDE_STYLE_URL, GUIDE_URL } from "../../gateway/src/site/reference/frame.ts";
import { type Html, html } from "../../gateway/src/site/reference/html.ts";
import { tabs } from "../../gateway/src/site/reference/tabs.ts";
import { type GuidePage, PAGES, SECTIONS } from "./pages.ts";
import { pictureSize } from "./picture.ts";
import { type Heading, type Places, render } from "./render.ts";

const PICTURES = "docs/pictures/";

/** What the files are, by their paths below the site's folder. */
export function siteOf(root: string): Map<string, string | Buffer> {
  const files = new Map<string, string | Buffer>();
  for (const page of PAGES) {
    const places = placesOf(page, (name) => {
      const picture = readFileSync(join(root, PICTURES, name));
      files.set(`pictures/${name}`, picture);
      return picture;
    });
    const { title, headings, body } = render(readFileSync(join(root, page.file), "utf8"), places);
    const main = html`<div class="columns">
${contents(page, headings)}
<main id="content" class="guide">
${body}</main>
</div>`;
    const name = page.path === "" ? "index" : page.path;
    const framing = { title: `${title} · Tollgate`, nav: tabs(GUIDE_URL), styleUrl: GUIDE_STYLE_URL, hasStatus: true };
    files.set(`${name}.html`, framed({ ...framing, body: main }));
  }
  return files;
}

/** Written beside and then put in place: who reads meanwhile has the one before. */
export function writeSite(files: Map<string, string | Buffer>, folder: string): void {
  const fresh = `${folder}-${process.pid}`;
  rmSync(fresh, { recursive: true, force: true });
  for (const [name, content] of files) {
    mkdirSync(dirname(join(fresh, name)), { recursive: true });
    writeFileSync(join(fresh, name), content);
  }
  rmSync(folder, { recursive: true, force: true });
  renameSync(fresh, folder);
}

const urlOf = ({ path }: GuidePage): string => (path === "" ? GUIDE_URL : `${GUIDE_URL}/${path}`);

function placesOf({ file }: GuidePage, readPicture: (name: string) => Buffer): Places {
  const resolve = (path: string): string => posix.join(posix.dirname(file), path);
  return {
    link(address) {
      if (/^([a-z]+:|#)/.test(address)) return address;
      const [path = "", anchor] = address.split("#");
      const page = PAGES.find((one) => one.file === resolve(path));
      return page === undefined ? undefined : `${urlOf(page)}${anchor === undefined ? "" : `#${anchor}`}`;
    },
    picture(address) {
      const path = resolve(address);
      if (!path.startsWith(PICTURES)) throw new Error(`${file}: pictures are in ${PICTURES}, not ${address}`);
      const name = path.slice(PICTURES.length);
      return { url: `${GUIDE_URL}/pictures/${name}`, ...pictureSize(readPicture(name)) };
    },
  };
}

/** Every page by its section; below the one that is shown, what it has. */
function contents(shown: GuidePage, headings: Heading[]): Html {
  const within = headings.filter(({ level }) => level === 2);
  const below = html`\n<ul class="within">${within.map(({ id, text }) => html`<li><a href="#${id}">${text}</a></li>\n`)}</ul>\n`;
  const link = (page: GuidePage) =>
    page === shown
      ? html`<li><a href="${urlOf(page)}" aria-current="page">${page.name}</a>${within.length === 0 ? "" : below}</li>\n`
      : html`<li><a href="${urlOf(page)}">${page.name}</a></li>\n`;
  return html`<nav class="contents" aria-label="Contents">
<button type="button" class="with-script" aria-expanded="false" aria-controls="contents">Contents</button>
<div id="contents">
${SECTIONS.map(({ name, pages }) => html`<p>${name}</p>\n<ul>${pages.map(link)}</ul>\n`)}</div>
</nav>`;
}
