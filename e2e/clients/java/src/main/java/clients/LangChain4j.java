package clients;

import clients.Main.Answer;
import clients.Main.Ask;
import clients.Main.Connection;
import clients.Main.Operation;
import clients.Main.Seen;
import com.fasterxml.jackson.databind.JsonNode;
import dev.langchain4j.data.segment.TextSegment;
import dev.langchain4j.exception.HttpException;
import dev.langchain4j.model.chat.request.ResponseFormat;
import dev.langchain4j.model.chat.request.ResponseFormatType;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.model.chat.request.json.JsonRawSchema;
import dev.langchain4j.model.chat.request.json.JsonSchema;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.chat.response.PartialResponse;
import dev.langchain4j.model.chat.response.PartialResponseContext;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import dev.langchain4j.model.openai.OpenAiChatModel;
import dev.langchain4j.model.openai.OpenAiChatResponseMetadata;
import dev.langchain4j.model.openai.OpenAiEmbeddingModel;
import dev.langchain4j.model.openai.OpenAiLanguageModel;
import dev.langchain4j.model.openai.OpenAiModelCatalog;
import dev.langchain4j.model.openai.OpenAiStreamingChatModel;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.Consumer;

/** LangChain4j's models for OpenAI. */
final class LangChain4j implements Main.Client {
  @Override
  public Map<String, Operation> operations() {
    return Map.of(
        "chat", (at, ask, onText) -> chat(at, ask),
        "stream",
            (at, ask, onText) -> {
              stream(at, ask, onText, false);
              return null;
            },
        "streamUsage", (at, ask, onText) -> stream(at, ask, onText, false).tokenUsage().outputTokenCount(),
        "cancel",
            (at, ask, onText) -> {
              stream(at, ask, onText, true);
              return null;
            },
        "structured", (at, ask, onText) -> structured(at, ask),
        "complete",
            (at, ask, onText) ->
                OpenAiLanguageModel.builder()
                    .baseUrl(at.baseUrl())
                    .apiKey(at.apiKey())
                    .maxRetries(at.maxRetries())
                    .modelName(ask.model())
                    .build()
                    .generate(ask.prompt())
                    .content(),
        "embed",
            (at, ask, onText) ->
                OpenAiEmbeddingModel.builder()
                    .baseUrl(at.baseUrl())
                    .apiKey(at.apiKey())
                    .maxRetries(at.maxRetries())
                    .modelName(ask.model())
                    .build()
                    .embedAll(ask.input().stream().map(TextSegment::from).toList())
                    .content()
                    .stream()
                    .map(embedding -> embedding.vector())
                    .toList(),
        "models",
            (at, ask, onText) ->
                OpenAiModelCatalog.builder().baseUrl(at.baseUrl()).apiKey(at.apiKey()).build().listModels().stream()
                    .map(model -> model.name())
                    .toList());
  }

  private static OpenAiChatModel.OpenAiChatModelBuilder model(Connection at, Ask ask) {
    return OpenAiChatModel.builder()
        .baseUrl(at.baseUrl())
        .apiKey(at.apiKey())
        .maxRetries(at.maxRetries())
        .modelName(ask.model())
        .maxTokens(ask.maxTokens());
  }

  private static Answer chat(Connection at, Ask ask) throws IOException {
    var answer = model(at, ask).build().chat(UserMessage.from(ask.prompt()));
    // It has no field for our thinking, and keeps the response as it came.
    String body = ((OpenAiChatResponseMetadata) answer.metadata()).rawHttpResponse().body();
    JsonNode reasoning = Main.JSON.readTree(body).at("/choices/0/message/vendor_reasoning_content");
    return new Answer(
        answer.aiMessage().text(),
        answer.finishReason().name().toLowerCase(),
        answer.tokenUsage().outputTokenCount(),
        reasoning.textValue());
  }

  private static ChatResponse stream(Connection at, Ask ask, Consumer<String> onText, boolean leaves) throws Throwable {
    var model = OpenAiStreamingChatModel.builder()
        .baseUrl(at.baseUrl())
        .apiKey(at.apiKey())
        .modelName(ask.model())
        .maxTokens(ask.maxTokens())
        .build();
    var end = new CompletableFuture<ChatResponse>();
    model.chat(ask.prompt(), new StreamingChatResponseHandler() {
      @Override
      public void onPartialResponse(PartialResponse part, PartialResponseContext context) {
        onText.accept(part.text());
        if (leaves) {
          context.streamingHandle().cancel();
          end.complete(null);
        }
      }

      @Override
      public void onCompleteResponse(ChatResponse response) {
        end.complete(response);
      }

      @Override
      public void onError(Throwable error) {
        end.completeExceptionally(error);
      }
    });
    try {
      return end.get();
    } catch (ExecutionException error) {
      throw error.getCause();
    }
  }

  private static JsonNode structured(Connection at, Ask ask) throws IOException {
    var schema = JsonSchema.builder().name("number").rootElement(JsonRawSchema.from(ask.schema().toString())).build();
    var form = ResponseFormat.builder().type(ResponseFormatType.JSON).jsonSchema(schema).build();
    var request = ChatRequest.builder().messages(UserMessage.from(ask.prompt())).responseFormat(form).build();
    return Main.JSON.readTree(model(at, ask).strictJsonSchema(true).build().chat(request).aiMessage().text());
  }

  /** The cause of a refusal has the status, and the body as its message. */
  @Override
  public Seen read(Throwable error) throws IOException {
    if (!(error.getCause() instanceof HttpException told)) return new Seen(null, null, String.valueOf(error.getMessage()), null);
    JsonNode envelope = Main.JSON.readTree(told.getMessage()).path("error");
    Long required = envelope.has("required_micro") ? envelope.get("required_micro").asLong() : null;
    return new Seen(told.statusCode(), envelope.path("code").textValue(), envelope.path("message").textValue(), required);
  }
}
