/** A question in the playground and its answer. The engine has no mind of its own: what it says is put into the request on its way. */
import type { Page } from "playwright-core";

const QUESTION = "A train leaves at 14:10 and arrives at 17:45. How long does the journey take?";
const THOUGHT = "From 14:10 to 17:10 it is three hours. From 17:10 to 17:45 it is another 35 minutes.";
const ANSWER =
  "The journey takes 3 hours and 35 minutes.\n\nCount the full hours first: from 14:10 to 17:10 it is 3 hours. What is left, from 17:10 to 17:45, is 35 minutes.";
const SCRIPT = `#script ${JSON.stringify({ text: ANSWER, reasoning: THOUGHT, ttft_ms: 180, delta_ms: 15 })}`;

export async function answer(page: Page): Promise<void> {
  await page.route("**/v1/chat/completions", async (route) => {
    const body = route.request().postDataJSON() as { messages: { content: string }[] };
    const last = body.messages.at(-1);
    if (last !== undefined) last.content = SCRIPT;
    await route.continue({ postData: JSON.stringify(body) });
  });
  await page.getByRole("button", { name: "Create a key for the playground" }).click();
  await page.getByLabel("Message", { exact: true }).fill(QUESTION);
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByTestId("cost").waitFor();
  await page.getByText("Reasoning", { exact: true }).click();
  await page.getByText(THOUGHT).waitFor();
  await page.getByRole("link", { name: "Details" }).scrollIntoViewIfNeeded();
}
