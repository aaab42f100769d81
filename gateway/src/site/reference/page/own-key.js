// Puts an API key of the reader's own into the examples. The gateway stores no secrets, so a key is made for the docs, through the
// console's API and with the console's session. Its secret stays in this tab (sessionStorage).
const API = "/console/api";
const STORED_AS = "tollgate.docs-key";
/** Whose tab this is; the console empties its storage for anybody else (console/src/data/session.ts). */
const PERSON = "tollgate.person";
/** The accounts that the console acts for (console/src/api/acting.ts). */
const ACTING = "tollgate.acting";
const KEY_NAME = "Docs examples";
const KEY_DAYS = 30;

/** Storage may be forbidden; then the key is kept by this page alone. */
const inStorage = (act) => {
  try {
    return act();
  } catch {
    return null;
  }
};

export async function offerOwnKey() {
  const bar = document.createElement("div");
  bar.className = "own-key";
  bar.setAttribute("role", "region");
  bar.setAttribute("aria-label", "API key in the examples");
  const say = (...parts) => {
    bar.replaceChildren(...parts);
    const first = document.querySelector("[data-key]");
    if (!bar.isConnected) (first.closest(".samples") ?? first.closest("figure")).before(bar);
  };

  const session = await ask("GET", "/auth/get-session");
  if (session.identity === null) {
    say(link("/console/sign-in", "Sign in"), " to use your own key in these examples.");
    // Somebody who signs in elsewhere and comes back sees it at once.
    const again = () => {
      bar.remove();
      offerOwnKey();
    };
    addEventListener("focus", again, { once: true });
    return;
  }
  const { id } = session.identity;
  const kept = inStorage(() => sessionStorage.getItem(PERSON) === id && sessionStorage.getItem(STORED_AS));
  if (kept) return use(kept);

  const account = actingAccount(session.accounts);
  if (account === undefined) return say("You have no builder account, so the examples show a placeholder key.");
  if (!account.may.includes("work")) {
    return say(`Your role in ${account.name} (${account.role}) cannot create API keys. Ask an owner of the account.`);
  }
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Use my own key in these examples";
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      const expires_at = Math.floor(Date.now() / 1000) + KEY_DAYS * 24 * 60 * 60;
      const { secret } = await ask("POST", "/keys", { body: { name: KEY_NAME, expires_at }, account });
      inStorage(() => {
        sessionStorage.setItem(PERSON, id);
        sessionStorage.setItem(STORED_AS, secret);
      });
      use(secret);
    } catch (error) {
      say(error.message);
    }
  });
  say(button, ` Creates the key “${KEY_NAME}” in ${account.name}, valid for ${KEY_DAYS} days.`);

  function use(secret) {
    for (const place of document.querySelectorAll("[data-key]")) place.textContent = secret;
    const revoke = link("/console/keys", "Revoke it in the console");
    say(`The examples show your key “${KEY_NAME}”. This tab keeps it until you close it. `, revoke, ".");
  }
}

function link(url, text) {
  const made = document.createElement("a");
  made.href = url;
  made.target = "_blank";
  made.textContent = text;
  return made;
}

/** The builder account that the console shows. */
function actingAccount(accounts) {
  const usable = accounts.filter(({ kind, suspended }) => kind === "builder" && !suspended);
  const chosen = inStorage(() => JSON.parse(localStorage.getItem(ACTING) ?? "{}").builder);
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
