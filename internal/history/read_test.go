package history

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
)

func TestFilesThatAreNotHistories(t *testing.T) {
	t.Parallel()
	header := `{"belfry_history":1,"source":"s","clock":"c"}` + "\n"
	event := func(more string) string { return `{"line":"event","process":"p",` + more + "}\n" }
	invoke := event(`"id":1,"type":"invoke","op":"cancel","args":{"jobs":[{"id":1}]},"time":5`)
	for name, c := range map[string]struct{ text, says string }{
		"empty":                    {"", "the history is empty"},
		"something else":           {"hello\n", "line 1: must be the header"},
		"JSON of something else":   {`{"a":1}` + "\n", "line 1: must be the header"},
		"of another version":       {`{"belfry_history":2,"source":"s","clock":"c"}` + "\n", "line 1: the history has format version 2, and this belfry reads version 1"},
		"without a source":         {`{"belfry_history":1,"clock":"c"}` + "\n", "line 1: source and clock must not be empty"},
		"cut in a line":            {header + `{"line":"ev`, "line 2: the line does not end: the file was cut"},
		"cut between lines":        {header + invoke, "line 2: the history has no end line: the file was cut"},
		"with lines missing":       {header + `{"line":"end","lines":3}` + "\n", "line 2: the end says that there are 3 lines, and there are 2"},
		"two put together":         {header + `{"line":"end","lines":2}` + "\n" + header, "line 3: stands behind the last line"},
		"no object":                {header + "7\n", "line 2: must be a JSON object"},
		"a kind that is not known": {header + `{"line":"note"}` + "\n", `line must be one of event, execution`},
		"a field that is not":      {header + `{"line":"execution","job":1,"lease":1,"leese":2,"start":1}` + "\n", `line 2: unknown field "leese"`},
		"a field of another type":  {header + `{"line":"execution","job":"1","lease":1,"start":1}` + "\n", "line 2: cannot unmarshal string"},
		"an unknown operation":     {header + event(`"id":1,"type":"invoke","op":"cancle","time":1`), `op must be one of enqueue, cancel`},
		"an unknown type":          {header + invoke + event(`"id":1,"type":"done","op":"cancel","time":9`), `line 3: type must be one of invoke, ok, fail, unknown, and is "done"`},
		"an end without a begin":   {header + event(`"id":1,"type":"ok","op":"cancel","result":{},"time":1`), "line 2: operation 1 of process p ends and was not invoked"},
		"two begins":               {header + invoke + invoke, "line 3: operation 1 of process p was invoked already in line 2"},
		"two ends": {header + invoke + strings.Repeat(event(`"id":1,"type":"fail","op":"cancel","time":9`), 2),
			"line 4: operation 1 of process p ended already in line 3"},
		"another operation's end":   {header + invoke + event(`"id":1,"type":"ok","op":"retry","result":{},"time":9`), "line 3: operation 1 of process p is cancel in line 2, and retry here"},
		"an end before its begin":   {header + invoke + event(`"id":1,"type":"ok","op":"cancel","result":{},"time":1`), "before it was invoked at 5 in line 2"},
		"an answer without content": {header + invoke + event(`"id":1,"type":"ok","op":"cancel","time":9`), "must have a result"},
		"too few answers": {header + event(`"id":1,"type":"invoke","op":"enqueue","args":{"jobs":[{"task":"t"}]},"time":1`) + event(`"id":1,"type":"ok","op":"enqueue","result":{},"time":9`),
			"enqueue of 1 jobs in line 2 is answered with 0"},
		"an execution of nothing":       {header + `{"line":"execution","lease":1,"start":1}` + "\n", "job and lease must be greater than 0"},
		"an end without an outcome":     {header + `{"line":"execution","job":1,"lease":1,"start":1,"end":2}` + "\n", "end and outcome go together"},
		"an end before its start":       {header + `{"line":"execution","job":1,"lease":1,"start":3,"end":2,"outcome":"ok"}` + "\n", "end must not be before start"},
		"an outcome that is not known":  {header + `{"line":"execution","job":1,"lease":1,"start":1,"end":2,"outcome":"good"}` + "\n", "outcome must be one of"},
		"a job without a state":         {header + `{"line":"job","id":1,"task":"t","time":1}` + "\n", "id and state must be given"},
		"a rule that cannot be read":    {header + `{"line":"schedule","definition":{"name":"s","task":"t","rules":[{"cron":"x"}]},"from":1,"to":2}` + "\n", "definition must be a schedule"},
		"a decision that is not known":  {header + `{"line":"occurrence","schedule":"s","nominal":1,"decision":"maybe"}` + "\n", "decision must be one of"},
		"an occurrence without a time":  {header + `{"line":"occurrence","schedule":"s","decision":"job"}` + "\n", "schedule and nominal must be given"},
		"a row that ends before itself": {header + `{"line":"occurrence","schedule":"s","nominal":5,"until":4,"decision":"job"}` + "\n", "until must not be before nominal"},
		"a monitor without a span":      {header + `{"line":"monitor","name":"m","from":5,"to":5}` + "\n", "name must be given, and to be after from"},
		"a target that is half up":      {header + `{"line":"target","monitor":"m","time":5,"state":"half"}` + "\n", "state be up or down"},
		"complete in what is not":       {header + `{"line":"end","lines":2,"complete":["jobs"]}` + "\n", `complete must have kinds of lines, and has "jobs"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := Read(strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v", err)
			}
		})
	}
}

// Many processes record at the same time, and the result can be read.
func TestTheWriterIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	w := NewWriter(&out, Header{Source: "many"}, nil)
	var all sync.WaitGroup
	for p := range 8 {
		all.Go(func() {
			for i := range 50 {
				c := w.Invoke(fmt.Sprint("p", p), OpEnqueue, Args{Jobs: []JobArgs{{Task: "t"}}})
				switch i % 3 {
				case 0:
					c.OK(Result{Jobs: []JobResult{{ID: int64(p*50 + i + 1)}}})
				case 1:
					c.Fail(errors.New("refused"))
				}
			}
		})
	}
	all.Wait()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w.Invoke("late", OpRead, Args{}).Unknown(errors.New("after the end")) // is not part of the history
	h, err := Read(strings.NewReader(out.String()))
	if err != nil {
		t.Fatal(err)
	}
	if r := Check(h); r.Err() != nil || r.Counts.Operations != 400 || r.Counts.Failed != 8*17 || r.Counts.Unknown != 8*16 {
		t.Errorf("%+v: %v", r, r.Err())
	}
}

func TestMalformedLinesAreRefused(t *testing.T) {
	t.Parallel()
	w := NewWriter(&strings.Builder{}, Header{Source: "s"}, nil)
	w.Add(7)
	if err := w.Close(); err == nil || !strings.Contains(err.Error(), "not a line") {
		t.Error(err)
	}
}
