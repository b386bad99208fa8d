package sqs_test

import (
	"strings"
	"testing"

	"github.com/belfry-run/belfry/app/transport/sqs"
	"github.com/belfry-run/belfry/core"
)

func TestAddresses(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]sqs.Place{
		"sqs://eu-central-1/render":                              {Region: "eu-central-1", Queue: "render", Dead: "render-dead"},
		"sqs://eu-central-1/render?dead=poison":                  {Region: "eu-central-1", Queue: "render", Dead: "poison"},
		"sqs://here/render?endpoint=http://127.0.0.1:9324":       {Region: "here", Queue: "render", Dead: "render-dead", Endpoint: "http://127.0.0.1:9324"},
		"sqs://here/render_2?endpoint=https://sqs.example.org/x": {Region: "here", Queue: "render_2", Dead: "render_2-dead", Endpoint: "https://sqs.example.org/x"},
	} {
		if got, err := sqs.Parse(address); err != nil || got != want {
			t.Errorf("%s: %+v, %v", address, got, err)
		}
	}
	for _, address := range []string{
		"", "sqs:", "sqs://", "sqs://eu-central-1", "sqs://eu-central-1/", "sqs://eu-central-1/a/b", "sqs://eu-central-1/render.fifo",
		"sqs://key:hunter2@eu-central-1/render", "sqs://eu-central-1/render?secret=hunter2", "sqs://eu-central-1/render#hunter2",
		"sqs://eu-central-1/render?dead=a&dead=b", "sqs://eu-central-1/render?dead=render", "sqs://eu-central-1/" + strings.Repeat("x", 81),
		"sqs://eu-central-1/render?endpoint=hunter2", "sqs://eu-central-1/render?endpoint=http://hunter2@x", "sqs://eu-central-1/render?%zz=hunter2",
	} {
		_, err := sqs.Parse(address)
		if core.CodeOf(err) != core.Invalid || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
