/** Cuts SQL into its statements. Comments are left out; quoted text and the bodies of functions stay as they are. */

interface Statement {
  /** Its first line in the file, from 1. */
  line: number;
  /** In one line, without the semicolon; quoted text as it was. */
  text: string;
}

/** A comment, quoted text, a name in quotes, a body in dollars, a semicolon, space, or anything else up to one of these. */
const PIECES =
  /(--[^\n]*|\/\*[\s\S]*?\*\/)|('(?:[^']|'')*'|"[^"]*"|(\$\w*\$)[\s\S]*?\3)|(;)|(\s+)|((?:(?!--|\/\*|\$\w*\$)[^'";\s])+|.)/g;

export function statementsOf(sql: string): Statement[] {
  const statements: Statement[] = [];
  let line = 1;
  let current: Statement | undefined;
  const end = (): void => {
    if (current !== undefined) statements.push({ ...current, text: current.text.trimEnd() });
    current = undefined;
  };
  for (const [piece, comment, , , semicolon, space] of sql.matchAll(PIECES)) {
    if (semicolon !== undefined) end();
    else if (comment !== undefined || space !== undefined) {
      if (current !== undefined && !current.text.endsWith(" ")) current.text += " ";
    } else {
      current ??= { line, text: "" };
      current.text += piece;
    }
    line += piece.split("\n").length - 1;
  }
  end();
  return statements;
}
