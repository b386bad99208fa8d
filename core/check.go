package core

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// CheckDocument checks the common fields of channels, alert rules, windows and status pages.
func CheckDocument(p *Problems, namespace, name, description string) {
	CheckName(p, "name", name)
	CheckName(p, "namespace", namespace)
	if len(description) > MaxDescription {
		p.Addf("description", description, "has more than %d bytes", MaxDescription)
	}
}

// CheckNames checks a list of at most that many names.
func CheckNames(p *Problems, field string, names []string, most int) {
	if !p.AtMost(field, len(names), most) {
		return
	}
	seen := make(map[string]bool, len(names))
	for i, name := range names {
		path := fmt.Sprintf("%s[%d]", field, i)
		CheckName(p, path, name)
		if seen[name] {
			p.Add(path, name, "is named twice", "")
		}
		seen[name] = true
	}
}

// HostOf returns the scheme and host of a URL.
func HostOf(text Secret) string {
	if u, err := url.Parse(string(text)); err == nil {
		return u.Scheme + "://" + u.Host
	}
	return string(text)
}

// Defaulted returns a copy of given with its defaults, or nil for nil.
func Defaulted[T any](given *T, fill func(T) T) *T {
	if given == nil {
		return nil
	}
	return new(fill(*given))
}

// CheckURL checks that text is an absolute URL of one of the schemes, without user and password.
func CheckURL(p *Problems, field, text string, schemes ...string) {
	u, err := url.Parse(text)
	switch {
	case text == "":
		p.Add(field, "", "is missing", "")
	case err != nil || u.Host == "":
		p.Add(field, text, "is not an absolute URL", "write "+schemes[len(schemes)-1]+"://host/path")
	case !slices.Contains(schemes, u.Scheme):
		p.Add(field, u.Redacted(), "is neither "+strings.Join(schemes, " nor "), "")
	case u.User != nil:
		p.Add(field, u.Redacted(), "carries a user or password", "put them into auth: readers see URLs and headers")
	}
}

// CheckHeaders checks that HTTP allows the names and values.
func CheckHeaders(p *Problems, headers map[string]string) {
	for name, value := range headers {
		if !headerRule.MatchString(name) || strings.ContainsAny(value, "\r\n\x00") {
			p.Add("headers", name, "is not a header", "")
		}
	}
}

var headerRule = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// CheckInput checks that input is one whole JSON value within the limits of size and depth.
func CheckInput(p *Problems, field string, input json.RawMessage) {
	if len(input) > MaxInput {
		p.Addf(field, strconv.Itoa(len(input))+" bytes", "is over the limit of %d bytes", MaxInput)
	} else if len(input) > 0 {
		if fault := JSONFault(input); fault != "" {
			p.Add(field, string(input), fault, "")
		}
	}
}

// Or returns given, or fallback if given is zero.
func Or[T comparable](given, fallback T) T {
	var zero T
	if given == zero {
		return fallback
	}
	return given
}
