/** HTML templates that are safe against injection: text in a template is escaped, unless it is already HTML. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Piece = Html | string | number | readonly Piece[];

export function html(parts: TemplateStringsArray, ...pieces: Piece[]): Html {
  return new Html(parts.map((part, i) => part + (i < pieces.length ? render(pieces[i] ?? "") : "")).join(""));
}

function render(piece: Piece): string {
  if (piece instanceof Html) return piece.text;
  if (typeof piece === "object") return piece.map(render).join("");
  return String(piece).replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}

/** Converts the part of Markdown that the API documents use: paragraphs, lists with hyphens, and `code`. */
export function renderMarkdown(text: string): Html {
  const blocks = text.split("\n\n").map((block) => {
    const lines = block.split("\n");
    if (!lines.every((line) => line.startsWith("- "))) return html`<p>${inlineMarkdown(block)}</p>\n`;
    return html`<ul>${lines.map((line) => html`<li>${inlineMarkdown(line.slice(2))}</li>`)}</ul>\n`;
  });
  return html`${blocks}`;
}

export function inlineMarkdown(text: string): Html {
  const pieces = text.split("`").map((piece, i) => (i % 2 === 1 ? html`<code>${piece}</code>` : piece));
  return html`${pieces}`;
}
