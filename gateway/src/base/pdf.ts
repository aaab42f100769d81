/**
 * Writes PDF documents: a title, facts and tables on A4 pages, in a standard font. Only ASCII is written, so a file is text. Characters
 * that the font lacks become question marks. Pure.
 */

/** A column's heading, alignment and width. */
export interface PdfColumn {
  title: string;
  /** The width as a share of the page's width. */
  width: number;
  right?: boolean;
}

export interface PdfTable {
  title: string;
  columns: PdfColumn[];
  rows: string[][];
  /** The last row, below a line, for totals. */
  total?: string[];
  /** The text to show if the table has no rows. */
  empty: string;
}

export interface PdfDocument {
  title: string;
  /** Pairs of name and value, below the title. */
  facts: [string, string][];
  tables: PdfTable[];
  /** Lines of text at the end of the document. */
  notes: string[];
}

/** The page size (A4) in points. */
const PAGE = { width: 595, height: 842 };
const MARGIN = 50;
const WIDTH = PAGE.width - 2 * MARGIN;
const TOP = PAGE.height - MARGIN;
/** The lowest position of the content. The page number is below it. */
const BOTTOM = MARGIN + 30;
const LINE = 15;
const CELL_GAP = 8;
const SIZE = 9;

type Font = "F1" | "F2";

/** Widths of Helvetica from space to tilde, in thousandths of the font size. */
const WIDTHS = [
  278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556, 556,
  556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833,
  722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556,
  556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334,
  260, 334, 584,
];
const USUAL_WIDTH = 556;

const widthOf = (text: string): number =>
  ([...text].reduce((sum, letter) => sum + (WIDTHS[letter.charCodeAt(0) - 32] ?? USUAL_WIDTH), 0) * SIZE) / 1000;

/** Cuts a text that is too wide and adds three dots. */
function fitted(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  const letters = [...text];
  while (letters.length > 0 && widthOf(`${letters.join("")}...`) > width) letters.pop();
  return `${letters.join("")}...`;
}

/** Writes a string as Latin-1, which the font's encoding also uses for these characters. */
function literal(text: string): string {
  const bytes = Buffer.from(
    text.replaceAll(/[\u2013\u2014\u2212]/g, "-").replaceAll(/[^\x20-\x7e\xa0-\xff]/gu, "?"),
    "latin1",
  );
  return [...bytes]
    .map((byte) => {
      const letter = String.fromCharCode(byte);
      if (byte > 0x7e) return `\\${byte.toString(8)}`;
      return "()\\".includes(letter) ? `\\${letter}` : letter;
    })
    .join("");
}

/** Draws from the top of a page to its bottom, and starts a new page when one is full. */
class Pages {
  readonly pages: string[][] = [[]];
  y = TOP;

  /** Starts a new page if there is less space than this height. Returns whether it did. */
  need(height: number): boolean {
    if (this.y - height >= BOTTOM) return false;
    this.pages.push([]);
    this.y = TOP;
    return true;
  }

  text(text: string, x: number, { font = "F1", size = SIZE }: { font?: Font; size?: number } = {}): void {
    this.#draw(`BT /${font} ${size} Tf ${x.toFixed(2)} ${this.y.toFixed(2)} Td (${literal(text)}) Tj ET`);
  }

  line(): void {
    const y = (this.y + LINE - 4).toFixed(2);
    this.#draw(`0.6 w 0.7 G ${MARGIN} ${y} m ${PAGE.width - MARGIN} ${y} l S`);
  }

  down(by = LINE): void {
    this.y -= by;
  }

  #draw(operation: string): void {
    this.pages.at(-1)?.push(operation);
  }
}

export function writePdf(document: PdfDocument): string {
  const pages = new Pages();
  pages.down(10);
  pages.text(document.title, MARGIN, { font: "F2", size: 18 });
  pages.down(2 * LINE);
  for (const [name, value] of document.facts) {
    pages.text(name, MARGIN);
    pages.text(value, MARGIN + 110);
    pages.down();
  }
  for (const table of document.tables) drawTable(pages, table);
  pages.down();
  for (const note of document.notes) {
    pages.need(LINE);
    pages.text(note, MARGIN, { size: 8 });
    pages.down(12);
  }
  return fileOf(document.title, pages.pages);
}

function drawTable(pages: Pages, { title, columns, rows, total, empty }: PdfTable): void {
  // Keeps a heading on the same page as at least one row.
  pages.need(5 * LINE);
  pages.down();
  pages.text(title, MARGIN, { font: "F2", size: 11 });
  pages.down(1.4 * LINE);
  if (rows.length === 0) {
    pages.text(empty, MARGIN);
    pages.down();
    return;
  }
  const titles = columns.map((column) => column.title);
  drawRow(pages, columns, titles);
  pages.line();
  for (const row of rows) {
    if (pages.need(LINE)) {
      drawRow(pages, columns, titles);
      pages.line();
    }
    drawRow(pages, columns, row);
  }
  if (total === undefined) return;
  pages.need(LINE);
  pages.line();
  drawRow(pages, columns, total);
}

function drawRow(pages: Pages, columns: PdfColumn[], cells: string[]): void {
  const shares = columns.reduce((sum, { width }) => sum + width, 0);
  let x = MARGIN;
  for (const [index, { width, right = false }] of columns.entries()) {
    const room = (WIDTH * width) / shares;
    const text = fitted(cells[index] ?? "", room - CELL_GAP);
    pages.text(text, right ? x + room - widthOf(text) : x);
    x += room;
  }
  pages.down();
}

/**
 * Writes the objects of the file: the catalog, the list of pages, two fonts, the document's properties, then each page
 * with its drawing commands.
 */
function fileOf(title: string, pages: string[][]): string {
  const first = 6;
  const pageAt = (index: number): number => first + 2 * index;
  const font = (name: string): string =>
    `<< /Type /Font /Subtype /Type1 /BaseFont /${name} /Encoding /WinAnsiEncoding >>`;
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R /Lang (en) /ViewerPreferences << /DisplayDocTitle true >> >>",
    `<< /Type /Pages /Count ${pages.length} /Kids [${pages.map((_, index) => `${pageAt(index)} 0 R`).join(" ")}] >>`,
    font("Helvetica"),
    font("Helvetica-Bold"),
    `<< /Title (${literal(title)}) /Producer (Tollgate) >>`,
    ...pages.flatMap((operations, index) => {
      const number = `BT /F1 8 Tf ${MARGIN} ${MARGIN} Td (Page ${index + 1} of ${pages.length}) Tj ET`;
      const drawn = [...operations, number].join("\n");
      return [
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${PAGE.width} ${PAGE.height}] /Contents ${pageAt(index) + 1} 0 R ` +
          "/Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> >>",
        `<< /Length ${drawn.length} >>\nstream\n${drawn}\nendstream`,
      ];
    }),
  ];
  let file = "%PDF-1.4\n";
  const places = objects.map((object, index) => {
    const place = file.length;
    file += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return place;
  });
  const begin = file.length;
  const entries = places.map((place) => `${String(place).padStart(10, "0")} 00000 n \n`).join("");
  return (
    `${file}xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${entries}` +
    `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R /Info 5 0 R >>\nstartxref\n${begin}\n%%EOF\n`
  );
}
