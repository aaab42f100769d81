// The official Go package.
package main

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
)

var openaiGo = client{
	operations: map[string]operation{
		"chat": func(at connection, ask ask, _ func(string)) (any, error) {
			whole, err := create(at, chatParams(ask))
			if err != nil {
				return nil, err
			}
			choice := whole.Choices[0]
			given := answer{
				Text:   choice.Message.Content,
				Finish: choice.FinishReason,
				Tokens: int(whole.Usage.CompletionTokens),
			}
			if field, there := choice.Message.JSON.ExtraFields["vendor_reasoning_content"]; there {
				err = json.Unmarshal([]byte(field.Raw()), &given.Reasoning)
			}
			return given, err
		},
		"stream": func(at connection, ask ask, onText func(string)) (any, error) {
			return nil, read(at, chatParams(ask), func(chunk openai.ChatCompletionChunk) bool {
				if text := textOf(chunk); text != "" {
					onText(text)
				}
				return true
			})
		},
		"streamUsage": func(at connection, ask ask, _ func(string)) (any, error) {
			params := chatParams(ask)
			params.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}
			var tokens int64
			err := read(at, params, func(chunk openai.ChatCompletionChunk) bool {
				tokens = chunk.Usage.CompletionTokens
				return true
			})
			return tokens, err
		},
		"cancel": func(at connection, ask ask, _ func(string)) (any, error) {
			return nil, read(at, chatParams(ask), func(chunk openai.ChatCompletionChunk) bool { return textOf(chunk) == "" })
		},
		"structured": func(at connection, ask ask, _ func(string)) (any, error) {
			params := chatParams(ask)
			form := shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "number", Schema: ask.Schema, Strict: openai.Bool(true)}
			params.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{JSONSchema: form}
			whole, err := create(at, params)
			if err != nil {
				return nil, err
			}
			return json.RawMessage(whole.Choices[0].Message.Content), nil
		},
		"responses": func(at connection, ask ask, _ func(string)) (any, error) {
			input := responses.ResponseNewParamsInputUnion{OfString: openai.String(ask.Prompt)}
			whole, err := connect(at).Responses.New(context.Background(), responses.ResponseNewParams{Model: ask.Model, Input: input})
			if err != nil {
				return nil, err
			}
			return whole.OutputText(), nil
		},
		"complete": func(at connection, ask ask, _ func(string)) (any, error) {
			whole, err := connect(at).Completions.New(context.Background(), openai.CompletionNewParams{
				Model:  openai.CompletionNewParamsModel(ask.Model),
				Prompt: openai.CompletionNewParamsPromptUnion{OfString: openai.String(ask.Prompt)},
			})
			if err != nil {
				return nil, err
			}
			return whole.Choices[0].Text, nil
		},
		"embed": func(at connection, ask ask, _ func(string)) (any, error) {
			whole, err := connect(at).Embeddings.New(context.Background(), openai.EmbeddingNewParams{
				Model: ask.Model,
				Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: ask.Input},
			})
			if err != nil {
				return nil, err
			}
			vectors := [][]float64{}
			for _, item := range whole.Data {
				vectors = append(vectors, item.Embedding)
			}
			return vectors, nil
		},
		"models": func(at connection, _ ask, _ func(string)) (any, error) {
			ids := []string{}
			list := connect(at).Models.ListAutoPaging(context.Background())
			for list.Next() {
				ids = append(ids, list.Current().ID)
			}
			return ids, list.Err()
		},
	},
	read: func(err error) seen {
		var refused *openai.Error
		if errors.As(err, &refused) {
			told := seen{Status: refused.StatusCode, Code: refused.Code, Message: refused.Message}
			if field, there := refused.JSON.ExtraFields["required_micro"]; there {
				if err := json.Unmarshal([]byte(field.Raw()), &told.Required); err != nil {
					panic(err)
				}
			}
			return told
		}
		// An error event inside a stream is kept as it came.
		var broken *ssestream.StreamError
		var event struct {
			Error struct{ Code string }
		}
		if errors.As(err, &broken) {
			if err := json.Unmarshal(broken.Event.Data, &event); err != nil {
				panic(err)
			}
		}
		return seen{Code: event.Error.Code, Message: err.Error()}
	},
}

func connect(at connection) *openai.Client {
	client := openai.NewClient(
		option.WithBaseURL(at.BaseURL),
		option.WithAPIKey(at.APIKey),
		option.WithMaxRetries(at.MaxRetries),
	)
	return &client
}

func chatParams(ask ask) openai.ChatCompletionNewParams {
	params := openai.ChatCompletionNewParams{
		Model:    ask.Model,
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(ask.Prompt)},
	}
	if ask.MaxTokens > 0 {
		params.MaxTokens = openai.Int(int64(ask.MaxTokens))
	}
	return params
}

func create(at connection, params openai.ChatCompletionNewParams) (*openai.ChatCompletion, error) {
	return connect(at).Chat.Completions.New(context.Background(), params)
}

// read hands on every chunk until it is told to stop.
func read(at connection, params openai.ChatCompletionNewParams, onChunk func(openai.ChatCompletionChunk) bool) error {
	stream := connect(at).Chat.Completions.NewStreaming(context.Background(), params)
	for stream.Next() {
		if !onChunk(stream.Current()) {
			return stream.Close()
		}
	}
	return stream.Err()
}

func textOf(chunk openai.ChatCompletionChunk) string {
	if len(chunk.Choices) == 0 {
		return ""
	}
	return chunk.Choices[0].Delta.Content
}
