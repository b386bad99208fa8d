package app

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	metricName = regexp.MustCompile(`\b(belfry_[a-z0-9_]+)(\{[^}]*\})?`)
	matcher    = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!~|!=|=)\s*"`)
	grouping   = regexp.MustCompile(`\b(?:by|without|on|ignoring|group_left)\s*\(([^)]*)\)`)
	legend     = regexp.MustCompile(`\{\{\s*([a-z_]+)\s*\}\}`)
	values     = regexp.MustCompile(`^label_values\((belfry_[a-z0-9_]+), ([a-z_]+)\)$`)
)

// scraped are labels that Prometheus adds to every series.
var scraped = []string{"instance", "job"}

// series returns the metric that a series in an expression belongs to, and the labels of the series.
func series(name string) (labels []string, err error) {
	for _, m := range Metrics() {
		suffix, ok := strings.CutPrefix(name, m.Name)
		switch {
		case !ok || (suffix == "") == (m.kind == "histogram"):
			continue
		case suffix == "":
			return slices.Concat(m.Labels, scraped), nil
		case suffix == "_bucket":
			return slices.Concat(m.Labels, scraped, []string{"le"}), nil
		case m.kind == "histogram" && (suffix == "_count" || suffix == "_sum"):
			return slices.Concat(m.Labels, scraped), nil
		}
	}
	return nil, fmt.Errorf("%s: metric not found", name)
}

// checkExpression returns what is wrong with the metrics and labels of an expression of PromQL and of its legend.
func checkExpression(expression, text string) (faults []error) {
	var known []string
	for _, m := range metricName.FindAllStringSubmatch(expression, -1) {
		labels, err := series(m[1])
		if err != nil {
			faults = append(faults, err)
			continue
		}
		known = append(known, labels...)
		for _, label := range matcher.FindAllStringSubmatch(m[2], -1) {
			if !slices.Contains(labels, label[1]) {
				faults = append(faults, fmt.Errorf("%s: label %s not found", m[1], label[1]))
			}
		}
	}
	var used []string
	for _, m := range grouping.FindAllStringSubmatch(expression, -1) {
		used = append(used, strings.FieldsFunc(m[1], func(r rune) bool { return r == ',' || r == ' ' })...)
	}
	for _, m := range legend.FindAllStringSubmatch(text, -1) {
		used = append(used, m[1])
	}
	for _, label := range used {
		if !slices.Contains(known, label) {
			faults = append(faults, fmt.Errorf("%s: label %s not found", expression, label))
		}
	}
	return faults
}

func TestTheDashboardNamesMetricsThatExist(t *testing.T) {
	t.Parallel()
	var board struct {
		UID        string `json:"uid"`
		Templating struct {
			List []struct {
				Name       string `json:"name"`
				Type       string `json:"type"`
				Definition string `json:"definition"`
			} `json:"list"`
		} `json:"templating"`
		Panels []struct {
			ID      int    `json:"id"`
			Type    string `json:"type"`
			Title   string `json:"title"`
			GridPos struct{ H, W, X, Y int }
			Targets []struct {
				Expr         string `json:"expr"`
				LegendFormat string `json:"legendFormat"`
			} `json:"targets"`
		} `json:"panels"`
	}
	text, err := os.ReadFile("../deploy/grafana/belfry.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	for _, v := range board.Templating.List {
		if v.Type != "query" {
			continue
		}
		m := values.FindStringSubmatch(v.Definition)
		if m == nil {
			t.Errorf("variable %s: %q is not understood", v.Name, v.Definition)
			continue
		}
		if labels, err := series(m[1]); err != nil || !slices.Contains(labels, m[2]) {
			t.Errorf("variable %s: metric or label not found: %v", v.Name, err)
		}
	}
	ids, shown := map[int]bool{}, ""
	for _, p := range board.Panels {
		if ids[p.ID] || p.GridPos.W < 1 || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %q: id %d is taken, or it does not fit in 24 columns: %+v", p.Title, p.ID, p.GridPos)
		}
		ids[p.ID] = true
		if (p.Type == "row") != (len(p.Targets) == 0) {
			t.Errorf("panel %q has %d expressions", p.Title, len(p.Targets))
		}
		for _, target := range p.Targets {
			shown += target.Expr + "\n"
			for _, fault := range checkExpression(target.Expr, target.LegendFormat) {
				t.Errorf("panel %q: %v", p.Title, fault)
			}
		}
	}
	for _, m := range Metrics() {
		if !strings.Contains(shown, m.Name) {
			t.Errorf("no panel shows %s", m.Name)
		}
	}
}

func TestExampleAlertRulesNameMetricsThatExist(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../deploy/prometheus/belfry.rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	expressions := regexp.MustCompile(`(?m)^ +expr: (?:>\n((?: {10}.*\n)+)|(.*)$)`).FindAllStringSubmatch(string(text), -1)
	if n := strings.Count(string(text), "expr:"); n == 0 || len(expressions) != n {
		t.Errorf("%d expressions were found, want %d", len(expressions), n)
	}
	for _, m := range expressions {
		expression := m[1] + m[2]
		for _, fault := range checkExpression(expression, "") {
			t.Error(fault)
		}
	}
}

func TestCheckExpression(t *testing.T) {
	t.Parallel()
	for expression, fault := range map[string]string{
		`sum by (queue) (belfry_queue_ready{instance=~"a"})`: "",
		`rate(belfry_start_lag_seconds_bucket{le="1"}[5m])`:  "",
		`rate(belfry_http_seconds_count{status="500"}[5m])`:  "",
		`belfry_queue_reddy`:                  "belfry_queue_reddy: metric not found",
		`belfry_start_lag_seconds`:            "metric not found", // it has buckets only
		`belfry_queue_ready_count`:            "metric not found",
		`belfry_queue_ready{kind="func"}`:     "label kind not found",
		`sum by (state) (belfry_queue_ready)`: "label state not found",
		`belfry_queue_ready{le="1"}`:          "label le not found",
	} {
		got := fmt.Sprint(checkExpression(expression, ""))
		if (fault == "") != (got == "[]") || !strings.Contains(got, fault) {
			t.Errorf("%s: got %s, want %q", expression, got, fault)
		}
	}
	if len(checkExpression("belfry_workers", "{{queue}}")) != 1 {
		t.Error("a legend may name a label that the series does not have")
	}
}
