// Puts an API key or a host token of the reader's own into the examples. The gateway stores no secrets, so one is made for the docs,
// through the console's API and with the console's session. Its secret stays in this tab (sessionStorage).
const API = "/console/api";
const NAME = "Docs examples";
const KEY_DAYS = 30;
/** Whose tab this is; the console empties its storage for anybody else (console/src/data/signed-in-session.ts). */
const PERSON = "tollgate.person";
/** The accounts that the console acts for (console/src/api/chosen-account.ts). */
const ACTING = "tollgate.acting";

/** By the kind of account that has it, as the examples mark its places. */
const SECRETS = {
  builder: {
    title: "API key",
    word: "API key",
    path: "/keys",
    fields: () => ({ expires_at: Math.floor(Date.now() / 1000) + KEY_DAYS * 24 * 60 * 60 }),
    valid: `, valid for ${KEY_DAYS} days`,
    storedAs: "tollgate.docs-key",
    page: "/console/keys",
  },
  host: {
    title: "Host token",
    word: "host token",
    path: "/host-tokens",
    fields: () => ({}),
    valid: "",
    storedAs: "tollgate.docs-token",
    page: "/console/host/tokens",
  },
};

/** Storage may be forbidden; then the key is kept by this page alone. */
const inStorage = (act) => {
  try {
    return act();
  } catch {
    return null;
  }
};

const placesOf = (kind) => document.querySelectorAll(`[data-key="${kind}"]`);

export function offerOwnKeys() {
  for (const kind of Object.keys(SECRETS)) if (placesOf(kind).length > 0) offer(kind);
}

async function offer(kind) {
  const { title, word, path, fields, valid, storedAs, page } = SECRETS[kind];
  const places = placesOf(kind);
  const bar = document.createElement("div");
  bar.className = "own-key";
  bar.setAttribute("role", "region");
  bar.setAttribute("aria-label", `${title} in the examples`);
  const say = (...parts) => {
    bar.replaceChildren(...parts);
    if (!bar.isConnected) (places[0].closest(".samples") ?? places[0].closest("figure")).before(bar);
  };

  const session = await ask("GET", "/auth/get-session");
  if (session.identity === null) {
    say(link("/console/sign-in", "Sign in"), ` to use your own ${word} in these examples.`);
    // Somebody who signs in elsewhere and comes back sees it at once.
    const again = () => {
      bar.remove();
      offer(kind);
    };
    addEventListener("focus", again, { once: true });
    return;
  }
  const { id } = session.identity;
  const kept = inStorage(() => sessionStorage.getItem(PERSON) === id && sessionStorage.getItem(storedAs));
  if (kept) return use(kept);

  const account = actingAccount(session.accounts, kind);
  if (account === undefined) return say(`You have no ${kind} account, so the examples show a placeholder.`);
  if (!account.may.includes("work")) {
    return say(`Your role in ${account.name} (${account.role}) cannot create ${word}s. Ask an owner of the account.`);
  }
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = `Use my own ${word} in these examples`;
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      const { secret } = await ask("POST", path, { body: { name: NAME, ...fields() }, account });
      inStorage(() => {
        sessionStorage.setItem(PERSON, id);
        sessionStorage.setItem(storedAs, secret);
      });
      use(secret);
    } catch (error) {
      say(error.message);
    }
  });
  say(button, ` Creates the ${word} “${NAME}” in ${account.name}${valid}.`);

  function use(secret) {
    for (const place of places) place.textContent = secret;
    const revoke = link(page, "Revoke it in the console");
    say(`The examples show your ${word} “${NAME}”. This tab keeps it until you close it. `, revoke, ".");
  }
}

function link(url, text) {
  const made = document.createElement("a");
  made.href = url;
  made.target = "_blank";
  made.textContent = text;
  return made;
}

/** The account of that kind that the console shows. */
function actingAccount(accounts, kind) {
  const usable = accounts.filter((account) => account.kind === kind && !account.suspended);
  const chosen = inStorage(() => JSON.parse(localStorage.getItem(ACTING) ?? "{}")[kind]);
  return usable.find(({ id }) => id === chosen) ?? usable[0];
}

async function ask(method, path, { body, account } = {}) {
  const headers = { ...(account && { "x-tollgate-account": account.id }) };
  if (body !== undefined) headers["content-type"] = "application/json";
  const response = await fetch(API + path, { method, headers, body: JSON.stringify(body) });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error.message);
  return answer;
}
