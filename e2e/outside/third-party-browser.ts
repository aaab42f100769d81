/** A minimal browser for third-party sites: it keeps each site's cookies, follows redirects and submits forms. */
import assert from "node:assert/strict";

const STEPS_MAX = 20;

interface Page {
  url: URL;
  html: string;
}

export class ThirdPartySiteBrowser {
  readonly #cookies = new Map<string, Map<string, string>>();

  /** Follows redirects to a page. If `stop` accepts a URL, the visit ends there without requesting it. */
  async open(address: string | URL, stop: (url: URL) => boolean, init: RequestInit = {}): Promise<Page> {
    let [url, request] = [new URL(address), init];
    for (let step = 0; step < STEPS_MAX; step++) {
      if (stop(url)) return { url, html: "" };
      const jar = this.#jarOf(url);
      const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
      const response = await fetch(url, { ...request, redirect: "manual", headers: { cookie } });
      for (const line of response.headers.getSetCookie()) {
        const [, name, value] = /^([^=]+)=([^;]*)/.exec(line) as unknown as [string, string, string];
        jar.set(name, value);
      }
      const location = response.headers.get("location");
      if (location === null) return { url, html: await response.text() };
      await response.body?.cancel();
      [url, request] = [new URL(location, url), {}];
    }
    return assert.fail(`more than ${STEPS_MAX} redirects from ${address}`);
  }

  /** Submits the page's form: these fields and the form's hidden ones. */
  submit({ url, html }: Page, fields: Record<string, string>, stop: (url: URL) => boolean): Promise<Page> {
    const form = /<form[^>]*action="([^"]*)"[^>]*>([\s\S]*?)<\/form>/.exec(html) ?? assert.fail(`no form:\n${html}`);
    const [, action, inside] = form as unknown as [string, string, string];
    const hidden = [...inside.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)];
    const body = new URLSearchParams(fields);
    for (const [, name = "", value = ""] of hidden) body.set(name, value);
    return this.open(new URL(action.replaceAll("&amp;", "&"), url), stop, { method: "POST", body });
  }

  #jarOf({ host }: URL): Map<string, string> {
    const jar = this.#cookies.get(host) ?? new Map<string, string>();
    this.#cookies.set(host, jar);
    return jar;
  }
}
