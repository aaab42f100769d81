package clients;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/** Drives a Java client over standard input: one JSON request a line, one JSON answer a line. */
public final class Main {
  static final ObjectMapper JSON = new ObjectMapper();

  record Connection(String baseUrl, String apiKey, int maxRetries) {}

  record Ask(String model, String prompt, Integer maxTokens, List<String> input, JsonNode schema) {}

  record Answer(String text, String finish, Integer tokens, String reasoning) {}

  /** A failure, read from where the client keeps it. */
  record Seen(Integer status, String code, String message, Long required) {}

  interface Operation {
    Object run(Connection at, Ask ask, Consumer<String> onText) throws Throwable;
  }

  interface Client {
    Map<String, Operation> operations();

    Seen read(Throwable error) throws IOException;
  }

  public static void main(String[] args) throws IOException {
    Client client =
        switch (args[0]) {
          case "openai-java" -> new OpenAiJava();
          case "langchain4j" -> new LangChain4j();
          default -> throw new IllegalArgumentException("no such client: " + args[0]);
        };
    var requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    var replies = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    Map<String, Operation> operations = client.operations();
    replies.println(JSON.writeValueAsString(Map.of("operations", operations.keySet())));
    for (String line = requests.readLine(); line != null; line = requests.readLine()) {
      JsonNode request = JSON.readTree(line);
      List<String> pieces = new ArrayList<>();
      ObjectNode reply = JSON.createObjectNode();
      try {
        Operation operation = operations.get(request.get("operation").asText());
        Object value = operation.run(connectionOf(request.get("at")), askOf(request.path("ask")), pieces::add);
        reply.set("value", JSON.valueToTree(value));
      } catch (Throwable error) {
        reply = JSON.valueToTree(client.read(error));
        reply.put("raised", error.getClass().getSimpleName());
      }
      reply.set("pieces", JSON.valueToTree(pieces));
      replies.println(JSON.writeValueAsString(reply));
    }
    // HTTP clients keep threads for a while.
    System.exit(0);
  }

  private static Connection connectionOf(JsonNode at) {
    return new Connection(at.get("baseURL").asText(), at.get("apiKey").asText(), at.get("maxRetries").asInt());
  }

  private static Ask askOf(JsonNode ask) {
    Integer maxTokens = ask.has("maxTokens") ? ask.get("maxTokens").asInt() : null;
    List<String> input = new ArrayList<>();
    ask.path("input").forEach(text -> input.add(text.asText()));
    return new Ask(ask.path("model").asText(), ask.path("prompt").asText(), maxTokens, input, ask.get("schema"));
  }
}
