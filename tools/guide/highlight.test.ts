import assert from "node:assert/strict";
import { test } from "node:test";
import { detectLanguage, highlight } from "./highlight.ts";

const SAMPLES: [language: string, text: string, coloured: string][] = [
  ["sh", "export A=1 # why", '<span class="k">export</span> A=1 <span class="c"># why</span>'],
  ["json", '{"a": true}', '{<span class="a">&quot;a&quot;</span>: <span class="k">true</span>}'],
  ["yaml", "a: 1", '<span class="a">a:</span> <span class="n">1</span>'],
  ["python", "def f(): pass", '<span class="k">def</span> <span class="f">f</span>(): <span class="k">pass</span>'],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: code of an example
  ["ts", "const a = `b${c}`", '<span class="k">const</span> a = <span class="s">`b<span class="x">${c}</span>`</span>'],
  ["go", "package main", '<span class="k">package</span> main'],
  ["java", "int a = 1;", '<span class="k">int</span> <span class="a">a</span> = <span class="n">1</span>;'],
  ["sql", "select 1", '<span class="k">select</span> <span class="n">1</span>'],
  ["text", "a < b & c", "a &#60; b &#38; c"],
  ["no-such-language", "const a", "const a"],
];

for (const [language, text, coloured] of SAMPLES) {
  test(`highlights ${language} with CSS classes only`, () => {
    assert.equal(highlight(language, text).text, coloured);
  });
}

test("escapes code so that it cannot become HTML markup", () => {
  for (const language of ["sh", "json", "text", "ts"]) {
    assert.doesNotMatch(highlight(language, '"</code><script>x</script>').text, /<script|<\/code/);
  }
});

test("marks the placeholders for the reader's address, API key and host token", () => {
  assert.equal(
    highlight("sh", 'curl http://127.0.0.1:8080/v1/models -H "Authorization: Bearer tsk_live_your_key"').text,
    'curl https://address.invalid/v1/models -H <span class="s">&quot;Authorization: Bearer <span data-key="builder">tsk_live_your_key</span>&quot;</span>',
  );
  assert.equal(
    highlight("sh", "npx tollgate-host login --token tht_live_your_token").text,
    'npx tollgate-host login --token <span data-key="host">tht_live_your_token</span>',
  );
});

test("marks a shell prompt apart from its command", () => {
  assert.equal(highlight("text", "$ tollgate dev\nready").text, '<span class="prompt">$ </span>tollgate dev\nready');
});

test("derives the language of a file from its name", () => {
  const found = ["deploy/image/Dockerfile", "deploy/proxies/nginx.conf", "a/b.py", "a/.conf.yml", "a/Caddyfile"];
  assert.deepEqual(found.map(detectLanguage), ["dockerfile", "nginx", "py", "yml", "text"]);
});
