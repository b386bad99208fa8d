package notify

import (
	"testing"

	"github.com/belfry-run/belfry/alert"
)

func TestEveryKindOfChannelHasAWay(t *testing.T) {
	t.Parallel()
	for _, k := range alert.Kinds {
		if ways[k.Name].send == nil {
			t.Errorf("no message can be sent to a channel of kind %s", k.Name)
		}
	}
	if len(ways) != len(alert.Kinds) {
		t.Errorf("there are %d ways and %d kinds", len(ways), len(alert.Kinds))
	}
}
