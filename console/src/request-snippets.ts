/** Sample code for a request in curl, Python and TypeScript. */
interface Address {
  /** The API's URL: `https://…/v1`. */
  baseUrl: string;
  /** An API key, or a placeholder. */
  apiKey: string;
}

interface SnippetParts extends Address {
  /** The request's body. */
  body: { model: string; messages: { role: string; content: string }[]; [more: string]: unknown };
}

export function makeSnippets(parts: SnippetParts): { language: string; text: string }[] {
  return [
    { language: "curl", text: curl(parts) },
    { language: "Python", text: python(parts) },
    { language: "TypeScript", text: typescript(parts) },
  ];
}

/** Sample code for an embedding request. */
export function makeEmbeddingSnippets(parts: Address & { body: { model: string; input: string[] } }) {
  const { model, input } = parts.body;
  const python = `answer = client.embeddings.create(model=${pythonValue(model)}, input=${pythonValue(input)})
print(len(answer.data[0].embedding))`;
  const typescript = `const answer = await client.embeddings.create({
  model: ${JSON.stringify(model)},
  input: ${JSON.stringify(input)},
  encoding_format: "float",
});
console.log(answer.data[0].embedding.length);`;
  return [
    { language: "curl", text: curlTo("embeddings", parts) },
    { language: "Python", text: `${pythonClient(parts)}\n\n${python}` },
    { language: "TypeScript", text: `${typescriptClient(parts)}\n\n${typescript}` },
  ];
}

const curl = (parts: SnippetParts): string => curlTo("chat/completions", parts);

function curlTo(
  path: string,
  { baseUrl, apiKey, body }: Address & { body: { stream?: unknown; model: string } },
): string {
  const json = JSON.stringify(body, null, 2).replaceAll("'", "'\\''").replaceAll("\n", "\n  ");
  return `curl ${body.stream === true ? "-N " : ""}${baseUrl}/${path} \\
  -H "Authorization: Bearer ${apiKey}" \\
  -H "Content-Type: application/json" \\
  -d '${json}'`;
}

const pythonClient = ({ baseUrl, apiKey }: Address): string => `from openai import OpenAI  # pip install openai

client = OpenAI(base_url="${baseUrl}", api_key="${apiKey}")`;

const typescriptClient = ({ baseUrl, apiKey }: Address): string => `import OpenAI from "openai"; // npm install openai

const client = new OpenAI({ baseURL: "${baseUrl}", apiKey: "${apiKey}" });`;

function python({ body, ...address }: SnippetParts): string {
  const fields = Object.entries(body).map(([name, value]) => `    ${name}=${pythonValue(value)},`);
  const call = `client.chat.completions.create(\n${fields.join("\n")}\n)`;
  const use =
    body.stream === true
      ? `for chunk in ${call}:\n    if chunk.choices:\n        print(chunk.choices[0].delta.content or "", end="")`
      : `answer = ${call}\nprint(answer.choices[0].message.content)`;
  return `${pythonClient(address)}\n\n${use}`;
}

function typescript({ body, ...address }: SnippetParts): string {
  const json = JSON.stringify(body, null, 2).replaceAll(/^(\s*)"([a-z_]+)":/gm, "$1$2:");
  const use =
    body.stream === true
      ? `const stream = await client.chat.completions.create(${json});\nfor await (const chunk of stream) {\n  process.stdout.write(chunk.choices[0]?.delta.content ?? "");\n}`
      : `const answer = await client.chat.completions.create(${json});\nconsole.log(answer.choices[0].message.content);`;
  return `${typescriptClient(address)}\n\n${use}`;
}

/** Formats a JSON value as a Python literal. */
function pythonValue(value: unknown): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(pythonValue).join(", ")}]`;
  if (typeof value !== "object") return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([name, part]) => `${JSON.stringify(name)}: ${pythonValue(part)}`)
    .join(", ")}}`;
}
