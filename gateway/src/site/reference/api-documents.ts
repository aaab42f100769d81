/** All OpenAPI documents: their files, their URLs, and how examples call their operations. */
import { consoleApi } from "@tollgate/api/console/api.ts";
import { nodeApi } from "@tollgate/api/nodes/api.ts";
import type { Api } from "@tollgate/api/openapi/api-declaration.ts";
import type { Endpoint } from "@tollgate/api/openapi/openapi-types.ts";
import { publicApi } from "@tollgate/api/public/api.ts";

export interface ApiDocument {
  name: string;
  /** The document's file in gateway/openapi/. */
  file: string;
  /** The URL of the document itself, for programs. */
  url: string;
  /** The URL of the page that shows the document, for people. */
  pageUrl: string;
  /** The API that the document describes. */
  api: Api;
  calling: CallExamples;
}

/** How a page's curl examples call the API. */
export interface CallExamples {
  /** The note shown at operations that need no credentials. */
  openNote: string;
  /** Shell variables that a reader sets once, together with TOLLGATE_BASE_URL. */
  variables: string[];
  /** The text shown before the variables. */
  before: string;
  credential(endpoint: Endpoint): string[];
  /** Examples in other languages use the `openai` libraries or plain HTTP. Undefined: there are only curl examples. */
  code?: "openai" | "http";
  /** The first steps of a new user, with links into the console. */
  steps: GettingStartedStep[];
}

export interface GettingStartedStep {
  text: string;
  link: { url: string; name: string };
}

const PASTED = "then every example on this page works as pasted";
const IDS = "In examples with `$ID`, set ID to the ID of your object.";

const bearer = (
  variable: string,
  sample: string,
  before = "",
): Pick<CallExamples, "variables" | "before" | "credential"> => ({
  variables: [`${variable}=${sample}`],
  before: `Set these two once; ${PASTED}.${before}`,
  credential: ({ operation }) => (operation.security === undefined ? [`-H "Authorization: Bearer $${variable}"`] : []),
});

const COOKIES = "tollgate-cookies";

export const DOCUMENTS: readonly ApiDocument[] = [
  {
    name: "Public API",
    file: "public.json",
    url: "/openapi.json",
    pageUrl: "/docs",
    api: publicApi,
    calling: {
      ...bearer("TOLLGATE_API_KEY", "tsk_live_your_key"),
      openNote: "no key needed",
      code: "openai",
      steps: [
        { text: "Sign in, or sign up.", link: { url: "/console/", name: "Open the console" } },
        { text: "Make an API key. It is shown once.", link: { url: "/console/keys", name: "API keys" } },
        { text: "Try a model, or call it as below.", link: { url: "/console/playground", name: "Playground" } },
      ],
    },
  },
  {
    name: "Node API",
    file: "node.json",
    url: "/openapi/node.json",
    pageUrl: "/docs/node",
    api: nodeApi,
    calling: {
      ...bearer("TOLLGATE_HOST_TOKEN", "tht_live_your_token", ` ${IDS}`),
      openNote: "no token needed",
      code: "http",
      steps: [
        { text: "Sign in and open a host account.", link: { url: "/console/", name: "Open the console" } },
        { text: "Make a host token. It is shown once.", link: { url: "/console/host/tokens", name: "Host tokens" } },
        {
          text: "Run `tollgate-host`, which uses this API.",
          link: { url: "/console/host", name: "Nodes" },
        },
      ],
    },
  },
  {
    name: "Console API",
    file: "console.json",
    url: "/openapi/console.json",
    pageUrl: "/docs/console",
    api: consoleApi,
    calling: {
      openNote: "no sign-in needed",
      variables: [],
      steps: [{ text: "The console uses this API.", link: { url: "/console/", name: "Open the console" } }],
      before: `Set this once and sign in once, with your email address and password; ${PASTED}. ${IDS} The session is kept in the file \`${COOKIES}\`.`,
      credential: ({ method }) => [
        `-b ${COOKIES} -c ${COOKIES}`,
        // curl must send an Origin header, which browsers send by themselves.
        ...(method === "get" ? [] : ['-H "Origin: $TOLLGATE_BASE_URL"']),
      ],
    },
  },
];
