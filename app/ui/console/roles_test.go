package console

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	roleRule  = regexp.MustCompile(`--([a-z-]+): (#[0-9a-f]{6})\b`)
	themeRule = regexp.MustCompile(`(?s)([^{}]+)\{([^{}]+)\}`)
)

// roles are the colours of a theme, by the selector that has them.
func roles(t *testing.T) map[string]map[string]string {
	t.Helper()
	text, err := os.ReadFile("assets/roles.css")
	if err != nil {
		t.Fatal(err)
	}
	themes := map[string]map[string]string{}
	for _, m := range themeRule.FindAllStringSubmatch(string(text), -1) {
		found := map[string]string{}
		for _, r := range roleRule.FindAllStringSubmatch(m[2], -1) {
			found[r[1]] = r[2]
		}
		if len(found) > 0 {
			themes[strings.TrimSpace(m[1])] = found
		}
	}
	return themes
}

// contrast is that of WCAG 2.2.
func contrast(a, b string) float64 {
	light := func(c string) (l float64) {
		for i, weight := range []float64{.2126, .7152, .0722} {
			n, _ := strconv.ParseUint(c[1+2*i:3+2*i], 16, 8) // the pattern took only those
			v := float64(n) / 255
			if v <= .04045 {
				v /= 12.92
			} else {
				v = math.Pow((v+.055)/1.055, 2.4)
			}
			l += weight * v
		}
		return l + .05
	}
	return max(light(a)/light(b), light(b)/light(a))
}

func TestRolesHaveContrast(t *testing.T) {
	t.Parallel()
	grounds := []string{"page", "card", "raised", "shade"}
	themes := roles(t)
	if len(themes) != 3 {
		t.Fatalf("%d themes, want light, dark by choice and dark by the system: %v", len(themes), themes)
	}
	for name, of := range themes {
		need := func(over, under string, least float64) {
			t.Helper()
			if of[over] == "" || of[under] == "" {
				t.Errorf("%s has no %s or %s", name, over, under)
			} else if c := contrast(of[over], of[under]); c < least {
				t.Errorf("%s: %s on %s has %.2f, less than %.1f", name, over, under, c, least)
			}
		}
		for _, ground := range grounds {
			for _, over := range []string{"text", "soft", "link", "good", "warn", "bad", "busy", "idle"} {
				need(over, ground, 4.5)
			}
		}
		for _, ground := range grounds[:3] {
			need("edge", ground, 3)
		}
		for _, tone := range []string{"good", "warn", "bad", "busy", "idle"} {
			need(tone, tone+"-tint", 4.5)
			need(tone+"-ink", "card", 3)
			need(tone+"-ink", "page", 3)
		}
		need("on", "main", 4.5)
		need("on", "main-over", 4.5)
	}
}

// Both dark themes are one.
func TestDarkIsTheSameByChoiceAndBySystem(t *testing.T) {
	t.Parallel()
	var dark []string
	for _, of := range roles(t) {
		if of["page"] != "" && contrast(of["page"], "#000000") < 3 {
			dark = append(dark, fmt.Sprint(of))
		}
	}
	if len(dark) != 2 || dark[0] != dark[1] {
		t.Errorf("%q", dark)
	}
}
