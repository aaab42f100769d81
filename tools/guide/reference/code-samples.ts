/**
 * Creates sample code for an operation in several languages. Operations that the `openai` libraries support are called
 * through them, the others by plain HTTP. The address and the key come from the environment, as in the curl commands.
 */
import type { Endpoint } from "@tollgate/api/openapi/openapi-types.ts";
import type { CallExamples } from "../../../gateway/src/site/reference/api-documents.ts";
import type { CodeSample } from "../../../gateway/src/site/reference/page-frame.ts";
import { curlCommand, exampleBody } from "./curl-command.ts";
import { formatJavaScriptLiteral, formatPythonLiteral } from "./language-literals.ts";

interface SdkCall {
  /** The name of the method in both libraries, for example `chat.completions.create`. */
  method: string;
  /** The name of the variable for the response, and the expression that the sample prints. */
  answer: string;
  print: { python: string; typescript: string };
}

const SDK_CALLS: Record<string, SdkCall> = {
  createChatCompletion: call("chat.completions.create", "completion", ".choices[0].message.content"),
  createCompletion: call("completions.create", "completion", ".choices[0].text"),
  createEmbedding: {
    method: "embeddings.create",
    answer: "answer",
    print: { python: "len(answer.data[0].embedding)", typescript: "answer.data[0].embedding.length" },
  },
  listModels: {
    method: "models.list",
    answer: "models",
    print: { python: "[model.id for model in models]", typescript: "models.data.map((model) => model.id)" },
  },
  retrieveModel: call("models.retrieve", "model", ".id"),
};

function call(method: string, answer: string, part: string): SdkCall {
  return { method, answer, print: { python: answer + part, typescript: answer + part } };
}

/** The API's URL and the key, as expressions in the sample's language. */
interface Access {
  python: { url: string; key: string };
  typescript: { url: string; key: string };
}

/**
 * Returns an expression that reads an environment variable in Node. Written in parts, because this file itself reads no
 * environment.
 */
const variable = (name: string): string => `${"process"}.env.${name}`;

const ENVIRONMENT: Access = {
  python: { url: 'os.environ["TOLLGATE_BASE_URL"] + "/v1"', key: 'os.environ["TOLLGATE_API_KEY"]' },
  typescript: { url: `${variable("TOLLGATE_BASE_URL")} + "/v1"`, key: variable("TOLLGATE_API_KEY") },
};

export function createSamples(endpoint: Endpoint, calling: CallExamples): CodeSample[] {
  const line: CodeSample = { language: "curl", text: curlCommand(endpoint, calling) };
  if (calling.code === undefined) return [line];
  const known = calling.code === "openai" ? SDK_CALLS[endpoint.operation.operationId] : undefined;
  if (known === undefined) return [line, ...plainSamples(endpoint, calling)];
  return [line, ...sdkSamples(known, endpoint, ENVIRONMENT)];
}

/** Returns the first call of a new builder: complete code that runs without changes, except for the key. */
export function createFirstCallSamples(
  endpoint: Endpoint,
  { baseUrl, key }: { baseUrl: string; key: string },
): CodeSample[] {
  const known = SDK_CALLS[endpoint.operation.operationId] as SdkCall;
  const own = { url: JSON.stringify(`${baseUrl}/v1`), key: JSON.stringify(key) };
  const json = JSON.stringify(exampleBody(endpoint), null, 2).replaceAll("\n", "\n  ").replaceAll("'", "'\\''");
  const line = [
    `curl ${baseUrl}${endpoint.path}`,
    `-H "Authorization: Bearer ${key}"`,
    '-H "content-type: application/json"',
    `-d '${json}'`,
  ].join(" \\\n  ");
  return [{ language: "curl", text: line }, ...sdkSamples(known, endpoint, { python: own, typescript: own })];
}

function sdkSamples(
  { method, answer, print }: SdkCall,
  endpoint: Endpoint,
  { python, typescript }: Access,
): CodeSample[] {
  const body = exampleBody(endpoint);
  const fields = Object.entries(body ?? {}).map(
    ([name, value]) => `    ${name}=${formatPythonLiteral(value, "    ")},\n`,
  );
  const words =
    body === undefined
      ? namedIn(endpoint)
          .map((name) => JSON.stringify(name))
          .join(", ")
      : `\n${fields.join("")}`;
  const imports = python.url.startsWith("os.") ? "import os\n\n" : "";
  return [
    {
      language: "python",
      text: `${imports}from openai import OpenAI  # pip install openai

client = OpenAI(
    base_url=${python.url},
    api_key=${python.key},
)
${answer} = client.${method}(${words})
print(${print.python})`,
    },
    {
      language: "typescript",
      text: `import OpenAI from "openai"; // npm install openai

const client = new OpenAI({
  baseURL: ${typescript.url},
  apiKey: ${typescript.key},
});
const ${answer} = await client.${method}(${body === undefined ? words : formatJavaScriptLiteral(body)});
console.log(${print.typescript});`,
    },
  ];
}

/** Returns example values for the path parameters, which the library takes as arguments. */
const namedIn = ({ path }: Endpoint): string[] => [...path.matchAll(/\{(\w+)\}/g)].map(() => "small-8b");

function plainSamples(endpoint: Endpoint, { variables }: CallExamples): CodeSample[] {
  const { method, path, operation } = endpoint;
  const [credential = ""] = (variables[0] ?? "").split("=");
  const isOpen = operation.security !== undefined;
  const body = exampleBody(endpoint);
  const verb = method.toUpperCase();
  const python = [
    `    os.environ["TOLLGATE_BASE_URL"] + ${pythonPath(path)},\n`,
    ...(isOpen ? [] : [`    headers={"Authorization": f"Bearer {os.environ['${credential}']}"},\n`]),
    ...(body === undefined ? [] : [`    json=${formatPythonLiteral(body, "    ")},\n`]),
  ];
  const headers = [
    ...(isOpen ? [] : [`    Authorization: \`Bearer \${${variable(credential)}}\`,\n`]),
    ...(body === undefined ? [] : ['    "content-type": "application/json",\n']),
  ];
  const options = [
    ...(verb === "GET" ? [] : [`  method: "${verb}",\n`]),
    ...(headers.length === 0 ? [] : [`  headers: {\n${headers.join("")}  },\n`]),
    ...(body === undefined ? [] : [`  body: JSON.stringify(${formatJavaScriptLiteral(body, "  ")}),\n`]),
  ];
  const place = path.includes("{") ? scriptPath(path) : JSON.stringify(path);
  return [
    {
      language: "python",
      text: `import os\n\nimport httpx  # pip install httpx\n\nanswer = httpx.${method}(\n${python.join("")})\nprint(answer.json())`,
    },
    {
      language: "typescript",
      text: `const answer = await fetch(${variable("TOLLGATE_BASE_URL")} + ${place}${options.length === 0 ? "" : `, {\n${options.join("")}}`});\nconsole.log(await answer.json());`,
    },
  ];
}

function pythonPath(path: string): string {
  if (!path.includes("{")) return JSON.stringify(path);
  return `f"${path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => `{os.environ['${name.toUpperCase()}']}`)}"`;
}

const scriptPath = (path: string): string =>
  `\`${path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => `\${${variable(name.toUpperCase())}}`)}\``;
