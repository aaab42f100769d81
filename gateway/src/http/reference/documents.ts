/** Every API document there is: where it is committed and served, and how a person calls what it describes. */
import { consoleApi } from "@tollgate/api/console/api.ts";
import { nodeApi } from "@tollgate/api/nodes/api.ts";
import type { Api } from "@tollgate/api/openapi/api.ts";
import type { Endpoint } from "@tollgate/api/openapi/openapi.ts";
import { publicApi } from "@tollgate/api/public/api.ts";

export interface ApiDocument {
  name: string;
  /** Under gateway/openapi/. */
  file: string;
  /** Where programs get it. */
  url: string;
  /** Where people read it. */
  pageUrl: string;
  /** What it describes. */
  api: Api;
  calling: Calling;
}

/** How the examples of a page call the API with curl. */
export interface Calling {
  /** What stands beside an operation that needs no credential. */
  openNote: string;
  /** Set once, beside TOLLGATE_BASE_URL. */
  variables: string[];
  /** Said where the variables are set. */
  before: string;
  credential(endpoint: Endpoint): string[];
}

const PASTED = "every example on this page then works when it is pasted";
const IDS = "Where one has `$ID` in it, set that to the id of the thing.";

const bearer = (variable: string, sample: string, openNote: string, before = ""): Calling => ({
  openNote,
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
    calling: bearer("TOLLGATE_API_KEY", "tsk_live_your_key", "no key needed"),
  },
  {
    name: "Node API",
    file: "node.json",
    url: "/openapi/node.json",
    pageUrl: "/docs/node",
    api: nodeApi,
    calling: bearer("TOLLGATE_HOST_TOKEN", "tht_live_your_token", "no token needed", ` ${IDS}`),
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
      before: `Set this once and sign in once, with your own e-mail address and password; ${PASTED}. ${IDS} The session is kept in the file \`${COOKIES}\`.`,
      credential: ({ method }) => [
        `-b ${COOKIES} -c ${COOKIES}`,
        // A browser says by itself where a request comes from.
        ...(method === "get" ? [] : ['-H "Origin: $TOLLGATE_BASE_URL"']),
      ],
    },
  },
];
