//go:build linux

// Package pages measures the time of each page and each read of the API, on a node with a large database. [Landscape] makes
// the database by copying a hundred finished jobs and a few schedules; [Measure] asks for each page several times, one after
// the other.
package pages

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/app"
	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/app/ui/console"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/bench/database"
	"github.com/belfry-run/belfry/internal/bench/process"
	"github.com/belfry-run/belfry/internal/bench/report"
)

// Limit is the longest permitted time of a page or list at p95.
const Limit = 100 * time.Millisecond

// Page has the times of a page or of a read of the API.
type Page struct {
	Pattern string
	URL     string // the requested address; empty: no address of this pattern exists
	Status  int
	Size    int
	P50     time.Duration
	P95     time.Duration
	CPU     time.Duration // of one request, as the average of node, database and client together
}

// Over reports that the page is over the limit.
func (p Page) Over() bool { return p.P95 > Limit }

// pageReader requests pages from a node.
type pageReader struct {
	Looks
	http  *http.Client
	base  string
	token string // of the API
}

// Looks selects what to measure. The zero value selects everything, once.
type Looks struct {
	Times int                // requests of each page, after a first one that does not count; default: 1
	Only  *regexp.Regexp     // patterns and addresses; default: all
	Of    *database.Database // the server whose CPU counts too; default: none
}

func (l Looks) cpu() (time.Duration, error) {
	own, err := process.OwnCPU()
	if err != nil || l.Of == nil {
		return own, err
	}
	server, err := l.Of.ServerCPU()
	return own + server, err
}

func (l Looks) at(p Page) bool {
	return p.URL != "" && (l.Only == nil || l.Only.MatchString(p.Pattern) || l.Only.MatchString(p.URL))
}

// Measure requests each page of the console and each read of the API in turn, l.Times times each, from a node on the
// database with this URL of belfry serve. Pages are found by links: a new page needs no change here, and a page without a
// link is missed.
func Measure(ctx context.Context, url string, l Looks) (pages, reads []Page, err error) {
	a, err := app.New(app.Options{Version: "bench", Config: config.Config{Database: url, Listen: "127.0.0.1:0", Roles: []string{config.RoleAPI},
		Grace: core.Duration(time.Second), Name: "pages"}})
	if err != nil {
		return nil, nil, err
	}
	if err := a.Start(ctx); err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, a.Stop(context.WithoutCancel(ctx))) }()
	v := &pageReader{base: a.URL(), Looks: l}
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, nil, err
	}
	v.http = &http.Client{Jar: jar, Transport: &http.Transport{}, Timeout: 5 * time.Minute}
	defer v.http.CloseIdleConnections()
	if v.token, err = app.ReadToken(a.TokenFile()); err != nil {
		return nil, nil, err
	}
	if reads, err = v.reads(ctx); err != nil {
		return nil, nil, err
	}
	pages, err = v.pages(ctx)
	return pages, reads, err
}

func (v *pageReader) do(ctx context.Context, method, path string, form url.Values, api bool) (status int, body []byte, took time.Duration, err error) {
	r, err := http.NewRequestWithContext(ctx, method, v.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		return 0, nil, 0, err
	}
	if api {
		r.Header.Set("Authorization", "Bearer "+v.token)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", v.base)
	}
	begun := time.Now()
	answer, err := v.http.Do(r)
	if err != nil {
		return 0, nil, 0, err
	}
	defer answer.Body.Close() //nolint:errcheck // it was read
	body, err = io.ReadAll(answer.Body)
	return answer.StatusCode, body, time.Since(begun), err
}

// time requests each address repeatedly.
func (v *pageReader) time(ctx context.Context, all []Page, api bool) error {
	for i := range all {
		p := &all[i]
		if !v.at(*p) {
			continue
		}
		var took []time.Duration
		var before time.Duration
		for n := range max(v.Times, 1) + 1 {
			if n == 1 {
				var err error
				if before, err = v.cpu(); err != nil {
					return err
				}
			}
			status, body, d, err := v.do(ctx, http.MethodGet, p.URL, nil, api)
			if err != nil {
				return fmt.Errorf("%s: %w", p.URL, err)
			}
			if p.Status, p.Size = status, len(body); n > 0 {
				took = append(took, d)
			}
		}
		after, err := v.cpu()
		if err != nil {
			return err
		}
		slices.Sort(took)
		p.P50, p.P95, p.CPU = report.Rank(took, 0.5), report.Rank(took, 0.95), (after-before)/time.Duration(len(took))
	}
	return nil
}

// asked has the reads that need parameters.
var asked = map[string]string{
	"/v1/monitor-bars": "monitor=shop-000,shop-001,shop-002",
	"/v1/strips":       "schedule=land-00,land-01,land-02-7,land-03-9",
	"/v1/task-days":    "task=land-00,land-01",
	"/v1/forecast":     "within=7d",
	"/v1/upcoming":     "within=24h",
	"/v1/jobs/count":   "q=state:failed",
	"/v1/events/poll":  "wait=0s",
}

// more has reads with filters, beside the plain ones.
var more = []string{
	"/v1/jobs?q=error:nothing", "/v1/jobs?q=task:mail", "/v1/jobs?q=state:failed+since:7d", "/v1/jobs?q=schedule:land-10-5", "/v1/jobs?q=tag:team-media",
	"/v1/jobs/count?by=state", "/v1/jobs/count?q=error:nothing", "/v1/forecast?within=7d&by=hour", "/v1/schedules?state=paused", "/v1/upcoming?limit=2000",
	"/v1/overview?namespace=*", "/v1/hook-statuses?namespace=*",
}

// reads collects the reads in the description of the API.
func (v *pageReader) reads(ctx context.Context) (all []Page, err error) {
	_, body, _, err := v.do(ctx, http.MethodGet, "/openapi.json", nil, true)
	if err != nil {
		return nil, err
	}
	var doc struct {
		Paths map[string]map[string]struct {
			Responses map[string]struct {
				Content map[string]any `json:"content"`
			} `json:"responses"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(body, &doc); err != nil {
		return nil, fmt.Errorf("read the description of the API: %w", err)
	}
	for path, operations := range doc.Paths {
		read, is := operations["get"]
		if _, stream := read.Responses["200"].Content["text/event-stream"]; !is || stream {
			continue
		}
		p := Page{Pattern: path}
		if p.URL, err = v.example(ctx, path); err != nil {
			return nil, err
		}
		if query := asked[path]; query != "" {
			p.URL += "?" + query
		}
		all = append(all, p)
	}
	for _, path := range more {
		all = append(all, Page{Pattern: path, URL: path})
	}
	slices.SortFunc(all, func(a, b Page) int { return cmp.Compare(a.Pattern, b.Pattern) })
	return all, v.time(ctx, all, true)
}

var parameter = regexp.MustCompile(`\{[a-z_]+\}`)

// example fills the parameters of a path with the first item of its list, or returns "".
func (v *pageReader) example(ctx context.Context, path string) (string, error) {
	at := strings.Index(path, "/{")
	if at < 0 {
		return path, nil
	}
	_, body, _, err := v.do(ctx, http.MethodGet, path[:at], nil, true)
	if err != nil {
		return "", err
	}
	var list struct {
		Items []struct {
			Name string      `json:"name"`
			ID   json.Number `json:"id"`
		} `json:"items"`
	}
	if json.Unmarshal(body, &list) != nil || len(list.Items) == 0 {
		return "", nil
	}
	one := url.PathEscape(list.Items[0].Name)
	if strings.HasPrefix(path[at:], "/{id}") || one == "" {
		one = list.Items[0].ID.String()
	}
	path = strings.Replace(path, parameter.FindString(path), one, 1)
	path = strings.Replace(path, "{version}", "newest", 1)
	if parameter.MatchString(path) {
		return "", nil
	}
	return path, nil
}

var link = regexp.MustCompile(`href="(/[^"#]*)`)

// crawled is the most addresses that are visited to find all pages.
const crawled = 400

// pages signs in, follows links, and selects one address for each page and each choice of its parameters.
func (v *pageReader) pages(ctx context.Context) (all []Page, err error) {
	if _, _, _, err := v.do(ctx, http.MethodPost, "/sign-in", url.Values{"token": {v.token}}, false); err != nil {
		return nil, err
	}
	known, first := http.NewServeMux(), map[string]string{}
	patterns := console.Pages()
	for _, p := range patterns {
		known.HandleFunc(p, func(http.ResponseWriter, *http.Request) {})
	}
	reached := map[string]bool{}
	for next := []string{"/"}; len(next) > 0 && len(first) < crawled && ctx.Err() == nil; next = next[1:] {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, next[0], nil)
		if err != nil {
			continue
		}
		_, pattern := known.Handler(r)
		kind := pattern
		for key := range r.URL.Query() {
			kind += " " + key
		}
		words := strings.Fields(strings.TrimPrefix(kind, pattern))
		slices.Sort(words)
		kind = strings.Join(append([]string{pattern}, words...), " ")
		if pattern == "" || first[kind] != "" {
			continue
		}
		first[kind], reached[pattern] = next[0], true
		_, body, _, err := v.do(ctx, http.MethodGet, next[0], nil, false)
		if err != nil {
			return nil, err
		}
		for _, found := range link.FindAllStringSubmatch(string(body), -1) {
			next = append(next, html.UnescapeString(found[1]))
		}
	}
	for kind, address := range first {
		all = append(all, Page{Pattern: kind, URL: address})
	}
	for _, p := range patterns {
		if !reached[p] {
			all = append(all, Page{Pattern: p})
		}
	}
	slices.SortFunc(all, func(a, b Page) int { return cmp.Compare(a.Pattern, b.Pattern) })
	return all, v.time(ctx, all, false)
}

// Table writes a table, the slowest pages first.
func Table(w io.Writer, title string, all []Page) (over int, err error) {
	slices.SortStableFunc(all, func(a, b Page) int { return cmp.Compare(b.P95, a.P95) })
	var b strings.Builder
	fmt.Fprintf(&b, "\n| %s | p50 | p95 | CPU | bytes | |\n|---|--:|--:|--:|--:|---|\n", title)
	for _, p := range all {
		name, note := strings.TrimPrefix(p.Pattern, "GET "), ""
		switch {
		case p.URL == "":
			fmt.Fprintf(&b, "| `%s` | | | | | not measured: nothing leads to it |\n", name)
			continue
		case p.Status == 0: // not requested
			continue
		case p.Over():
			note, over = "over "+Limit.String(), over+1
		case p.Status != http.StatusOK:
			note = fmt.Sprint("status ", p.Status)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %d | %s |\n", name, one(p.P50), one(p.P95), one(p.CPU), p.Size, note)
	}
	_, err = io.WriteString(w, b.String())
	return over, err
}

// one returns the text of a time without a spread.
func one(d time.Duration) string { return report.Time.Text(report.SpreadOf([]float64{float64(d)})) }
