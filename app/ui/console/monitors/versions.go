package monitors

import (
	"context"
	"fmt"
	"net/url"
	"strconv"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/textdiff"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/view"
)

type versionAPI interface {
	PageVersions(ctx context.Context, f view.VersionFilter) (core.Page[monitor.PageVersion], error)
	PageVersion(ctx context.Context, namespace, monitor string, seq int64) (monitor.PageVersion, error)
	AcceptPage(ctx context.Context, namespace, monitor string, seq int64) (monitor.PageVersion, error)
	PageDiff(ctx context.Context, namespace, monitor string, from, to int64) (PageDiff, error)
	LastChange(ctx context.Context, namespace, monitor string) (PageDiff, error)
}

// PageDiff is how one version of a page became another.
type PageDiff struct {
	From monitor.PageVersion // without its text
	To   monitor.PageVersion // without its text
	textdiff.Result
}

var versionRoutes = routes{
	"GET /monitors/{name}/versions":                   versionList,
	"GET /monitors/{name}/versions/{version}":         versionPage,
	"GET /monitors/{name}/diff":                       versionDiff,
	"POST /monitors/{name}/versions/{version}/accept": acceptVersion,
}

type versionsData struct {
	monitorHead
	Versions core.Page[monitor.PageVersion]
	One      monitor.PageVersion
	Diff     PageDiff
	Side     bool // by side
	Accept   *parts.Confirm
}

func (p *page) versionsOf(reads ...func() error) (d versionsData, err error) {
	d.At = "versions"
	reads = append(reads, frame.Get(&d.V, func() (view.MonitorView, error) {
		return p.api.Monitor(p.R.Context(), p.Namespace, p.R.PathValue("name"))
	}))
	return d, frame.Together(reads...)
}

func versionList(p *page) error {
	var list core.Page[monitor.PageVersion]
	d, err := p.versionsOf(frame.Get(&list, func() (core.Page[monitor.PageVersion], error) {
		return p.api.PageVersions(p.R.Context(), view.VersionFilter{Paging: core.Paging{Cursor: p.Query("cursor")}, Namespace: p.Namespace, Monitor: p.R.PathValue("name")})
	}))
	if err != nil {
		return err
	}
	d.Versions = list
	return p.Show("monitor-versions", d)
}

// versionNumber reads a version of an address: 0 is the newest, -1 the baseline.
func versionNumber(text string, fallback int64) (int64, error) {
	switch text {
	case "":
		return fallback, nil
	case "newest":
		return 0, nil
	case "baseline":
		return -1, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, core.Errorf(core.NotFound, "there is no version %q", text).WithHint("see the list of versions")
	}
	return n, nil
}

func versionPage(p *page) error {
	seq, err := versionNumber(p.R.PathValue("version"), 0)
	if err != nil {
		return err
	}
	var one monitor.PageVersion
	d, err := p.versionsOf(frame.Get(&one, func() (monitor.PageVersion, error) {
		return p.api.PageVersion(p.R.Context(), p.Namespace, p.R.PathValue("name"), seq)
	}))
	if err != nil {
		return err
	}
	d.One = one
	d.Accept = p.accept(d.V, one)
	return p.Show("monitor-version", d)
}

func versionDiff(p *page) error {
	name := p.R.PathValue("name")
	from, err := versionNumber(p.Query("from"), -1)
	if err != nil {
		return err
	}
	to, err := versionNumber(p.Query("to"), 0)
	if err != nil {
		return err
	}
	var diff PageDiff
	d, err := p.versionsOf(frame.Get(&diff, func() (PageDiff, error) {
		if p.Query("from") == "" && p.Query("to") == "" {
			return p.api.LastChange(p.R.Context(), p.Namespace, name)
		}
		return p.api.PageDiff(p.R.Context(), p.Namespace, name, from, to)
	}))
	if err != nil {
		return err
	}
	d.Diff, d.Side = diff, p.Query("view") != "unified"
	d.Accept = p.accept(d.V, d.Diff.To)
	return p.Show("monitor-diff", d)
}

// DiffViews lead to the same diff, shown otherwise.
func (p *page) DiffViews(d versionsData) []parts.Tab {
	return []parts.Tab{
		parts.NewTab("Side by side", p.Here("view", ""), d.Side, ""),
		parts.NewTab("Unified", p.Here("view", "unified"), !d.Side, ""),
	}
}

// DiffLink compares a version with the one before it.
func (p *page) DiffLink(d versionsData, v monitor.PageVersion) string {
	if v.Seq <= 1 {
		return ""
	}
	return p.With(p.Link("monitors", d.V.Name, "diff"), "from", v.Seq-1, "to", v.Seq)
}

// accept asks before a version becomes the baseline.
func (p *page) accept(v view.MonitorView, version monitor.PageVersion) *parts.Confirm {
	if version.Baseline || !p.Can(access.ScopeOperate) {
		return nil
	}
	seq := fmt.Sprint(version.Seq)
	cmd := p.Command("POST", p.APIPath("/v1/monitors/"+url.PathEscape(v.Name)+"/versions/"+seq+"/accept"), "", "monitor", "accept", v.Name, seq)
	return &parts.Confirm{
		ID: "accept-" + seq, Button: "Accept as baseline", Title: "Accept version " + seq + "?",
		Text:   "Later versions of the page are compared with this one.",
		Action: p.Link("monitors", v.Name, "versions", version.Seq, "accept"), Do: "Accept", Cmd: &cmd,
	}
}

// AcceptOf is accept for a version of the list; none where its text is gone.
func (p *page) AcceptOf(d versionsData, v monitor.PageVersion) *parts.Confirm {
	if v.Pruned {
		return nil
	}
	return p.accept(d.V, v)
}

func acceptVersion(p *page) error {
	seq, err := versionNumber(p.R.PathValue("version"), 0)
	if err != nil {
		return err
	}
	name := p.R.PathValue("name")
	v, err := p.api.AcceptPage(p.R.Context(), p.Namespace, name, seq)
	if err != nil {
		return err
	}
	return p.Done(p.Link("monitors", name, "versions"), "Version %d of %s is the baseline now.", v.Seq, name)
}

// sideRow is a line of a diff: the old and the new text, side by side.
type sideRow struct {
	Before, After *diffCell
}

// diffCell is one side of it.
type diffCell struct {
	Number int
	textdiff.Line
}

// Rows are the lines of a hunk, in pairs: a removed line beside the added one.
func (d versionsData) Rows(h textdiff.Hunk) (rows []sideRow) {
	before, after := h.Before, h.After
	var went, came []*diffCell
	flush := func() {
		for i := range max(len(went), len(came)) {
			var row sideRow
			if i < len(went) {
				row.Before = went[i]
			}
			if i < len(came) {
				row.After = came[i]
			}
			rows = append(rows, row)
		}
		went, came = nil, nil
	}
	for _, l := range h.Lines {
		switch l.Op {
		case textdiff.Removed:
			went = append(went, &diffCell{before, l})
			before++
		case textdiff.Added:
			came = append(came, &diffCell{after, l})
			after++
		default:
			flush()
			rows = append(rows, sideRow{&diffCell{before, l}, &diffCell{after, l}})
			before, after = before+1, after+1
		}
	}
	flush()
	return rows
}

// unifiedRow is a line of a diff with its numbers.
type unifiedRow struct {
	Before, After int // 0: not there
	textdiff.Line
}

// Unified are the lines of a hunk, one below the other.
func (d versionsData) Unified(h textdiff.Hunk) (rows []unifiedRow) {
	before, after := h.Before, h.After
	for _, l := range h.Lines {
		r := unifiedRow{Line: l}
		if l.Op != textdiff.Added {
			r.Before = before
			before++
		}
		if l.Op != textdiff.Removed {
			r.After = after
			after++
		}
		rows = append(rows, r)
	}
	return rows
}

// Sum is a diff in words.
func (d PageDiff) Sum() string {
	if d.Added+d.Removed == 0 {
		return "The texts are the same."
	}
	return "+" + parts.NumberText(d.Added) + " −" + parts.NumberText(d.Removed) + " lines"
}
