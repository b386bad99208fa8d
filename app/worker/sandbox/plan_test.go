package sandbox

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/app/worker/sandbox/internal/isolation"
)

// machine is a report in which some layers work.
func machine(works ...Layer) (r Report) {
	for _, l := range []Layer{LayerUID, LayerSeccomp, LayerLandlock, LayerScope, LayerUserNS, LayerNamespaces, LayerMemory, LayerPIDs, LayerCPU, LayerKill, LayerEgress, LayerGVisor} {
		f := Finding{Layer: l, OK: slices.Contains(works, l)}
		if !f.OK {
			f.Detail = "no " + string(l)
		}
		r.Findings = append(r.Findings, f)
	}
	r.Tier = isolation.Strongest(r.Has)
	return r
}

func TestTheTierFollowsFromTheWorkingLayers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		works []Layer
		want  Tier
	}{
		"nothing":                      {nil, None},
		"groups alone":                 {[]Layer{LayerMemory, LayerPIDs, LayerCPU, LayerKill}, None},
		"a user":                       {[]Layer{LayerUID}, User},
		"a filter without Landlock":    {[]Layer{LayerUID, LayerSeccomp}, User},
		"Landlock without a filter":    {[]Layer{LayerUID, LayerLandlock, LayerScope}, User},
		"both, and it could kill us":   {[]Layer{LayerSeccomp, LayerLandlock}, None},
		"both, with scope":             {[]Layer{LayerSeccomp, LayerLandlock, LayerScope}, Confined},
		"both, with a user":            {[]Layer{LayerSeccomp, LayerLandlock, LayerUID}, Confined},
		"namespaces without a filter":  {[]Layer{LayerNamespaces, LayerUserNS, LayerUID}, User},
		"namespaces as the same user":  {[]Layer{LayerNamespaces, LayerSeccomp}, None},
		"namespaces in one of users":   {[]Layer{LayerNamespaces, LayerSeccomp, LayerUserNS}, Namespaces},
		"namespaces of root":           {[]Layer{LayerNamespaces, LayerSeccomp, LayerUID}, Namespaces},
		"a user namespace and no more": {[]Layer{LayerUserNS, LayerSeccomp}, None},
		"gvisor alone":                 {[]Layer{LayerGVisor}, None},
		"gvisor":                       {[]Layer{LayerGVisor, LayerNamespaces, LayerUserNS, LayerUID}, GVisor},
	} {
		if got := machine(c.works...).Tier; got != c.want {
			t.Errorf("%s: %s instead of %s", name, got, c.want)
		}
	}
}

func TestPlanRefusesGuaranteesThatTheMachineLacks(t *testing.T) {
	t.Parallel()
	confined := []Layer{LayerSeccomp, LayerLandlock, LayerScope}
	for name, c := range map[string]struct {
		works, without []Layer
		spec           Spec
		says           string // nothing: it is not refused
	}{
		"as it comes":                 {works: confined},
		"no more than asked":          {works: confined, spec: Spec{Min: Confined}},
		"more than there is":          {works: confined, spec: Spec{Min: Namespaces}, says: "it needs isolation namespaces and this machine has confined: namespaces (no namespaces); userns (no userns)"},
		"gvisor":                      {works: confined, spec: Spec{Min: GVisor}, says: "gvisor (no gvisor); namespaces (no namespaces)"},
		"switched off":                {works: confined, without: []Layer{LayerLandlock}, spec: Spec{Min: Confined}, says: "landlock (switched off by the operator)"},
		"a layer besides":             {works: confined, spec: Spec{Need: []Layer{LayerMemory}}, says: "it needs memory: no memory"},
		"a layer that is there":       {works: append(confined, LayerMemory), spec: Spec{Need: []Layer{LayerMemory}}},
		"a layer that is not used":    {works: append(confined, LayerUserNS), spec: Spec{Need: []Layer{LayerUserNS}}, says: "not used at tier confined"},
		"no way to withhold sockets":  {works: []Layer{LayerUID}, says: "it must not have the network"},
		"sockets are wanted":          {works: []Layer{LayerUID}, spec: Spec{Network: true, Unguarded: true}},
		"nothing guards them":         {works: confined, spec: Spec{Network: true}, says: "it must reach public addresses only, and this machine cannot keep it from others: egress (no egress)"},
		"something does":              {works: append(confined, LayerEgress), spec: Spec{Network: true}},
		"a filter withholds sockets":  {works: []Layer{LayerUID, LayerSeccomp}},
		"a place that cannot be made": {works: confined, spec: Spec{ReadOnly: []Mount{{Source: "/a", Target: "/b"}}}, says: "it wants /a at /b"},
	} {
		_, err := choose(machine(c.works...).Without(c.without), c.spec)
		var refusal *Refusal
		switch {
		case c.says == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.says != "" && (!errors.As(err, &refusal) || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEverythingThatWorksIsUsed(t *testing.T) {
	t.Parallel()
	p, err := choose(machine(LayerUID, LayerSeccomp, LayerLandlock, LayerScope, LayerUserNS, LayerNamespaces, LayerMemory).Without([]Layer{LayerScope}), Spec{})
	if want := []Layer{LayerUID, LayerSeccomp, LayerLandlock, LayerUserNS, LayerNamespaces, LayerMemory}; err != nil || !slices.Equal(p.layers, want) || p.tier != Namespaces {
		t.Errorf("%+v %v", p, err)
	}
	if missing := []Layer{LayerScope, LayerPIDs, LayerCPU, LayerKill, LayerGVisor}; len(p.missing) != len(missing) || p.missing[0].Detail != "switched off by the operator" {
		t.Errorf("%+v", p.missing)
	}
	p, err = choose(machine(LayerUID, LayerSeccomp, LayerLandlock, LayerUserNS), Spec{})
	if err != nil || p.has(LayerUserNS) {
		t.Errorf("a user namespace without the others is of no use: %+v %v", p, err)
	}
}

func TestSpecsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	ok := Spec{Argv: []string{"/bin/true"}, ReadOnly: []Mount{{Source: "/usr"}}, Writable: []Mount{{Source: "/tmp/work"}, {Source: "/srv/a", Target: "/work"}}}
	if s, err := ok.withDefaults(); err != nil || s.Limits != (Limits{Memory: isolation.DefaultMemory, PIDs: isolation.DefaultPIDs, CPU: 0, CPUTime: 0, FileSize: isolation.DefaultFileSize, OpenFiles: isolation.DefaultOpenFiles, Tmp: isolation.DefaultTmp}) || s.ReadOnly[0].Target != "/usr" {
		t.Errorf("%+v %v", s, err)
	}
	for name, spoil := range map[string]func(*Spec){
		"no program":         func(s *Spec) { s.Argv = nil },
		"a program's name":   func(s *Spec) { s.Argv = []string{"true"} },
		"a relative folder":  func(s *Spec) { s.Dir = "work" },
		"a zero byte":        func(s *Spec) { s.Env = []string{"A=\x00"} },
		"a relative source":  func(s *Spec) { s.ReadOnly = []Mount{{Source: "usr"}} },
		"a relative target":  func(s *Spec) { s.ReadOnly = []Mount{{Source: "/usr", Target: "usr"}} },
		"all of the machine": func(s *Spec) { s.ReadOnly = []Mount{{Source: "/"}} },
		"over /proc":         func(s *Spec) { s.Writable = []Mount{{Source: "/srv", Target: "/proc/1"}} },
		"over /tmp":          func(s *Spec) { s.Writable = []Mount{{Source: "/srv", Target: "/tmp/"}} },
		"in /dev":            func(s *Spec) { s.ReadOnly = []Mount{{Source: "/dev/kvm"}} },
		"one in another":     func(s *Spec) { s.Writable = []Mount{{Source: "/srv", Target: "/usr/local"}} },
		"one above another": func(s *Spec) {
			s.ReadOnly = []Mount{{Source: "/usr/lib"}}
			s.Writable = []Mount{{Source: "/srv", Target: "/usr"}}
		},
		"twice":       func(s *Spec) { s.Writable = []Mount{{Source: "/usr"}} },
		"by a detour": func(s *Spec) { s.Writable = []Mount{{Source: "/srv", Target: "/a/../usr/x"}} },
	} {
		s := ok
		spoil(&s)
		if _, err := s.withDefaults(); err == nil {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

func TestTiersHaveNames(t *testing.T) {
	t.Parallel()
	for tier := None; tier <= GVisor; tier++ {
		text, err := json.Marshal(tier)
		var again Tier
		if err != nil || json.Unmarshal(text, &again) != nil || again != tier {
			t.Errorf("%s %v", text, err)
		}
	}
	if _, err := ParseTier("vm"); err == nil || !strings.Contains(err.Error(), "none, user, confined, namespaces, gvisor") {
		t.Error(err)
	}
}
