/**
 * Measures the layout of the current page: no amount is broken over two lines, no table is wider than its card, every
 * figure in a row of figures is on one line, and a dialog shades the drawer from which it was opened.
 */
import assert from "node:assert/strict";
import type { Page } from "playwright-core";

/**
 * Helper functions that run in the page. A word is text without white space, even across several inline elements
 * (digits below a cent are smaller). A run is a sequence of words that a block wraps into lines.
 */
const IN_PAGE = `
  const blocks = new Map();
  const blockOf = (element) => {
    if (!blocks.has(element)) blocks.set(element, getComputedStyle(element).display === "inline" ? blockOf(element.parentElement) : element);
    return blocks.get(element);
  };
  const runsOf = (element) => {
    const runs = [];
    let [run, block, open] = [undefined, undefined, false];
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
    while (walker.nextNode()) {
      const node = walker.currentNode;
      if (node.nodeType === Node.ELEMENT_NODE) {
        if (node.tagName === "BR") block = undefined;
        continue;
      }
      if (blockOf(node.parentElement) !== block) {
        block = blockOf(node.parentElement);
        run = [];
        runs.push(run);
        open = false;
      }
      for (const { 0: text, index } of node.data.matchAll(/\\s+|\\S+/g)) {
        if (/\\s/.test(text)) {
          open = false;
          continue;
        }
        const range = document.createRange();
        range.setStart(node, index);
        range.setEnd(node, index + text.length);
        const rects = [...range.getClientRects()].filter(({ width }) => width > 0);
        if (rects.length === 0) continue;
        if (open) {
          run.at(-1).text += text;
          run.at(-1).rects.push(...rects);
        } else run.push({ text, rects });
        open = true;
      }
    }
    return runs;
  };
  const besides = (a, b) => {
    const middle = ({ top, bottom }) => (top + bottom) / 2;
    return (middle(a) > b.top && middle(a) < b.bottom) || (middle(b) > a.top && middle(b) < a.bottom);
  };
  const isWhole = ({ rects }) => rects.every((rect) => besides(rects[0], rect));
  const said = (element) => element.textContent.trim().slice(0, 80);
`;

/** Matches a number with its sign, currency and punctuation. */
const AMOUNT = String.raw`/^[(+\-−]*\$?\d[\d,.]*%?[),.;:]*$/`;
/** Matches punctuation that belongs to the number before it. */
const END = "/^%?[),.;:]*$/";

const BROKEN_AMOUNTS = `(() => {
  ${IN_PAGE}
  const found = [];
  for (const cell of document.querySelectorAll("td, li, dd")) {
    if (!/[\\d%]/.test(cell.textContent) || cell.querySelector("td, li, dd") !== null) continue;
    for (const run of runsOf(cell)) {
      for (const [i, word] of run.entries()) {
        const ofLast = i > 0 && ${END}.test(word.text) && /\\d$/.test(run[i - 1].text);
        const alone = ofLast && !besides(run[i - 1].rects.at(-1), word.rects[0]);
        if (alone || (${AMOUNT}.test(word.text) && !isWhole(word))) found.push(word.text + " in: " + said(cell));
      }
    }
  }
  return found;
})()`;

/** Returns the amounts in table cells, list items and values of the current page that are broken over two lines. */
export const findBrokenAmounts = (page: Page): Promise<string[]> => page.evaluate(BROKEN_AMOUNTS);

/**
 * A wide table does not make the page scroll: it covers its card's padding or border. The tables of docs and status page
 * scroll in a box of their own.
 */
const WIDE_TABLES = `[...document.querySelectorAll("table")]
  .filter((table) => table.offsetWidth > table.parentElement.clientWidth && getComputedStyle(table.parentElement).overflowX === "visible")
  .map((table) => (table.ariaLabel ?? "a table") + ": " + table.offsetWidth + " of " + table.parentElement.clientWidth + " pixels")`;

/** Returns the tables of the current page that are wider than the element that contains them. */
export const findWideTables = (page: Page): Promise<string[]> => page.evaluate(WIDE_TABLES);

/**
 * Only marked figures are compared: amounts in sentences are rounded. A dialog and the page below it are checked
 * separately.
 */
const UNEVEN_DECIMALS = `(() => {
  const found = [];
  for (const surface of document.querySelectorAll("main, [role=dialog]")) {
    const figures = [...surface.querySelectorAll("data[data-figure]")];
    const decimals = ({ textContent }) => (/[.,](\\d+)$/.exec(textContent)?.[1] ?? "").length;
    const some = new Map(figures.map((figure) => [decimals(figure), figure.textContent]));
    if (some.size > 1) found.push([...some.values()].join(" beside "));
  }
  return found;
})()`;

/** Returns amounts with different numbers of decimals on one page, drawer or dialog. */
export const findUnevenDecimals = (page: Page): Promise<string[]> => page.evaluate(UNEVEN_DECIMALS);

const WRAPPED_FIGURES = `(() => {
  ${IN_PAGE}
  const rows = [...document.querySelectorAll("dl[aria-label]")];
  const figures = rows.flatMap((row) => [...row.children].map((figure) => figure.querySelector("dd"))).filter(Boolean);
  const isWrapped = (figure) => runsOf(figure).some((run) => !isWhole({ rects: run.flatMap(({ rects }) => rects) }));
  // The digits below a cent: after a few requests they are fewer than they will be.
  const finer = figures.flatMap((figure) => [...figure.querySelectorAll("data > span:last-child")]).map(({ firstChild }) => firstChild);
  const before = finer.map(({ data }) => data);
  for (const text of finer) text.data = "12345678";
  const wrapped = figures.filter(isWrapped).map(said);
  for (const [i, text] of finer.entries()) text.data = before[i];
  return { figures: figures.length, amounts: finer.length, wrapped };
})()`;

interface Figures {
  figures: number;
  /** The number of figures that are amounts with digits below a cent. */
  amounts: number;
  wrapped: string[];
}

/** Checks that every figure in a row of figures is on one line, even if its amounts had eight digits below a cent. */
export async function assertFiguresOnOneLine(page: Page, where: string): Promise<void> {
  const { figures, amounts, wrapped } = await page.evaluate<Figures>(WRAPPED_FIGURES);
  assert.ok(figures > 0 && amounts > 0, `${where}: ${figures} figures, ${amounts} amounts`);
  assert.deepEqual(wrapped, [], `${where}: figures on two lines`);
}

const UNSHADED = `(() => {
  const [drawer, dialog] = document.querySelectorAll("[role=dialog]");
  const [below, above] = [drawer, dialog].map((one) => one.getBoundingClientRect());
  const [x, y] = [
    [below.left + 4, below.top + 4],
    [below.right - 4, below.bottom - 4],
  ].find(([x, y]) => x < above.left || x > above.right || y < above.top || y > above.bottom);
  // What is covered takes no clicks, and what takes no clicks is not found at a point.
  const before = drawer.style.pointerEvents;
  drawer.style.setProperty("pointer-events", "auto", "important");
  const top = document.elementFromPoint(x, y);
  drawer.style.pointerEvents = before;
  return drawer.contains(top);
})()`;

/** Checks that the open dialog shades the drawer below it, wherever the dialog does not cover the drawer. */
export async function assertDrawerIsShaded(page: Page): Promise<void> {
  assert.equal(await page.locator("[role=dialog]").count(), 2, "a drawer, and a dialog over it");
  assert.equal(await page.evaluate(UNSHADED), false, "the drawer lies above the dialog's shade");
}
