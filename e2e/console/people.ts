/** Calls to the console's API beside the browser: for what a journey needs and does not show. */
export interface ApiPerson {
  get<T>(path: string): Promise<T>;
  post<T>(path: string, body: object): Promise<T>;
}

/** Signs in as a program would, with a cookie of its own. */
export async function signInToApi(baseUrl: string, who: { email: string; password: string }): Promise<ApiPerson> {
  const origin = new URL(baseUrl).origin;
  let cookie = "";
  const send = async <T>(method: string, path: string, body?: object): Promise<T> => {
    const response = await fetch(`${origin}/console/api/${path}`, {
      method,
      headers: { origin, cookie, "content-type": "application/json" },
      body: body === undefined ? null : JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    const given = response.headers.getSetCookie().map((line) => line.split(";")[0]);
    if (given.length > 0) cookie = given.join("; ");
    return (await response.json()) as T;
  };
  await send("POST", "auth/sign-in/email", who);
  return { get: (path) => send("GET", path), post: (path, body) => send("POST", path, body) };
}

/** The newest builder account of this name, as operators see it. */
export async function accountNamed(operator: ApiPerson, name: string): Promise<{ id: string }> {
  const { data } = await operator.get<{ data: { id: string; name: string }[] }>("operator/accounts?kind=builder");
  const account = data.find((one) => one.name === name);
  if (account === undefined) throw new Error(`there is no builder account ${name}`);
  return account;
}

/** Gives that account credit, as an operator does. */
export async function grant(operator: ApiPerson, accountName: string, dollars: number): Promise<void> {
  const { id } = await accountNamed(operator, accountName);
  await operator.post(`operator/accounts/${id}/grant`, {
    amount_micro: String(dollars * 1_000_000),
    reason: "a journey of the console",
  });
}
