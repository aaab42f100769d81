/** Plain HTML pages without scripts or external resources. Inserted text is escaped. */

/** Text that is already markup, so it is not escaped. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Part = string | number | Html | Html[];

/** A template tag that escapes inserted values unless they are markup. */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  return new Html(strings.map((text, i) => text + (i < parts.length ? render(parts[i] as Part) : "")).join(""));
}

function render(part: Part): string {
  if (part instanceof Html) return part.text;
  if (Array.isArray(part)) return part.map(({ text }) => text).join("");
  return String(part).replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}

export const formatDollars = (cents: number): string => `$${(cents / 100).toFixed(2)}`;

const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { margin: 0 auto; padding: 1.5rem; max-width: 72rem }
main { display: block }
.notice { border: 1px solid; border-radius: .5rem; padding: .5rem 1rem }
.card { max-width: 28rem; margin: 2rem auto; border: 1px solid; border-radius: .5rem; padding: 1rem 1.5rem 1.5rem }
.price { font-size: 2rem; margin: .5rem 0 }
form { display: inline-block; margin: .25rem .25rem .25rem 0 }
button { font: inherit; padding: .5rem 1rem; min-height: 2.75rem; cursor: pointer }
input { font: inherit; padding: .5rem; width: 6rem }
button:focus-visible, a:focus-visible, input:focus-visible { outline: 3px solid; outline-offset: 2px }
.wide { overflow-x: auto }
table { border-collapse: collapse; width: 100% }
caption { text-align: left; font-weight: 600; font-size: 1.25rem; padding: .5rem 0 }
th, td { text-align: left; vertical-align: top; padding: .5rem; border-top: 1px solid }
code { font-size: .85em; overflow-wrap: anywhere }`;

export function renderPage(title: string, content: Html): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${render(title)}</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
</head>
<body>
<p class="notice" role="note"><strong>Demonstration.</strong> This page stands in for the payment provider. No money moves.</p>
<main>${content.text}</main>
</body>
</html>
`;
}
