// langchaingo's model for services that speak the dialect. It has no retries.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strconv"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/openai"
)

var langchaingo = client{
	operations: map[string]operation{
		"chat": func(at connection, ask ask, _ func(string)) (any, error) {
			choice, err := generate(at, ask)
			if err != nil {
				return nil, err
			}
			given := answer{Text: choice.Content, Finish: choice.StopReason, Tokens: choice.GenerationInfo["CompletionTokens"].(int)}
			if choice.ReasoningContent != "" {
				given.Reasoning = &choice.ReasoningContent
			}
			return given, nil
		},
		"stream": func(at connection, ask ask, onText func(string)) (any, error) {
			_, err := generate(at, ask, llms.WithStreamingFunc(func(_ context.Context, chunk []byte) error {
				if len(chunk) > 0 {
					onText(string(chunk))
				}
				return nil
			}))
			return nil, err
		},
		"streamUsage": func(at connection, ask ask, _ func(string)) (any, error) {
			choice, err := generate(at, ask, llms.WithStreamingFunc(func(context.Context, []byte) error { return nil }))
			if err != nil {
				return nil, err
			}
			return choice.GenerationInfo["CompletionTokens"], nil
		},
		"cancel": func(at connection, ask ask, _ func(string)) (any, error) {
			_, err := generate(at, ask, llms.WithStreamingFunc(func(_ context.Context, chunk []byte) error {
				if len(chunk) > 0 {
					return errLeft
				}
				return nil
			}))
			if errors.Is(err, errLeft) {
				return nil, nil
			}
			return nil, err
		},
		// As far as its types can say the schema: they have no bounds of numbers.
		"structured": func(at connection, ask ask, _ func(string)) (any, error) {
			var schema openai.ResponseFormatJSONSchemaProperty
			if err := json.Unmarshal(ask.Schema, &schema); err != nil {
				return nil, err
			}
			form := openai.ResponseFormatJSONSchema{Name: "number", Strict: true, Schema: &schema}
			model, err := openModel(at, ask, openai.WithResponseFormat(&openai.ResponseFormat{Type: "json_schema", JSONSchema: &form}))
			if err != nil {
				return nil, err
			}
			text, err := llms.GenerateFromSinglePrompt(context.Background(), model, ask.Prompt)
			return json.RawMessage(text), err
		},
		"embed": func(at connection, ask ask, _ func(string)) (any, error) {
			model, err := openModel(at, ask, openai.WithEmbeddingModel(ask.Model))
			if err != nil {
				return nil, err
			}
			return model.CreateEmbedding(context.Background(), ask.Input)
		},
	},
	read: func(err error) seen {
		told := seen{Message: err.Error()}
		if status := statusIn.FindStringSubmatch(err.Error()); status != nil {
			told.Status, _ = strconv.Atoi(status[1])
		}
		return told
	},
}

// Its errors are texts.
var statusIn = regexp.MustCompile(`^API returned unexpected status code: (\d+)`)

func openModel(at connection, ask ask, more ...openai.Option) (*openai.LLM, error) {
	options := []openai.Option{openai.WithBaseURL(at.BaseURL), openai.WithToken(at.APIKey), openai.WithModel(ask.Model)}
	return openai.New(append(options, more...)...)
}

func generate(at connection, ask ask, more ...llms.CallOption) (*llms.ContentChoice, error) {
	model, err := openModel(at, ask)
	if err != nil {
		return nil, err
	}
	if ask.MaxTokens > 0 {
		more = append(more, llms.WithMaxTokens(ask.MaxTokens))
	}
	messages := []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, ask.Prompt)}
	whole, err := model.GenerateContent(context.Background(), messages, more...)
	if err != nil {
		return nil, err
	}
	return whole.Choices[0], nil
}
