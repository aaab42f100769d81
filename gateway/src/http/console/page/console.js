/** The console's page: sign in, then what there is to spend and how to call the API. */

const REFRESH_MS = 4000;

const byId = (id) => document.getElementById(id);
const signInView = byId("sign-in");
const accountView = byId("account");

/** What the gateway refused, or that it could not be reached (status 0). */
class Refusal extends Error {
  constructor(status, message, options) {
    super(message, options);
    this.status = status;
  }
}

async function call(method, url, body) {
  let response;
  try {
    response = await fetch(url, {
      method,
      headers: body === undefined ? {} : { "content-type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (cause) {
    throw new Refusal(0, "The gateway cannot be reached.", { cause });
  }
  const isJson = (response.headers.get("content-type") ?? "").startsWith("application/json");
  const answer = isJson ? await response.json() : undefined;
  if (response.ok && isJson) return answer;
  throw new Refusal(response.status, answer?.error?.message ?? `The gateway answered ${response.status}.`);
}

function say(id, text) {
  const notice = byId(id);
  // Only changes: a status that is written again would be read out again.
  if (notice.textContent !== text) notice.textContent = text;
  notice.hidden = text === "";
}

/** Shows a refusal; anything else is a mistake of this page and belongs in the browser's console. */
function sayRefusal(id, error) {
  if (!(error instanceof Refusal)) throw error;
  say(id, error.message);
}

/** "9830.400000" microdollars → "$0.0098304": exact, because the digits never become a number. */
function dollars(micro) {
  const sign = micro.startsWith("-") ? "-" : "";
  const digits = micro.replace(/[-.]/g, "").padStart(13, "0");
  const decimals = digits.slice(-12).replace(/0{1,10}$/, "");
  return `${sign}$${digits.slice(0, -12).replace(/^0+(?=\d)/, "")}.${decimals}`;
}

let refreshTimer;
/** Whether the account is on screen; a late answer must not bring back what was left. */
let isSignedIn = false;

function showSignIn(notice) {
  isSignedIn = false;
  clearTimeout(refreshTimer);
  accountView.hidden = true;
  byId("sign-out").hidden = true;
  signInView.hidden = false;
  say("sign-in-notice", notice);
  byId(byId("email").value === "" ? "email" : "password").focus();
}

async function showAccount() {
  const { identity, accounts } = await call("GET", "/console/api/me");
  isSignedIn = true;
  const account = accounts.find(({ kind, suspended }) => kind === "builder" && !suspended);
  byId("account-name").textContent = account?.name ?? identity.name;
  byId("identity").textContent = `Signed in as ${identity.email}`;
  byId("money").hidden = true;
  say("account-notice", "");
  signInView.hidden = true;
  accountView.hidden = false;
  byId("sign-out").hidden = false;
  byId("account-name").focus();
  await Promise.all([refresh(), showAddress()]);
}

async function refresh() {
  clearTimeout(refreshTimer);
  try {
    const balance = await call("GET", "/console/api/balance");
    if (!isSignedIn) return;
    byId("available").textContent = dollars(balance.available_micro);
    byId("balance").textContent = dollars(balance.balance_micro);
    byId("held").textContent = dollars(balance.held_micro);
    byId("money").hidden = false;
    say("account-notice", "");
  } catch (error) {
    if (!isSignedIn) return;
    if (error.status === 401) return showSignIn("Your session has ended. Sign in again.");
    // A figure that cannot be renewed may be wrong: the reason takes its place.
    byId("money").hidden = true;
    sayRefusal("account-notice", error);
  }
  clearTimeout(refreshTimer);
  if (document.visibilityState === "visible") refreshTimer = setTimeout(refresh, REFRESH_MS);
}

async function showAddress() {
  const base = `${location.origin}/v1`;
  byId("base").textContent = base;
  let model;
  try {
    const { data } = await call("GET", "/v1/catalog/rates");
    // The first that can be called and writes text: an embedding model has no price for output.
    model = data.find(({ status, price_out_micro_1m }) => status === "active" && price_out_micro_1m !== null)?.sku_id;
  } catch (error) {
    if (isSignedIn) sayRefusal("account-notice", error);
  }
  const body = JSON.stringify({ model: model ?? "MODEL", messages: [{ role: "user", content: "Hello" }] });
  byId("curl").textContent =
    `curl ${base}/chat/completions -H "Authorization: Bearer $TOLLGATE_API_KEY" ` +
    `-H "Content-Type: application/json" -d '${body}'`;
}

async function copy(id) {
  const source = byId(id);
  // Browsers lend the clipboard only to secure pages; elsewhere the text is selected, ready to be copied by hand.
  if (navigator.clipboard === undefined) {
    getSelection().selectAllChildren(source);
    byId("copied").textContent = "Selected. Copy it with your keyboard.";
    return;
  }
  await navigator.clipboard.writeText(source.textContent);
  byId("copied").textContent = "Copied.";
}

byId("sign-in-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.currentTarget;
  const button = form.querySelector("button");
  button.disabled = true;
  say("sign-in-notice", "");
  try {
    const { email, password } = Object.fromEntries(new FormData(form));
    await call("POST", "/console/api/auth/sign-in/email", { email, password });
    byId("password").value = "";
    await showAccount();
  } catch (error) {
    sayRefusal("sign-in-notice", error);
    byId("password").focus();
  } finally {
    button.disabled = false;
  }
});

byId("sign-out").addEventListener("click", async () => {
  try {
    await call("POST", "/console/api/auth/sign-out");
    showSignIn("");
  } catch (error) {
    sayRefusal("account-notice", error);
  }
});

for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", () => copy(button.dataset.copy));
}

document.addEventListener("visibilitychange", () => {
  if (isSignedIn && document.visibilityState === "visible") refresh();
});

try {
  await showAccount();
} catch (error) {
  if (!(error instanceof Refusal)) throw error;
  showSignIn(error.status === 401 ? "" : error.message);
}
