package page

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/itchyny/gojq"
)

// query is a jq expression that only selects: without environment, modules,
// input, definitions and loops. The rest of the language cannot amplify its
// input much, so a deadline and a limit on its output suffice.
type query struct{ code *gojq.Code }

// jqTime is the time limit of an expression on one document.
const jqTime = 2 * time.Second

func compileJQ(text string) (*query, error) {
	if len(text) > maxSelector {
		return nil, fmt.Errorf("has more than %d bytes", maxSelector)
	}
	parsed, err := gojq.Parse(text)
	if err != nil {
		return nil, err
	}
	growth, err := growthOf(parsed)
	if err != nil {
		return nil, err
	}
	if growth > maxGrowth {
		return nil, fmt.Errorf("could make its answer over %d times as large as the document", maxGrowth)
	}
	code, err := gojq.Compile(parsed)
	if err != nil {
		return nil, err
	}
	return &query{code}, nil
}

// find evaluates the query. It treats null as no value: .price of an object without a price.
func (q *query) find(ctx context.Context, doc *document) (f found, err error) {
	ctx, cancel := context.WithTimeout(ctx, jqTime)
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			f, err = found{}, misused{fmt.Errorf("json_path: %v", v)}
		}
	}()
	answers := q.code.RunWithContext(ctx, doc.value)
	for {
		v, more := answers.Next()
		if !more || f.full() {
			return f, nil
		}
		if err, failed := v.(error); failed {
			if ctx.Err() != nil {
				return found{}, fmt.Errorf("json_path took too long: %w", ctx.Err())
			}
			var halt *gojq.HaltError
			if errors.As(err, &halt) {
				return f, nil
			}
			f.why = err.Error()
			return f, nil
		}
		if v == nil {
			continue
		}
		text, err := jsonText(v)
		if err != nil {
			return found{}, err
		}
		f.value(text)
	}
}

// jsonText returns a string unchanged, and other values with sorted keys and a
// line for each entry.
func jsonText(v any) (string, error) {
	if text, ok := v.(string); ok {
		return text, nil
	}
	b, err := gojq.Marshal(v)
	if err != nil {
		return "", err
	}
	var lines bytes.Buffer
	if err := json.Indent(&lines, b, "", " "); err != nil {
		return "", err
	}
	return lines.String(), nil
}

// maxValues limits the values of a JSON document: a value takes up to 100 bytes
// in memory, and at least two in the document.
const maxValues = 2_000_000

// parseJSON reads one JSON value; its numbers keep their digits.
func parseJSON(body []byte) (any, error) {
	if n := bytes.Count(body, []byte(",")) + bytes.Count(body, []byte("[")) + bytes.Count(body, []byte("{")); n > maxValues {
		return nil, tooComplex{fmt.Errorf("the document has more than %d values", maxValues)}
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, errors.New("something stands after the value")
	}
	return v, nil
}
