/** The official package. One adapter serves every major: what it uses has not changed since 4. */
export async function load(packageName) {
  const { default: OpenAI } = await import(packageName);
  const connect = ({ baseURL, apiKey, maxRetries }) => new OpenAI({ baseURL, apiKey, maxRetries });
  const body = ({ model, prompt, maxTokens }) => ({
    model,
    messages: [{ role: "user", content: prompt }],
    ...(maxTokens && { max_tokens: maxTokens }),
  });
  return {
    async chat(at, ask) {
      const { choices, usage } = await connect(at).chat.completions.create(body(ask));
      const [{ message, finish_reason: finish }] = choices;
      // LiteLLM's proxy moves it.
      const { vendor_reasoning_content: reasoning } = message.provider_specific_fields ?? message;
      return { text: message.content, finish, reasoning, tokens: usage.completion_tokens };
    },
    async stream(at, ask, onText) {
      const stream = await connect(at).chat.completions.create({ ...body(ask), stream: true });
      for await (const chunk of stream) {
        const text = chunk.choices[0]?.delta.content;
        if (text) onText(text);
      }
    },
    async streamUsage(at, ask) {
      const options = { stream: true, stream_options: { include_usage: true } };
      let tokens;
      for await (const { usage } of await connect(at).chat.completions.create({ ...body(ask), ...options })) {
        tokens = usage?.completion_tokens ?? tokens;
      }
      return tokens;
    },
    async cancel(at, ask) {
      const stream = await connect(at).chat.completions.create({ ...body(ask), stream: true });
      for await (const chunk of stream) if (chunk.choices[0]?.delta.content) return;
    },
    async structured(at, ask, schema) {
      const form = { type: "json_schema", json_schema: { name: "number", schema, strict: true } };
      const client = connect(at);
      // 4 has it among what is to come.
      const { completions } = "parse" in client.chat.completions ? client.chat : client.beta.chat;
      const { choices } = await completions.parse({ ...body(ask), response_format: form });
      return choices[0].message.parsed;
    },
    responses: (at, { model, prompt }) => connect(at).responses.create({ model, input: prompt }),
    async complete(at, { model, prompt }) {
      return (await connect(at).completions.create({ model, prompt })).choices[0].text;
    },
    async embed(at, ask) {
      const { data } = await connect(at).embeddings.create(ask);
      return data.map(({ embedding }) => embedding);
    },
    async models(at) {
      return (await Array.fromAsync(connect(at).models.list())).map(({ id }) => id);
    },
    seen: readError,
  };
}

/** Also what LangChain and LlamaIndex raise. An error event inside a stream has a code and no status. */
export function readError(error) {
  const { status, code, message } = error;
  return { raised: error.constructor.name, status, code, message, required: error.error?.required_micro };
}
