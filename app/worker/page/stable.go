package page

import (
	"regexp"
	"strings"

	node "golang.org/x/net/html"
)

// stableValue returns an attribute's value without parts that differ with every visit,
// and whether the attribute is compared at all.
func stableValue(n *node.Node, a node.Attribute) (value string, keep bool) {
	key := strings.ToLower(a.Key)
	switch {
	case isVisit(key):
		return "", false
	case (key == "value" || key == "content") && namesVisit(n):
		return "", false
	case isURL[key]:
		return stableURL(a.Val, n.Data != "a" && n.Data != "area" && n.Data != "form"), true
	case key == "srcset" || key == "imagesrcset":
		var parts []string
		for _, part := range strings.Split(a.Val, ", ") {
			address, size, _ := strings.Cut(strings.TrimSpace(part), " ")
			parts = append(parts, strings.TrimSpace(stableURL(address, true)+" "+size))
		}
		return strings.Join(parts, ", "), true
	}
	return a.Val, true
}

var isURL = set("href src action formaction poster data cite background xlink:href longdesc")

// visitName matches names of values that are specific to one visit.
var visitName = regexp.MustCompile(`(?i)csrf|xsrf|nonce|authenticity[_-]?token|requestverificationtoken|session[_-]?(id|token|key)|viewstate|eventvalidation|captcha[_-]?(token|sid)|request[_-]?id|trace[_-]?(id|parent)`)

func isVisit(key string) bool {
	return key == "nonce" || key == "sid" || key == "data-sid" || key == "data-session" || visitName.MatchString(key)
}

// namesVisit reports by its name whether an input or a meta element has a value
// that is specific to one visit.
func namesVisit(n *node.Node) bool {
	if n.Data != "input" && n.Data != "meta" && n.Data != "button" {
		return false
	}
	return visitName.MatchString(attribute(n.Attr, "name")) || visitName.MatchString(attribute(n.Attr, "id"))
}

var (
	// busters matches parameters that bypass a cache, or identify the visitor.
	// Parameters of assets are separate, because they have a meaning in links: v is
	// a video there.
	busters = regexp.MustCompile(`(?i)^(_|cb|_?cache[_-]?bust(er)?|bust|nocache|no_cache|rnd|rand|random|timestamp|_ts|_t|sid|s_?id|phpsessid|jsessionid|aspsessionid\w*|session[_-]?(id|token)|csrf[_-]?token|_csrf|_token|nonce|utm_\w+|gclid|fbclid|msclkid|mc_[ce]id|_ga|_gl)$`)
	// assetBusters matches further such parameters in addresses of assets.
	assetBusters = regexp.MustCompile(`(?i)^(v|ver|version|rev|revision|build|hash|h|t|ts|time|m|mtime|x|id|\d+|[0-9a-f]{6,})$`)
	jsession     = regexp.MustCompile(`(?i);(jsessionid|phpsessid|sid)=[^?#;/]*`)
)

// stableURL removes the parameters of an address that change with every visit.
// The others keep their order and encoding.
func stableURL(address string, asset bool) string {
	address, fragment, hasFragment := strings.Cut(strings.TrimSpace(address), "#")
	address, query, hasQuery := strings.Cut(address, "?")
	address = jsession.ReplaceAllString(address, "")
	if hasQuery {
		var kept []string
		for _, param := range strings.Split(query, "&") {
			name, _, _ := strings.Cut(param, "=")
			if !busters.MatchString(name) && !(asset && assetBusters.MatchString(name)) {
				kept = append(kept, param)
			}
		}
		if len(kept) > 0 {
			address += "?" + strings.Join(kept, "&")
		}
	}
	if hasFragment {
		address += "#" + fragment
	}
	return address
}
