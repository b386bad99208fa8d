package load

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
)

// Serve answers the requests of a [Remote] until its input ends, and closes the
// queue.
func Serve(q Queue, in io.Reader, out io.Writer) error {
	l := NewLocal(q)
	lines, answers := bufio.NewScanner(in), json.NewEncoder(out)
	err := answers.Encode(answer{}) // ready
	for err == nil && lines.Scan() {
		var a answer
		is, failed := serve(l, lines.Bytes())
		if failed == nil && is != nil {
			a.Is, failed = json.Marshal(is)
		}
		if failed != nil {
			a = answer{Error: failed.Error()}
		}
		err = answers.Encode(a)
	}
	if err == nil {
		err = lines.Err()
	}
	if closed := l.Close(); err == nil {
		err = closed
	}
	return err
}

func serve(l *Local, line []byte) (any, error) {
	var q request
	if err := json.Unmarshal(line, &q); err != nil {
		return nil, err
	}
	ctx := context.Background()
	if q.For > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, q.For)
		defer cancel()
	}
	switch q.Do {
	case "insert":
		return with(q, func(in Insert) (any, error) { return l.Insert(ctx, in) })
	case "end-to-end":
		return with(q, func(in Insert) (any, error) { return l.EndToEnd(ctx, in) })
	case "offer":
		return with(q, func(o Offer) (any, error) { return l.Offer(ctx, o) })
	case "burn-down":
		return l.BurnDown(ctx)
	case "start":
		return nil, l.Start(ctx)
	case "stop":
		return nil, l.Stop(ctx)
	}
	return nil, fmt.Errorf("no request is called %q", q.Do)
}

func with[T any](q request, fn func(T) (any, error)) (any, error) {
	var v T
	if err := json.Unmarshal(q.With, &v); err != nil {
		return nil, err
	}
	return fn(v)
}
