// Drives a Go client over standard input: one JSON request a line, one JSON answer a line.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
)

type connection struct {
	BaseURL    string `json:"baseURL"`
	APIKey     string `json:"apiKey"`
	MaxRetries int    `json:"maxRetries"`
}

type ask struct {
	Model     string          `json:"model"`
	Prompt    string          `json:"prompt"`
	MaxTokens int             `json:"maxTokens"`
	Input     []string        `json:"input"`
	Schema    json.RawMessage `json:"schema"`
}

type answer struct {
	Text      string  `json:"text"`
	Finish    string  `json:"finish"`
	Tokens    int     `json:"tokens"`
	Reasoning *string `json:"reasoning"`
}

// seen is a failure, read from where the client keeps it.
type seen struct {
	Raised   string `json:"raised,omitempty"`
	Status   int    `json:"status,omitempty"`
	Code     string `json:"code,omitempty"`
	Message  string `json:"message,omitempty"`
	Required int    `json:"required,omitempty"`
}

// reply has the value, or the failure, and the pieces of text that came before.
type reply struct {
	Value  any      `json:"value,omitempty"`
	Pieces []string `json:"pieces"`
	seen
}

type operation func(at connection, ask ask, onText func(string)) (any, error)

type client struct {
	operations map[string]operation
	read       func(error) seen
}

// errLeft ends a stream after its first text.
var errLeft = errors.New("left the stream")

func main() {
	driven, there := map[string]client{"openai-go": openaiGo, "langchaingo": langchaingo}[os.Args[1]]
	if !there {
		panic("no such client: " + os.Args[1])
	}
	if err := serve(driven, json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)); err != nil {
		panic(err)
	}
}

func serve(driven client, requests *json.Decoder, replies *json.Encoder) error {
	names := slices.Sorted(maps.Keys(driven.operations))
	if err := replies.Encode(map[string]any{"operations": names}); err != nil {
		return err
	}
	for {
		var request struct {
			Operation string     `json:"operation"`
			At        connection `json:"at"`
			Ask       ask        `json:"ask"`
		}
		if err := requests.Decode(&request); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		given := reply{Pieces: []string{}}
		value, err := driven.operations[request.Operation](request.At, request.Ask, func(text string) {
			given.Pieces = append(given.Pieces, text)
		})
		if err == nil {
			given.Value = value
		} else {
			given.seen = driven.read(err)
			given.Raised = fmt.Sprintf("%T", err)
		}
		if err := replies.Encode(given); err != nil {
			return err
		}
	}
}
