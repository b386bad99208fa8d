package jobs

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/plainjson"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/view"
)

const (
	bulkSample = 20              // jobs that a dry run shows
	bulkSpan   = 2 * time.Second // of work between two answers
	bulkNamed  = 10              // jobs that are named with each reason
)

// bulk is something to be done to many jobs: to some by id, or to all that a
// search finds. It is carried from one page to the next in the form.
type bulk struct {
	Verb   bulkVerb
	IDs    []int64
	Search string // with its times fixed, so that the action finds the shown jobs
	Note   string
	Key    string // of a retry, idempotency key
	Cursor string

	Done int
	Left []leftFor
	More bool

	Said   string // the search as it was written
	Sample []job.Job
	Count  core.Counted
	Err    error
}

// leftFor are jobs that it was not done to, for one reason.
type leftFor struct {
	Why  string
	Jobs int
	IDs  []int64 // some of them
}

// All reports that it is about everything a search finds.
func (b bulk) All() bool { return len(b.IDs) == 0 }

// Counted is how many jobs it is about.
func (b bulk) Counted() string {
	if b.Count.Count == 1 && !b.Count.More {
		return "1 job"
	}
	return parts.Counted(b.Count) + " jobs"
}

// None reports that no job matches.
func (b bulk) None() bool { return b.Count.Count == 0 && !b.Count.More }

// do is the verb's method of the API.
func (b bulk) do(p *page) func(context.Context, string, view.Selection) (view.Selected, error) {
	if b.Verb.Name == "cancel" {
		return p.api.CancelJobs
	}
	return p.api.RetryJobs
}

func (b bulk) selection() view.Selection {
	if b.All() {
		return view.Selection{Query: b.Search, Cursor: b.Cursor, Note: b.Note, Key: b.Key}
	}
	return view.Selection{IDs: b.IDs, Note: b.Note, Key: b.Key}
}

// readBulk reads one from an address or a form.
func readBulk(from url.Values) (bulk, error) {
	v, ok := bulkVerbs[from.Get("do")]
	if !ok {
		return bulk{}, core.InvalidField("do", from.Get("do"), "is nothing that can be done to many jobs", "cancel or retry")
	}
	b := bulk{Verb: v, Search: strings.TrimSpace(from.Get("q")), Note: from.Get("note"), Key: from.Get("key"), Cursor: from.Get("cursor")}
	b.Said = b.Search
	for _, text := range from["job"] {
		id, err := job.IDFromText("job", text)
		if err != nil {
			return b, err
		}
		b.IDs = append(b.IDs, id)
	}
	if len(b.IDs) == 0 && from.Has("selected") {
		return b, core.InvalidField("job", "", "is missing: no job was selected", "go back and select some, or do it to all that the search finds")
	}
	return b, nil
}

// fix makes a search mean the same later on: for the states that the verb
// fits, made until now.
func (b *bulk) fix(now time.Time) error {
	f, err := job.ParseJobFilter(b.Search, now.UTC())
	if err != nil {
		return err
	}
	if len(f.States) == 0 {
		f.States = b.Verb.usual
	}
	f.States = slices.DeleteFunc(slices.Clone(f.States), func(s job.State) bool { return !slices.Contains(b.Verb.fits, s) })
	if len(f.States) == 0 {
		return core.InvalidField("q", b.Search, "finds only jobs that cannot be "+b.Verb.Done, "those that can are "+strings.TrimSpace(stateTerm(b.Verb.fits)))
	}
	if f.Until.IsZero() {
		f.Until = now.Truncate(time.Second).Add(time.Second) // jobs created during the action are left out, or it might never end
	}
	b.Search = f.String()
	return nil
}

// jobsDryRun shows which jobs it would be, and asks.
func jobsDryRun(p *page) error {
	if err := p.Allow(access.ScopeOperate); err != nil {
		return err
	}
	b, err := readBulk(p.R.URL.Query())
	if err == nil && b.All() {
		err = b.fix(p.Now)
	}
	if err != nil {
		b.Err = err
		return p.Again("jobs-bulk", b, err)
	}
	ctx, sel := p.R.Context(), b.selection()
	sel.DryRun = true
	if b.Verb.Name == "retry" { // a form that is sent again retries no job a second time
		b.Key = rand.Text()
	}
	if b.All() {
		sel.Sample = bulkSample
	}
	found, err := b.do(p)(ctx, p.Namespace, sel)
	if err != nil {
		return err
	}
	b.Left = addLeft(nil, found.Left)
	if b.Count = (core.Counted{Count: len(found.IDs)}); found.Count != nil {
		b.Count = *found.Count
	}
	for _, id := range found.IDs[:min(len(found.IDs), bulkSample)] {
		j, err := p.api.Job(ctx, p.Namespace, id)
		if core.CodeOf(err) == core.NotFound {
			continue // pruned since
		}
		if err != nil {
			return err
		}
		b.Sample = append(b.Sample, j)
	}
	return p.Show("jobs-bulk", b)
}

// jobsBulk runs the action batch by batch for a limited time, then shows its progress. The page sends the form again until all
// is done.
func jobsBulk(p *page) error {
	b, err := readBulk(p.R.PostForm)
	if err != nil {
		return err
	}
	b.Said = p.R.PostFormValue("said")
	b.Done, _ = strconv.Atoi(p.R.PostFormValue("done"))
	_ = json.Unmarshal([]byte(p.R.PostFormValue("left")), &b.Left) // written by this page, and only shown
	if b.All() && b.Search == "" {
		return core.InvalidField("q", "", "is missing", "begin at the list of jobs")
	}
	for began := time.Now(); ; {
		r, err := b.do(p)(p.R.Context(), p.Namespace, b.selection())
		if err != nil {
			if b.Done == 0 {
				return err
			}
			b.Err, b.More = err, b.All() // finished batches stay, and are shown
			return p.Again("jobs-done", b, err)
		}
		b.Done += len(r.IDs)
		again := make(map[int64]string, len(r.Existing))
		for _, id := range r.Existing {
			again[id] = "was retried already"
		}
		b.Left = addLeft(addLeft(b.Left, r.Left), again)
		b.More, b.Cursor = r.More && r.Next != "", r.Next
		if !b.More || time.Since(began) > bulkSpan {
			break
		}
	}
	return p.Show("jobs-done", b)
}

// addLeft sums up why jobs were left.
func addLeft(all []leftFor, left map[int64]string) []leftFor {
	ids := make([]int64, 0, len(left))
	for id := range left {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		at := slices.IndexFunc(all, func(l leftFor) bool { return l.Why == left[id] })
		if at < 0 {
			all, at = append(all, leftFor{Why: left[id]}), len(all)
		}
		all[at].Jobs++
		if len(all[at].IDs) < bulkNamed {
			all[at].IDs = append(all[at].IDs, id)
		}
	}
	sort.SliceStable(all, func(i, k int) bool { return all[i].Jobs > all[k].Jobs })
	return all
}

// LeftJSON carries the jobs that were left out to the next batch.
func (b bulk) LeftJSON() string {
	text, _ := json.Marshal(b.Left) // plain words and numbers
	return string(text)
}

// LeftJobs is how many jobs it was not done to.
func (b bulk) LeftJobs() (n int) {
	for _, l := range b.Left {
		n += l.Jobs
	}
	return n
}

// BulkCommand is the same without these pages.
func (p *page) BulkCommand(b bulk) parts.Command {
	sel := view.Selection{IDs: b.IDs, Note: "why"}
	cli := []string{"job", b.Verb.Name}
	for _, id := range b.IDs {
		cli = append(cli, fmt.Sprint(id))
	}
	if b.All() {
		sel.Query = b.Search
		cli = append(cli, "--all", b.Search)
	}
	body, _ := plainjson.Marshal(sel) // plain words and numbers
	return p.Command("POST", p.APIPath("/v1/jobs/"+b.Verb.Name), string(body), append(cli, "--note", "why")...)
}
