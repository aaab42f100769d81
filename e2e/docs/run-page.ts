/** Runs a page's code blocks in order, and compares their output with the output on the page. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findCredentials } from "../../tools/doc-tests/fill-placeholders.ts";
import { formatSideBySide, matchesOutput } from "../../tools/doc-tests/match-output.ts";
import { type CodeBlock, readPage, selectRunnableBlocks } from "../../tools/doc-tests/read-page.ts";
import { explainSkip, installPackagesFor } from "./packages.ts";
import { openPageEnvironment, type PageEnvironment } from "./page-environment.ts";
import { type BlockFailure, ShellSession } from "./shell-session.ts";

interface Report {
  ran: number;
  /** The skipped blocks, as `file:line: reason`. */
  leftOut: string[];
}

/**
 * Runs a page. Throws if a block's result differs from the page. `file` is the path from the root of the repository.
 */
export async function runPage(root: string, file: string): Promise<Report> {
  const page = readPage(readFileSync(join(root, file), "utf8"));
  if (page.mistakes.length > 0) throw new Error(page.mistakes.map((mistake) => `${file}, ${mistake}`).join("\n"));
  const at = ({ line }: { line: number }): string => `${file}:${line}`;
  const leftOut = page.blocks.flatMap((block) => (block.noRun === undefined ? [] : [`${at(block)}: ${block.noRun}`]));
  const blocks = selectRunnableBlocks(page);
  if (page.kind === "none" || blocks.length === 0) return { ran: 0, leftOut };
  const packages = await installPackagesFor(blocks, root);
  const possible = blocks.filter((block) => {
    const why = explainSkip(block, packages, root);
    if (why !== undefined) leftOut.push(`${at(block)}: ${why}`);
    return why === undefined;
  });
  if (possible.length === 0) return { ran: 0, leftOut };
  const text = blocks.map((block) => block.text).join("");
  const surroundings = await openPageEnvironment({ kind: page.kind, text, packages, root });
  try {
    await runBlocks(possible, surroundings, file);
  } finally {
    await surroundings.close();
  }
  return { ran: possible.length, leftOut };
}

type Place = Pick<PageEnvironment, "folder" | "scratch" | "env" | "fill" | "learn">;

export async function runBlocks(blocks: CodeBlock[], place: Place, file: string): Promise<void> {
  const session = new ShellSession(place);
  try {
    for (const block of blocks) {
      const script = scriptOf({ ...block, text: place.fill(block.text) }, place);
      const { background } = block;
      const ended = await (background === undefined ? session.run(script) : session.start(script, background));
      if ("why" in ended) throw new Error(failureText(file, block, ended));
      if (background !== undefined) place.learn(findCredentials(ended.stdout));
      if (block.output === undefined) continue;
      const expected = place.fill(block.output.text);
      if (!matchesOutput(expected, ended.stdout)) throw new Error(differenceText(file, block, expected, ended.stdout));
    }
  } finally {
    await session.close();
  }
}

/**
 * Returns the shell script that runs a block. A TypeScript block becomes a file below the page's folder, where its
 * imports are found. `python3` is found through the session's PATH, so an environment that the page activated is used.
 */
function scriptOf({ language, text, line }: CodeBlock, { folder, scratch }: Place): string {
  if (language === "sh") return text;
  if (language === "ts") {
    mkdirSync(join(folder, ".doctest"), { recursive: true });
    const program = join(folder, ".doctest", `line-${line}.ts`);
    writeFileSync(program, text);
    return `node '${program}'`;
  }
  const program = join(scratch, `line-${line}.py`);
  writeFileSync(program, text);
  return `python3 '${program}'`;
}

function failureText(file: string, block: CodeBlock, { why, line, command, stdout, stderr }: BlockFailure): string {
  // The line of the failure is known only in shell blocks. In other languages, the program's error names it.
  const isShell = block.language === "sh" && line !== undefined;
  const at = isShell ? block.line + line : block.line;
  return [
    `${file}:${at}: ${isShell ? "the command" : "the block"} ${why}`,
    indented(isShell ? command : block.text),
    ...(stdout.trim() === "" ? [] : ["  it printed:", indented(stdout)]),
    ...(stderr.trim() === "" ? [] : ["  its errors:", indented(stderr)]),
  ].join("\n");
}

function differenceText(file: string, { line, text, output, background }: CodeBlock, expected: string, actual: string) {
  return [
    `${file}:${line}: the output is not what the page says (line ${output?.line})`,
    indented(text),
    indented(formatSideBySide(expected, actual)),
    ...(background === undefined
      ? []
      : [`  compared up to the line with "${background}": name the last line that is shown`]),
  ].join("\n");
}

const indented = (text: string): string => text.trimEnd().replaceAll(/^/gm, "    ");
