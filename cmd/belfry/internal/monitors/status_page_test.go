package monitors

import (
	"testing"
)

func TestSections(t *testing.T) {
	t.Parallel()
	s, err := sectionOf("Shop=site, api,tag:infra,")
	if err != nil || s.Title != "Shop" || len(s.Monitors) != 2 || len(s.Tags) != 1 {
		t.Errorf("got %+v, %v", s, err)
	}
}
