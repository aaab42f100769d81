/**
 * The common frame of the pages that the gateway itself creates: HTML head, header with the logo, and main part, styled
 * like the console.
 */
import { type Html, html } from "./html-template.ts";

export const STYLE_URL = "/docs/reference.css";
export const SCRIPT_URL = "/docs/reference.js";
export const LOGO_URL = "/docs/mark.svg";
export const GUIDE_URL = "/docs/guide";
export const GUIDE_STYLE_URL = "/docs/guide.css";
export const OWN_KEY_SCRIPT_URL = "/docs/own-key.js";
/** The search script and index are built with the pages, and fetched at the first search. */
const SEARCH_SCRIPT_URL = "/docs/search.js";
const SEARCH_INDEX_URL = "/docs/search.json";

/** Stands for the gateway's address in built pages, which do not contain the real address. */
export const ADDRESS_PLACEHOLDER = "https://address.invalid";

const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** Security headers for every page that the gateway itself creates. */
export const SECURITY_HEADERS = {
  "content-security-policy": POLICY,
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

interface Framed {
  title: string;
  /** The navigation between the logo and the links. */
  nav?: Html;
  body: Html;
  /** The page's own style sheet, in addition to the common one. */
  styleUrl?: string;
  /** Whether this gateway has a public status page. */
  hasStatus: boolean;
}

export const STATUS_URL = "/status";
const STATUS_LINK = html`<li><a href="${STATUS_URL}">Status</a></li>\n`;

/** Removes the link to the status page from a built page. */
export const removeStatusLink = (page: string): string => page.replace(STATUS_LINK.text, "");

/** A whole page. It works without the script, which adds the theme, copy buttons, the choice of language and search. */
export function framePage({ title, nav, body, styleUrl, hasStatus }: Framed): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="${LOGO_URL}" type="image/svg+xml">
<link rel="stylesheet" href="${STYLE_URL}">
${styleUrl === undefined ? "" : html`<link rel="stylesheet" href="${styleUrl}">\n`}<script src="${SCRIPT_URL}"></script>
</head>
<body>
<a class="skip" href="#content">Skip to content</a>
<header>
<a class="brand" href="/">${MARK}Tollgate</a>
${nav === undefined ? "" : html`${nav}\n${SEARCH}`}
<nav class="elsewhere" aria-label="Tollgate">
<ul>
${nav === undefined ? html`<li><a href="/docs">Docs</a></li>\n` : ""}${hasStatus ? STATUS_LINK : ""}<li><a class="button" href="/console/">Console</a></li>
</ul>
</nav>
<div class="theme with-script">
<svg aria-hidden="true" viewBox="0 0 16 16"><circle cx="8" cy="8" r="6.25" fill="none" stroke="currentColor" stroke-width="1.5"></circle><path d="M8 2a6 6 0 0 1 0 12z" fill="currentColor"></path></svg>
<select aria-label="Theme">
<option value="system">System</option>
<option value="light">Light</option>
<option value="dark">Dark</option>
</select>
</div>
</header>
${body}
</body>
</html>
`.text;
}

const MARK = html`<svg aria-hidden="true" viewBox="0 0 32 32" class="mark"><rect width="32" height="32" rx="8"></rect><path d="M8 10h16M16 10v13" stroke-width="3.2" stroke-linecap="round"></path><circle cx="16" cy="23" r="2.6"></circle></svg>`;

/** The search field. The script loads the index at the first search and fills the list of results. */
const SEARCH = html`<div class="search with-script" role="search">
<input id="search" type="search" role="combobox" aria-label="Search the docs" aria-autocomplete="list" aria-expanded="false" aria-controls="search-results" autocomplete="off" spellcheck="false" placeholder="Search" data-script="${SEARCH_SCRIPT_URL}" data-index="${SEARCH_INDEX_URL}">
<kbd aria-hidden="true">/</kbd>
<div class="found" hidden><div id="search-results" role="listbox" aria-label="Search results"></div><p role="status"></p></div>
</div>`;

/** A block of code with a copy button. It can be focused, so that wide lines can be scrolled with the keyboard. */
export function codeFigure(label: string, text: Html | string, caption = label): Html {
  return html`<figure class="code">${inside(label, text, caption)}</figure>`;
}

/** A block with a command's output, without a copy button. */
export function outputBlock(label: string, text: Html | string): Html {
  return html`<figure class="code output">${inside(label, text, "Output")}</figure>`;
}

export interface CodeSample {
  language: "curl" | "python" | "typescript";
  text: string;
}

type Highlight = (language: string, text: string) => Html;

const LANGUAGES: Record<CodeSample["language"], string> = { curl: "curl", python: "Python", typescript: "TypeScript" };

/** The same code sample in several languages. The script shows only the chosen language; without it, all are shown. */
export function samplesBlock(label: string, samples: readonly CodeSample[], highlight: Highlight): Html {
  const each = samples.map(({ language, text }) => {
    const name = LANGUAGES[language];
    const code = highlight(language, text);
    return html`<figure class="code" data-language="${language}">${inside(`${label} with ${name}`, code, name)}</figure>\n`;
  });
  return html`<div class="samples">\n${each}</div>`;
}

function inside(label: string, text: Html | string, caption: string): Html {
  return html`<figcaption><span>${caption}</span></figcaption><pre tabindex="0" role="group" aria-label="${label}"><code>${text}</code></pre>`;
}
