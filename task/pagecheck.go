package task

import (
	"fmt"
	"time"

	"github.com/belfry-run/belfry/core"
)

// PageCheck checks a part of a document for changes.
type PageCheck struct {
	URL     string            `json:"url" doc:"http or https"`
	Headers map[string]string `json:"headers,omitempty"`
	MaxBody int               `json:"max_body,omitempty" doc:"Bytes read of a document; default: 5 MiB; at most 64 MiB"`

	CSS      string `json:"css,omitempty" doc:"Selector of the elements to look at; all that match"`
	XPath    string `json:"xpath,omitempty" doc:"Instead of css"`
	JSONPath string `json:"json_path,omitempty" doc:"Instead of css, for JSON: a path such as .items[0].price, in jq's language"`

	IgnoreCSS  []string `json:"ignore_css,omitempty" doc:"Elements that are taken out first"`
	Ignore     []string `json:"ignore,omitempty" doc:"Regular expressions (RE2); what they match is taken out of the text"`
	Mask       []string `json:"mask,omitempty" enum:"numbers,dates" doc:"What is replaced by a sign that it was there"`
	KeepMarkup bool     `json:"keep_markup,omitempty" doc:"Compare the elements with their attributes; default: their text"`

	Baseline     PageBaseline  `json:"baseline,omitempty" enum:"pinned,rolling" doc:"What a version is compared with: the one that was accepted, or the one before; default: rolling"`
	AllowEmpty   bool          `json:"allow_empty,omitempty" doc:"No text is a text like others; default: it fails"`
	Confirm      core.Duration `json:"confirm,omitempty" doc:"A change counts when it is still there after so long; default: 10s; negative: at once"`
	KeepVersions int           `json:"keep_versions,omitempty" doc:"Texts kept; the list of versions is kept beyond them; default: 50; at most 1000"`
}

// PageBaseline is the policy for the version with which a page is compared.
type PageBaseline string

// The policies. A pinned baseline stays until a person accepts another version.
const (
	BaselinePinned  PageBaseline = "pinned"
	BaselineRolling PageBaseline = "rolling"
)

func (g PageCheck) withDefaults() PageCheck {
	g.MaxBody = core.Or(g.MaxBody, DefaultMaxPage)
	g.Baseline = core.Or(g.Baseline, BaselineRolling)
	if g.Confirm = core.Or(g.Confirm, DefaultRecheck); g.Confirm < 0 {
		g.Confirm = -core.Duration(time.Second) // all negative values mean the same
	}
	g.KeepVersions = core.Or(g.KeepVersions, DefaultVersions)
	return g
}

func (g PageCheck) validate() error {
	var p core.Problems
	core.CheckURL(&p, "url", g.URL, "http", "https")
	core.CheckHeaders(&p, g.Headers)
	checkBody(&p, g.MaxBody)
	ways := 0
	for _, way := range []string{g.CSS, g.XPath, g.JSONPath} {
		if way != "" {
			ways++
		}
	}
	if ways > 1 {
		p.Add("css", g.CSS, "and xpath and json_path cannot stand beside each other", "keep one of them, or none for the whole text")
	}
	if g.JSONPath != "" && (len(g.IgnoreCSS) > 0 || g.KeepMarkup) {
		p.Add("json_path", g.JSONPath, "is for JSON, where ignore_css and keep_markup mean nothing", "")
	}
	for i, text := range g.Ignore {
		checkRegexp(&p, fmt.Sprintf("ignore[%d]", i), text)
	}
	for i, mask := range g.Mask {
		if mask != "numbers" && mask != "dates" {
			p.Add(fmt.Sprintf("mask[%d]", i), mask, "is not a mask", "one of numbers, dates")
		}
	}
	if g.Baseline != BaselinePinned && g.Baseline != BaselineRolling {
		p.Add("baseline", string(g.Baseline), "is not a baseline", "one of pinned, rolling")
	}
	if g.Confirm > core.Duration(time.Hour) {
		p.Addf("confirm", g.Confirm, "is over 1h")
	}
	if g.KeepVersions < 1 || g.KeepVersions > 1000 {
		p.Addf("keep_versions", g.KeepVersions, "is outside 1 to 1000")
	}
	if n := len(g.IgnoreCSS) + len(g.Ignore); n > MaxConditions {
		p.Addf("ignore", n, "has, with ignore_css, more than %d entries", MaxConditions)
	}
	return p.Err("page")
}

// PageChange is the origin of a version of a page.
type PageChange string

// The origins: the first version, a change, or the first version with other
// settings.
const (
	PageFirst   PageChange = "first"
	PageChanged PageChange = "changed"
	PageReset   PageChange = "reset"
)
