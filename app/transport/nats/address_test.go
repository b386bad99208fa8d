package nats_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/app/transport/nats"
	"github.com/belfry-run/belfry/core"
)

func TestAddresses(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]nats.Place{
		"nats://n:4222/RENDER": {Servers: []string{"n:4222"}, Stream: "RENDER", Replicas: 1},
		"tls://n/RENDER?servers=m:4222,o&replicas=3&ca=/ca&cert=/c&key=/k": {
			Servers: []string{"n", "m:4222", "o"}, Stream: "RENDER", Replicas: 3, TLS: true, CA: "/ca", Cert: "/c", Key: "/k",
		},
		"nats://[::1]:4222/r?creds=/etc/nats.creds": {Servers: []string{"[::1]:4222"}, Stream: "r", Replicas: 1, Creds: "/etc/nats.creds"},
	} {
		if got, err := nats.Parse(address); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", address, got, err)
		}
	}
	for _, address := range []string{
		"", "nats:", "nats://n", "nats://n/", "nats://n/a.b", "nats://n/a/b", "nats://n/*", "nats://me:hunter2@n/r", "nats://n/r?token=hunter2",
		"nats://n/r?replicas=many", "nats://n/r?replicas=7", "nats://n/r?creds=/a&nkey=/b", "nats://n/r?cert=/a", "nats://n/r?servers=me:hunter2@m",
		"nats://n/r?servers=a,,b", "nats://n/r#hunter2", "nats://n/" + strings.Repeat("x", 65),
	} {
		_, err := nats.Parse(address)
		if core.CodeOf(err) != core.Invalid || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestFilesThatCannotBeReadAreRefusedAtOnce(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, option := range []string{
		"creds=" + empty + ".not", "nkey=" + empty + ".not", "nkey=" + empty, "ca=" + empty, "ca=" + empty + ".not", "cert=" + empty + "&key=" + empty,
	} {
		place, err := nats.Parse("nats://127.0.0.1:1/r?" + option)
		if err != nil {
			t.Fatal(err)
		}
		s, err := nats.Open(place, nats.Options{})
		if core.CodeOf(err) != core.Invalid {
			t.Errorf("%s: %v", option, err)
		}
		if err == nil {
			_ = s.Close()
		}
	}
}
