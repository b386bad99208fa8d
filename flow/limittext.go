package flow

import (
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/core"
)

// ParseLimits parses limits such as key=input.customer,running=5,rate=100/1m,burst=10, one in each text; it skips empty
// texts and none. A key cannot contain a comma. Errors name the field.
func ParseLimits(field string, texts []string) ([]Limit, error) {
	var limits []Limit
	for _, text := range texts {
		text = strings.TrimSpace(text)
		if text == "" || text == "none" {
			continue
		}
		var l Limit
		for part := range strings.SplitSeq(text, ",") {
			name, value, found := strings.Cut(part, "=")
			value = strings.TrimSpace(value)
			var err error
			switch strings.TrimSpace(name) {
			case "name":
				l.Name = value
			case "key":
				l.Key = value
			case "rate":
				l.Rate = value
			case "running":
				l.Running, err = strconv.Atoi(value)
			case "burst":
				l.Burst, err = strconv.Atoi(value)
			default:
				found = false
			}
			if !found || err != nil {
				return nil, core.InvalidField(field, text, "cannot be read at "+strconv.Quote(part), "write parts of name=, key=, running=, rate= and burst=, such as key=input.customer,running=5, or none")
			}
		}
		limits = append(limits, l)
	}
	return limits, nil
}

// LimitTexts formats limits for [ParseLimits].
func LimitTexts(limits []Limit) []string {
	texts := make([]string, len(limits))
	for i, l := range limits {
		var parts []string
		if l.Name != "" && l.Name != strconv.Itoa(i+1) {
			parts = append(parts, "name="+l.Name)
		}
		if l.Key != "" {
			parts = append(parts, "key="+l.Key)
		}
		if l.Running > 0 {
			parts = append(parts, "running="+strconv.Itoa(l.Running))
		}
		if l.Rate != "" {
			parts = append(parts, "rate="+l.Rate)
		}
		if l.Burst > 1 {
			parts = append(parts, "burst="+strconv.Itoa(l.Burst))
		}
		texts[i] = strings.Join(parts, ",")
	}
	return texts
}
