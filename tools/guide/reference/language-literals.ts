/** Formats JSON values in the syntax of Python and JavaScript, over several lines if one would be too long. */

const LINE_CHARS_MAX = 80;

type Write = (value: unknown, indent?: string) => string;

/** Formats a value for Python, for example `{"a": True, "b": [1, None]}`. */
export const formatPythonLiteral: Write = (value, indent = "") => {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  return compound(value, { indent, step: "    ", key: (name) => JSON.stringify(name), write: formatPythonLiteral });
};

/** Formats a value for JavaScript, for example `{ a: true, b: [1, null] }`. */
export const formatJavaScriptLiteral: Write = (value, indent = "") =>
  compound(value, {
    indent,
    step: "  ",
    key: (name) => (/^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name)),
    write: formatJavaScriptLiteral,
    room: " ",
  });

interface Form {
  indent: string;
  step: string;
  key: (name: string) => string;
  write: Write;
  /** The space between an object's braces and its content. */
  room?: string;
}

function compound(value: unknown, { indent, step, key, write, room = "" }: Form): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const deeper = indent + step;
  const parts = Array.isArray(value)
    ? value.map((one) => write(one, deeper))
    : Object.entries(value).map(([name, one]) => `${key(name)}: ${write(one, deeper)}`);
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  const gap = Array.isArray(value) || parts.length === 0 ? "" : room;
  const line = `${open}${gap}${parts.join(", ")}${gap}${close}`;
  if (!line.includes("\n") && indent.length + line.length <= LINE_CHARS_MAX) return line;
  return `${open}\n${parts.map((part) => `${deeper}${part},\n`).join("")}${indent}${close}`;
}
