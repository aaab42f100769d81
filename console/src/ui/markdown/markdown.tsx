/**
 * Renders Markdown as React elements. The browser never parses HTML from a model: output becomes text or one of the
 * elements below. Blocks that do not change while an answer grows are not rendered again.
 */

import { memo, type ReactNode, useState } from "react";
import { CopyButton } from "../copy.tsx";
import { ImageOff } from "../icons.tsx";
import { type Block, type Inline, markdownReader } from "./parse-markdown.ts";
import { blockSplitter } from "./split-blocks.ts";

/**
 * The size limit in characters. Longer text is shown as plain text, because too many elements would slow the page down.
 */
export const MARKDOWN_CHARS_MAX = 200_000;

const reader = markdownReader();

export function Markdown({ text }: { text: string }) {
  const [piecesOf] = useState(() => blockSplitter(reader.starts));
  return (
    <div className="flex flex-col gap-3 leading-relaxed wrap-anywhere">
      {piecesOf(text).map((source, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a text only grows at its end
        <Piece key={at} source={source} />
      ))}
    </div>
  );
}

/** One block of Markdown. React renders it again only if its source text changes. */
const Piece = memo(({ source }: { source: string }) => <Drawn blocks={reader.read(source)} />);

const Blocks = ({ blocks }: { blocks: Block[] }) => (
  <div className="flex flex-col gap-3">
    <Drawn blocks={blocks} />
  </div>
);

const Drawn = ({ blocks }: { blocks: Block[] }) =>
  blocks.map((block, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a text only grows at its end
    <BlockView key={at} block={block} />
  ));

const HEADING_SIZES = ["text-xl", "text-lg", "text-base"];

function BlockView({ block }: { block: Block }) {
  switch (block.kind) {
    case "code":
      return <Code language={block.language} text={block.text} />;
    case "heading":
      // All headings have the same level: models skip levels, and the page's own headings are above them.
      return (
        <h3 className={`mt-1 font-semibold tracking-tight ${HEADING_SIZES[block.level - 1] ?? "text-sm"}`}>
          <Parts nodes={block.words.nodes} />
        </h3>
      );
    case "paragraph":
      return (
        <p>
          <Parts nodes={block.words.nodes} />
        </p>
      );
    case "quote":
      return (
        <blockquote className="border-l-2 border-line-strong/60 pl-3.5 text-ink-soft">
          <Blocks blocks={block.blocks} />
        </blockquote>
      );
    case "list":
      return <List block={block} />;
    case "table":
      return <TableView block={block} />;
    case "rule":
      return <hr className="border-line" />;
  }
}

function List({ block: { start, items } }: { block: Block & { kind: "list" } }) {
  const children = items.map((item, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a text only grows at its end
    <li key={at} className="pl-1">
      <Blocks blocks={item} />
    </li>
  ));
  const look = "flex list-outside flex-col gap-1.5 pl-5 marker:text-ink-soft";
  if (start === undefined) return <ul className={`list-disc ${look}`}>{children}</ul>;
  return (
    <ol start={start} className={`list-decimal ${look}`}>
      {children}
    </ol>
  );
}

const ALIGNED = { left: "text-left", center: "text-center", right: "text-right" };

function TableView({ block: { columns, head, rows } }: { block: Block & { kind: "table" } }) {
  const look = (column: number): string => `border-line px-3 py-1.5 align-top ${ALIGNED[columns[column] ?? "left"]}`;
  return (
    <Scrolling label="Table">
      <table className="text-sm">
        <thead className="bg-sunken">
          <tr>
            {head.map((cell, column) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: columns have no other name
              <th key={column} scope="col" className={`font-medium ${look(column)}`}>
                <Parts nodes={cell.nodes} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a text only grows at its end
            <tr key={at} className="border-t border-line">
              {row.map((cell, column) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: columns have no other name
                <td key={column} className={look(column)}>
                  <Parts nodes={cell.nodes} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolling>
  );
}

/** A code block with the name of its language and a copy button. */
export function Code({ language, text }: { language: string; text: string }) {
  const name = language === "" ? "code" : language;
  return (
    <div className="overflow-hidden rounded-md border border-line bg-sunken">
      <div className="flex items-center justify-between gap-2 border-b border-line pr-1 pl-3">
        <span className="min-w-0 truncate font-mono text-xs text-ink-soft">{name}</span>
        <CopyButton text={text} label={`Copy this ${name === "code" ? name : `${name} code`}`} />
      </div>
      <Scrolling label={`${name} block`} bare>
        <pre className="w-max min-w-full px-3.5 py-3 font-mono text-xs leading-relaxed">
          <code>{text}</code>
        </pre>
      </Scrolling>
    </div>
  );
}

/** Wide content scrolls within a focusable box, so that users can scroll it by keyboard. */
const Scrolling = ({ label, bare = false, children }: { label: string; bare?: boolean; children: ReactNode }) => (
  <section
    aria-label={label}
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    tabIndex={0}
    className={bare ? "overflow-x-auto" : "w-fit max-w-full overflow-x-auto rounded-md border border-line"}
  >
    {children}
  </section>
);

const Parts = ({ nodes }: { nodes: Inline[] }) =>
  nodes.map((node, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a text only grows at its end
    <Part key={at} node={node} />
  ));

function Part({ node }: { node: Inline }): ReactNode {
  switch (node.kind) {
    case "text":
      return node.text;
    case "break":
      return <br />;
    case "code":
      return <code className="rounded bg-sunken px-1 py-0.5 font-mono text-[0.85em]">{node.text}</code>;
    case "strong":
      return (
        <strong className="font-semibold">
          <Parts nodes={node.inside} />
        </strong>
      );
    case "emphasis":
      return (
        <em>
          <Parts nodes={node.inside} />
        </em>
      );
    case "strike":
      return (
        <s>
          <Parts nodes={node.inside} />
        </s>
      );
    case "link":
      return (
        <a
          href={node.address}
          target="_blank"
          rel="noopener noreferrer"
          title={node.image ? `Image not loaded: ${node.address}` : node.address}
          className="text-accent underline underline-offset-2"
        >
          {node.image && <ImageOff role="img" aria-label="Image:" className="mr-1 inline size-3.5 align-text-bottom" />}
          <Parts nodes={node.inside} />
        </a>
      );
  }
}
