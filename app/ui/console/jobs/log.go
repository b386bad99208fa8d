package jobs

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/app/ui/internal/asset"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

const (
	logPage  = 1000 // lines of a page without scripts, and pieces of one read
	logBlock = 500  // lines of one request of the script
	logFound = 1000 // lines in the answer of a search

	logWrite = 10 * time.Second // to write one piece of a file
)

// logPart is some lines of a job's log.
type logPart struct {
	Job     job.Job
	Attempt int // 0: all
	Streams string
	Lines   []logLine
	From    int    // lines before the first
	Total   int    // lines written so far
	Bad     int    // number of the first line about an error; 0: none
	Gap     int    // number of the first line that replaces missing lines
	At      int    // number of the line that was asked for
	Find    string // the searched text
	Found   int    // lines with that

	zone *time.Location // its times are shown in
}

// Zone is where its times are shown.
func (part logPart) Zone() string { return part.zone.String() }

// logLine is a line of a log.
type logLine struct {
	Number  int
	Row     int // among those of the streams that are shown, from 0
	Attempt int
	Stream  job.Stream
	At      time.Time // in the zone that it is shown in
	Inks    []inked
	Open    bool // it has no end yet
	Gap     bool // it replaces missing lines
}

// Time is when its beginning was written.
func (l *logLine) Time() string { return l.At.Format("15:04:05.000") }

// numberOf reads a positive number of the request.
func (p *page) numberOf(name, what string) (int, error) {
	text := p.Query(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, core.InvalidField(name, text, "is not the number of "+what, "a number from 1")
	}
	return n, nil
}

// openLog is the log that the request is about, and its index as of now.
func (p *page) openLog(j job.Job) (part logPart, set streamSet, x *logIndex, read logReader, err error) {
	part = logPart{Job: j, Streams: p.Query("streams"), Find: p.Query("find"), zone: p.Times.Zone}
	if part.Attempt, err = p.numberOf("attempt", "an attempt"); err != nil {
		return part, set, nil, nil, err
	}
	if part.At, err = p.numberOf("line", "a line"); err != nil {
		return part, set, nil, nil, err
	}
	set = allStreams
	if part.Streams != "" {
		for i, s := range streams {
			set[i] = strings.Contains(part.Streams, string(s))
		}
	}
	read = func(ctx context.Context, cursor string) (core.Page[job.LogLine], error) {
		return p.api.Logs(ctx, p.Namespace, j.ID, job.LogFilter{Attempt: part.Attempt, Paging: core.Paging{Limit: logPage, Cursor: cursor}})
	}
	x = p.logs.of(logID{j.ID, part.Attempt})
	part.Total, part.Bad, part.Gap, err = x.extend(p.R.Context(), read, set)
	return part, set, x, read, err
}

// readLog reads the requested lines of a log: from a line on, around a line, the results of a search, or else the last lines.
func (p *page) readLog(j job.Job, count int) (logPart, error) {
	part, set, x, read, err := p.openLog(j)
	if err != nil {
		return part, err
	}
	var lines []*logged
	if part.Find != "" {
		lines, part.Found, err = find(p.R.Context(), read, set, part.Find, logFound)
		part.add(lines, set)
		return part, err
	}
	part.From = max(0, part.Total-count)
	if part.At > 0 {
		part.From = max(0, min(part.At-1-count/2, part.From))
	}
	if text := p.Query("from"); text != "" {
		if part.From, err = strconv.Atoi(text); err != nil || part.From < 0 {
			return part, core.InvalidField("from", text, "is not a number of lines", "a number from 0")
		}
	}
	if lines, err = x.rows(p.R.Context(), read, set, part.From, count); err == nil {
		part.add(lines, set)
	}
	return part, err
}

func (part *logPart) add(lines []*logged, set streamSet) {
	for _, l := range lines {
		part.Lines = append(part.Lines, logLine{Number: l.number(), Row: l.before.of(set), Attempt: l.attempt, Stream: streams[l.stream], At: l.at.In(part.zone), Inks: l.inks(), Open: l.open,
			Gap: l.isGap()})
	}
}

// Last is the number of lines up to the last that is shown.
func (part logPart) Last() int { return part.From + len(part.Lines) }

// Earlier is the first line of the previous page.
func (part logPart) Earlier() int { return max(0, part.From-logPage) }

// LineLink is the page around a line.
func (p *page) LineLink(n int) string {
	return p.Here("line", n, "find", "", "from", "") + "#L" + strconv.Itoa(n)
}

// foundText is a line that a search found, without its colours.
func foundText(l logLine) string {
	var b strings.Builder
	for _, piece := range l.Inks {
		b.WriteString(piece.Text)
	}
	return b.String()
}

// Live reports that more may be written.
func (part logPart) Live() bool { return !part.Job.State.Final() }

// LogLink is a part of the log, or all of it as text.
func (p *page) LogLink(part logPart, name string) string {
	return p.With(p.Link("jobs", part.Job.ID, name), "attempt", numberOrNone(part.Attempt))
}

func numberOrNone(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// AttemptTabs are the log of each attempt, and of all.
func (p *page) AttemptTabs(d jobData) []parts.Tab {
	if d.Job.Attempt < 2 {
		return nil
	}
	tabs := []parts.Tab{parts.NewTab("All attempts", p.Here("attempt", "", "from", "", "line", ""), d.Log.Attempt == 0, "")}
	for n := max(1, d.Job.Attempt-19); n <= d.Job.Attempt; n++ {
		tabs = append(tabs, parts.NewTab(fmt.Sprintf("Attempt %d", n), p.Here("attempt", n, "from", "", "line", ""), d.Log.Attempt == n, ""))
	}
	return tabs
}

// jobLogPart answers some lines, for the script of a page.
func jobLogPart(p *page) error {
	job, err := p.job()
	if err != nil {
		return err
	}
	part, err := p.readLog(job, logBlock)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := templates("job").ExecuteTemplate(&b, "log-part", part); err != nil {
		return err
	}
	p.W.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = p.W.Write(asset.Pack(p.W.Header(), p.R, b.Bytes())) // the client may have closed the connection
	return nil
}

// jobLogText answers the whole log as a file: as it was written, or with times
// and streams before each line.
func jobLogText(p *page) error {
	j, err := p.job()
	if err != nil {
		return err
	}
	attempt, _ := strconv.Atoi(p.Query("attempt"))
	f := job.LogFilter{Attempt: attempt, Paging: core.Paging{Limit: logPage}}
	got, err := p.api.Logs(p.R.Context(), p.Namespace, j.ID, f)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("job-%d.log", j.ID)
	if attempt > 0 {
		name = fmt.Sprintf("job-%d-attempt-%d.log", j.ID, attempt)
	}
	h := p.W.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	out := http.NewResponseController(p.W)
	stream, times := job.Stream(p.Query("stream")), p.Query("times") != ""
	for {
		_ = out.SetWriteDeadline(time.Now().Add(logWrite))
		for _, piece := range got.Items {
			if stream != "" && piece.Stream != stream {
				continue
			}
			text := piece.Text
			if times {
				text = stamped(piece)
			}
			if _, err := p.W.Write([]byte(text)); err != nil {
				return nil
			}
		}
		if len(got.Items) == 0 {
			return nil
		}
		f.Cursor = got.Next
		if got, err = p.api.Logs(p.R.Context(), p.Namespace, j.ID, f); err != nil {
			if p.R.Context().Err() == nil { // and not because the client has closed the connection
				p.Site.Log.Warn("log was not sent to its end", "job", j.ID, "error", err)
			}
			panic(http.ErrAbortHandler) // a cut file must not look like a whole one
		}
	}
}

// stamped is a piece with its time and stream before each line.
func stamped(piece job.LogLine) string {
	var b strings.Builder
	for line := range strings.Lines(piece.Text) {
		fmt.Fprintf(&b, "%s %s %s\n", piece.At.UTC().Format(time.RFC3339Nano), piece.Stream, strings.TrimSuffix(line, "\n"))
	}
	return b.String()
}
