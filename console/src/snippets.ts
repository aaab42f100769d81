/** The same request as curl, Python and TypeScript, to copy. */
interface SnippetParts {
  /** Where the API is: `https://…/v1`. */
  baseUrl: string;
  /** A key to fill in, or a placeholder. */
  apiKey: string;
  /** The request's body. */
  body: { model: string; messages: { role: string; content: string }[]; [more: string]: unknown };
}

export function snippetsOf(parts: SnippetParts): { language: string; text: string }[] {
  return [
    { language: "curl", text: curl(parts) },
    { language: "Python", text: python(parts) },
    { language: "TypeScript", text: typescript(parts) },
  ];
}

function curl({ baseUrl, apiKey, body }: SnippetParts): string {
  const json = JSON.stringify(body, null, 2).replaceAll("'", "'\\''").replaceAll("\n", "\n  ");
  return `curl ${body.stream === true ? "-N " : ""}${baseUrl}/chat/completions \\
  -H "Authorization: Bearer ${apiKey}" \\
  -H "Content-Type: application/json" \\
  -d '${json}'`;
}

function python({ baseUrl, apiKey, body }: SnippetParts): string {
  const fields = Object.entries(body).map(([name, value]) => `    ${name}=${pythonValue(value)},`);
  const call = `client.chat.completions.create(\n${fields.join("\n")}\n)`;
  const use =
    body.stream === true
      ? `for chunk in ${call}:\n    if chunk.choices:\n        print(chunk.choices[0].delta.content or "", end="")`
      : `answer = ${call}\nprint(answer.choices[0].message.content)`;
  return `from openai import OpenAI  # pip install openai

client = OpenAI(base_url="${baseUrl}", api_key="${apiKey}")

${use}`;
}

function typescript({ baseUrl, apiKey, body }: SnippetParts): string {
  const json = JSON.stringify(body, null, 2).replaceAll(/^(\s*)"([a-z_]+)":/gm, "$1$2:");
  const use =
    body.stream === true
      ? `const stream = await client.chat.completions.create(${json});\nfor await (const chunk of stream) {\n  process.stdout.write(chunk.choices[0]?.delta.content ?? "");\n}`
      : `const answer = await client.chat.completions.create(${json});\nconsole.log(answer.choices[0].message.content);`;
  return `import OpenAI from "openai"; // npm install openai

const client = new OpenAI({ baseURL: "${baseUrl}", apiKey: "${apiKey}" });

${use}`;
}

/** JSON as Python writes it. */
function pythonValue(value: unknown): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(pythonValue).join(", ")}]`;
  if (typeof value !== "object") return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([name, part]) => `${JSON.stringify(name)}: ${pythonValue(part)}`)
    .join(", ")}}`;
}
