package flow

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/core"
)

// Fair makes the jobs of a queue take turns between their keys: workers start equally many of each key, whatever the number
// of waiting jobs.
type Fair struct {
	Key     string         `json:"key" doc:"Jobs with the same value share their turns, such as input.customer, namespace or task"`
	Weights map[string]int `json:"weights,omitempty" doc:"How many turns a value of the key has for each turn of others, 1 to 100, by value; default: 1"`
}

// Bounds of weights.
const (
	MaxWeight  = 100
	MaxWeights = 100 // of a queue
)

// TurnCost is by how much a job advances the turn of its key if the key has weight 1.
const TurnCost = 1000

// Cost returns by how much a job advances the turn of its key: a larger weight costs less.
func (f Fair) Cost(value string) int64 { return int64(TurnCost / max(1, f.Weights[value])) }

// Turns returns the turns of n jobs of a key that become ready together. first is the turn of the first job; each further job
// is one cost later. after is the earliest turn of the next job of the key. reached is the largest claimed turn. A key without
// waiting jobs begins there, so it neither waits for other keys nor accumulates turns.
func Turns(reached, next, cost int64, n int) (first, after int64) {
	first = max(reached, next)
	return first, first + cost*int64(n)
}

// ValueOf returns the value of the key for a job.
func (f Fair) ValueOf(from KeySource) string { return KeyValue(f.Key, from) }

// Validate returns all problems as one error, or nil.
func (f Fair) Validate() error {
	var p core.Problems
	if err := CheckKey(f.Key); err != nil {
		p.Add("key", f.Key, err.Error(), KeyHint)
	} else if strings.TrimSpace(f.Key) == "" {
		p.Add("key", f.Key, "is missing", KeyHint)
	}
	p.AtMost("weights", len(f.Weights), MaxWeights)
	for _, value := range slices.Sorted(maps.Keys(f.Weights)) {
		switch weight := f.Weights[value]; {
		case weight < 1 || weight > MaxWeight:
			p.Add("weights", strconv.Itoa(weight), fmt.Sprintf("of %q is outside 1 to %d", short(value), MaxWeight), "to have a key wait more, give the others more")
		case keptKey(value) != value:
			p.Add("weights", short(value), fmt.Sprintf("has a value over %d bytes, or one that is no text", MaxKeyValue), "")
		}
	}
	return p.Err("fair")
}

// ParseWeights parses weights such as acme=3, one in each text.
func ParseWeights(texts []string) (map[string]int, error) {
	var p core.Problems
	weights := map[string]int{}
	for _, text := range texts {
		at := strings.LastIndexByte(text, '=')
		weight, err := strconv.Atoi(strings.TrimSpace(text[at+1:]))
		if at < 0 || err != nil {
			p.Add("fair.weights", text, "is not a value and its weight", "such as acme=3")
			continue
		}
		value := strings.TrimSpace(text[:at])
		if _, twice := weights[value]; twice {
			p.Add("fair.weights", text, "is there twice", "name each value once")
		}
		weights[value] = weight
	}
	if len(weights) == 0 {
		weights = nil
	}
	return weights, p.Err("queue")
}

// WeightTexts formats the weights for [ParseWeights].
func (f Fair) WeightTexts() (texts []string) {
	for _, value := range slices.Sorted(maps.Keys(f.Weights)) {
		texts = append(texts, value+"="+strconv.Itoa(f.Weights[value]))
	}
	return texts
}

func short(value string) string {
	if len(value) <= 64 {
		return value
	}
	return strings.ToValidUTF8(value[:64], "") + "…"
}
