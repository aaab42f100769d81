/**
 * Asks questions in the playground. The text that the scripted engine must answer is added to the request in transit.
 */
import type { Page } from "playwright-core";

const QUESTION = "A train leaves at 14:10 and arrives at 17:45. How long does the journey take?";
const THOUGHT = "From 14:10 to 17:10 it is three hours. From 17:10 to 17:45 it is another 35 minutes.";
const ANSWER = `The journey takes **3 hours and 35 minutes**.

1. Count the full hours first: from 14:10 to 17:10 it is 3 hours.
2. What is left, from 17:10 to 17:45, is 35 minutes.`;

const CODE_QUESTION = "Sort people by age in TypeScript, without changing the array.";
const CODE_ANSWER = `Use \`toSorted\`, which **copies** the array:

\`\`\`ts
people.toSorted((a, b) => a.age - b.age);
\`\`\`

| Method | Copies |
|:--|:-:|
| \`sort\` | no |
| \`toSorted\` | yes |`;

/** The page shows the question, but the engine gets instructions with the answer that it must give. */
async function ask(page: Page, question: string, orders: { text: string; reasoning?: string }): Promise<void> {
  const script = `#script ${JSON.stringify({ ...orders, ttft_ms: 180, delta_ms: 15 })}`;
  await page.route("**/v1/chat/completions", async (route) => {
    const body = route.request().postDataJSON() as { messages: { content: string }[] };
    const last = body.messages.at(-1);
    if (last !== undefined) last.content = script;
    await route.continue({ postData: JSON.stringify(body) });
  });
  await page.getByLabel("Message", { exact: true }).fill(question);
  await page.getByRole("button", { name: "Send" }).click();
}

export async function showAnswer(page: Page): Promise<void> {
  await ask(page, QUESTION, { text: ANSWER, reasoning: THOUGHT });
  await page.getByTestId("cost").waitFor();
  await page.getByText("Reasoning", { exact: true }).click();
  await page.getByText(THOUGHT).waitFor();
  await page.getByRole("button", { name: "Regenerate" }).scrollIntoViewIfNeeded();
}

export async function showComparison(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Clear" }).click();
  await page.getByLabel("Compare with").selectOption("small-8b");
  await ask(page, CODE_QUESTION, { text: CODE_ANSWER });
  await page.getByTestId("cost").nth(1).waitFor();
  await page.locator("article").scrollIntoViewIfNeeded();
}
