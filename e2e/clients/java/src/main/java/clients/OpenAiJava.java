package clients;

import clients.Main.Answer;
import clients.Main.Ask;
import clients.Main.Connection;
import clients.Main.Operation;
import clients.Main.Seen;
import com.fasterxml.jackson.databind.JsonNode;
import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.core.JsonValue;
import com.openai.errors.OpenAIServiceException;
import com.openai.errors.SseException;
import com.openai.models.ResponseFormatJsonSchema;
import com.openai.models.ResponseFormatJsonSchema.JsonSchema;
import com.openai.models.chat.completions.ChatCompletionChunk;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import com.openai.models.chat.completions.ChatCompletionStreamOptions;
import com.openai.models.completions.CompletionCreateParams;
import com.openai.models.embeddings.EmbeddingCreateParams;
import com.openai.models.responses.ResponseCreateParams;
import java.util.Map;
import java.util.stream.Stream;

/** The official Java package. */
final class OpenAiJava implements Main.Client {
  @Override
  public Map<String, Operation> operations() {
    return Map.of(
        "chat", (at, ask, onText) -> chat(at, ask),
        "stream",
            (at, ask, onText) -> {
              try (var stream = connect(at).chat().completions().createStreaming(chatParams(ask).build())) {
                texts(stream.stream()).forEach(onText);
              }
              return null;
            },
        "streamUsage",
            (at, ask, onText) -> {
              var options = ChatCompletionStreamOptions.builder().includeUsage(true).build();
              var params = chatParams(ask).streamOptions(options).build();
              try (var stream = connect(at).chat().completions().createStreaming(params)) {
                var usages = stream.stream().flatMap(chunk -> chunk.usage().stream()).toList();
                return usages.get(usages.size() - 1).completionTokens();
              }
            },
        "cancel",
            (at, ask, onText) -> {
              try (var stream = connect(at).chat().completions().createStreaming(chatParams(ask).build())) {
                texts(stream.stream()).findFirst().orElseThrow();
              }
              return null;
            },
        "structured", (at, ask, onText) -> structured(at, ask),
        "responses",
            (at, ask, onText) -> {
              var params = ResponseCreateParams.builder().model(ask.model()).input(ask.prompt()).build();
              return connect(at).responses().create(params).id();
            },
        "complete",
            (at, ask, onText) -> {
              var params = CompletionCreateParams.builder().model(ask.model()).prompt(ask.prompt()).build();
              return connect(at).completions().create(params).choices().get(0).text();
            },
        "embed",
            (at, ask, onText) -> {
              var params = EmbeddingCreateParams.builder().model(ask.model()).inputOfArrayOfStrings(ask.input()).build();
              return connect(at).embeddings().create(params).data().stream().map(item -> item.embedding()).toList();
            },
        "models", (at, ask, onText) -> connect(at).models().list().autoPager().stream().map(model -> model.id()).toList());
  }

  private static Answer chat(Connection at, Ask ask) {
    var answer = connect(at).chat().completions().create(chatParams(ask).build());
    var choice = answer.choices().get(0);
    JsonValue reasoning = choice.message()._additionalProperties().get("vendor_reasoning_content");
    return new Answer(
        choice.message().content().orElse(null),
        choice.finishReason().asString(),
        (int) answer.usage().orElseThrow().completionTokens(),
        reasoning == null ? null : reasoning.convert(String.class));
  }

  private static JsonNode structured(Connection at, Ask ask) throws Exception {
    var schema = JsonSchema.Schema.builder();
    ask.schema().fields().forEachRemaining(
        field -> schema.putAdditionalProperty(field.getKey(), JsonValue.fromJsonNode(field.getValue())));
    var form = JsonSchema.builder().name("number").schema(schema.build()).strict(true).build();
    var params = chatParams(ask).responseFormat(ResponseFormatJsonSchema.builder().jsonSchema(form).build()).build();
    var answer = connect(at).chat().completions().create(params);
    return Main.JSON.readTree(answer.choices().get(0).message().content().orElseThrow());
  }

  private static OpenAIClient connect(Connection at) {
    return OpenAIOkHttpClient.builder()
        .baseUrl(at.baseUrl())
        .apiKey(at.apiKey())
        .maxRetries(at.maxRetries())
        .build();
  }

  private static ChatCompletionCreateParams.Builder chatParams(Ask ask) {
    var params = ChatCompletionCreateParams.builder().model(ask.model()).addUserMessage(ask.prompt());
    return ask.maxTokens() == null ? params : params.maxTokens(ask.maxTokens());
  }

  private static Stream<String> texts(Stream<ChatCompletionChunk> chunks) {
    return chunks
        .flatMap(chunk -> chunk.choices().stream())
        .flatMap(choice -> choice.delta().content().stream())
        .filter(text -> !text.isEmpty());
  }

  @Override
  public Seen read(Throwable error) {
    if (!(error instanceof OpenAIServiceException told)) return new Seen(null, null, String.valueOf(error.getMessage()), null);
    JsonNode body = told.body().convert(JsonNode.class);
    Long required = body.has("required_micro") ? body.get("required_micro").asLong() : null;
    // Inside a stream its status is the stream's own, 200.
    Integer status = told instanceof SseException ? null : told.statusCode();
    return new Seen(status, told.code().orElse(null), told.getMessage(), required);
  }
}
