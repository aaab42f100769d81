/**
 * Highlights code with highlight.js, with the docs' own classes and no inline styles. Also marks the placeholders that
 * are replaced for the reader: the gateway inserts its address when it sends the page, the browser inserts the key.
 */
import { createRequire } from "node:module";
import { Html, html } from "../../gateway/src/site/reference/html-template.ts";
import { ADDRESS_PLACEHOLDER } from "../../gateway/src/site/reference/page-frame.ts";

interface Highlighter {
  registerLanguage(name: string, grammar: object): void;
  highlight(text: string, options: { language: string; ignoreIllegals: boolean }): { value: string };
}

// Loaded with `require`, because an import would bring the browser's types (`lib="dom"`) into every file of the
// repository.
const load = createRequire(import.meta.url);
const highlighter: Highlighter = load("highlight.js/lib/core");
const GRAMMARS = "bash dockerfile go ini java json nginx python sql typescript yaml".split(" ");
for (const name of GRAMMARS) highlighter.registerLanguage(name, load(`highlight.js/lib/languages/${name}`));

interface Language {
  /** The language's name in the caption of a block. */
  name: string;
  grammar?: string;
}

/** Languages by the word after a fence, or by the extension of a file. */
const LANGUAGES: Record<string, Language> = {
  sh: { name: "Shell", grammar: "bash" },
  bash: { name: "Shell", grammar: "bash" },
  curl: { name: "curl", grammar: "bash" },
  json: { name: "JSON", grammar: "json" },
  yaml: { name: "YAML", grammar: "yaml" },
  yml: { name: "YAML", grammar: "yaml" },
  ts: { name: "TypeScript", grammar: "typescript" },
  typescript: { name: "TypeScript", grammar: "typescript" },
  js: { name: "JavaScript", grammar: "typescript" },
  mjs: { name: "JavaScript", grammar: "typescript" },
  python: { name: "Python", grammar: "python" },
  py: { name: "Python", grammar: "python" },
  go: { name: "Go", grammar: "go" },
  java: { name: "Java", grammar: "java" },
  ini: { name: "INI", grammar: "ini" },
  toml: { name: "TOML", grammar: "ini" },
  service: { name: "systemd unit", grammar: "ini" },
  nginx: { name: "nginx", grammar: "nginx" },
  sql: { name: "SQL", grammar: "sql" },
  dockerfile: { name: "Dockerfile", grammar: "dockerfile" },
  text: { name: "Text" },
  "": { name: "Text" },
};

const BY_FILE: Record<string, string> = { Dockerfile: "dockerfile", "nginx.conf": "nginx" };

export function detectLanguage(file: string): string {
  const name = file.slice(file.lastIndexOf("/") + 1);
  const end = name.slice(name.lastIndexOf(".") + 1);
  return BY_FILE[name] ?? (Object.hasOwn(LANGUAGES, end) ? end : "text");
}

export const findCaption = (language: string): string => LANGUAGES[language]?.name ?? language;

/** The address in the docs that is replaced with the reader's own. */
export const LOCAL_ADDRESS = "http://127.0.0.1:8080";
const SECRET = /tsk_live_your_key|tht_live_your_token/g;
/** Wraps a placeholder of a secret in an element that names the kind of account it belongs to. */
const secretPlace = (secret: string): string =>
  `<span data-key="${secret.startsWith("tsk") ? "builder" : "host"}">${secret}</span>`;

/** Longer files, such as dashboards of 100 KB, are not highlighted. In characters. */
const CHARS_MAX = 50_000;

export function highlight(language: string, text: string): Html {
  const grammar = LANGUAGES[language]?.grammar;
  const filled = text.replaceAll(LOCAL_ADDRESS, ADDRESS_PLACEHOLDER);
  const coloured =
    grammar === undefined || text.length > CHARS_MAX
      ? html`${filled}`.text
      : withOwnClasses(highlighter.highlight(filled, { language: grammar, ignoreIllegals: true }).value);
  // The prompt is not part of the command: neither a selection nor the copy button includes it.
  const prompted = coloured.replaceAll(/^\$ /gm, '<span class="prompt">$ </span>');
  return new Html(prompted.replaceAll(SECRET, secretPlace));
}

/** Maps highlight.js's scopes to six classes. Scopes without an entry keep the class of their surroundings. */
const CLASSES: Record<string, string> = {
  comment: "c",
  quote: "c",
  keyword: "k",
  literal: "k",
  built_in: "k",
  type: "k",
  "selector-tag": "k",
  string: "s",
  regexp: "s",
  number: "n",
  attr: "a",
  attribute: "a",
  variable: "a",
  symbol: "a",
  bullet: "a",
  section: "f",
  title: "f",
  meta: "c",
  // Code inside a string, such as `${x}`.
  subst: "x",
};

function withOwnClasses(coloured: string): string {
  /** The open scopes of highlight.js; undefined stands for a scope without a class of its own. */
  const open: (string | undefined)[] = [];
  return coloured.replaceAll(/<span class="hljs-([\w-]+)[^"]*">|<\/span>/g, (_tag, scope?: string) => {
    if (scope === undefined) return open.pop() === undefined ? "" : "</span>";
    const named = CLASSES[scope];
    const own = named === open.findLast((one) => one !== undefined) ? undefined : named;
    open.push(own);
    return own === undefined ? "" : `<span class="${own}">`;
  });
}
