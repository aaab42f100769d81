/** Splits SQL into statements and removes comments. Quoted text and function bodies stay unchanged. */

interface Statement {
  /** The statement's first line in the file, counted from 1. */
  line: number;
  /** The statement on one line, without the semicolon. */
  text: string;
}

/** Matches a comment, quoted text, a quoted name, a dollar-quoted body, a semicolon, white space, or other text up to one of these. */
const PIECES =
  /(--[^\n]*|\/\*[\s\S]*?\*\/)|('(?:[^']|'')*'|"[^"]*"|(\$\w*\$)[\s\S]*?\3)|(;)|(\s+)|((?:(?!--|\/\*|\$\w*\$)[^'";\s])+|.)/g;

export function splitStatements(sql: string): Statement[] {
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
