package sandbox

import (
	"fmt"
	"slices"
)

// plan is the tier and the layers that a run will use.
type plan struct {
	tier    Tier
	layers  []Layer
	missing []Finding
}

func (p plan) has(l Layer) bool { return slices.Contains(p.layers, l) }

// choose takes every layer that works, and refuses the run if it requires more.
func choose(r Report, s Spec) (plan, error) {
	p := plan{tier: r.Tier}
	for _, f := range r.Findings {
		switch {
		case !s.wants(f.Layer):
		case f.OK && useful(f.Layer, p.tier):
			p.layers = append(p.layers, f.Layer)
		case !f.OK:
			p.missing = append(p.missing, f)
		}
	}
	if p.tier < s.Min {
		return p, &Refusal{fmt.Sprintf("it needs isolation %s and this machine has %s: %s", s.Min, p.tier, r.Why(s.Min))}
	}
	return p, p.suits(r, s)
}

// wants reports whether a layer has an effect in a run.
func (s Spec) wants(l Layer) bool { return l != LayerEgress || s.Network && !s.Unguarded }

// useful reports whether a layer is used at a tier. Below namespaces a user
// namespace would only remove rights that seccomp and Landlock need. In gVisor
// no process of the program is a process of the machine, and runsc has filters of
// its own.
func useful(l Layer, t Tier) bool {
	switch l {
	case LayerUserNS, LayerNamespaces:
		return t >= Namespaces
	case LayerSeccomp, LayerLandlock, LayerScope:
		return t < GVisor
	}
	return true
}

// suits refuses requirements that the tier cannot meet.
func (p plan) suits(r Report, s Spec) error {
	for _, l := range s.Need {
		if !p.has(l) {
			why := r.Finding(l).Detail
			if why == "" {
				why = "not used at tier " + p.tier.String()
			}
			return &Refusal{fmt.Sprintf("it needs %s: %s", l, why)}
		}
	}
	if !s.Network && p.tier < Namespaces && !p.has(LayerSeccomp) {
		return &Refusal{"it must not have the network, and this machine cannot withhold it: " + r.Why(Confined)}
	}
	if s.wants(LayerEgress) && !p.has(LayerEgress) {
		return &Refusal{fmt.Sprintf("it must reach public addresses only, and this machine cannot keep it from others: egress (%s)", r.Finding(LayerEgress).Detail)}
	}
	for _, m := range slices.Concat(s.ReadOnly, s.Writable) {
		if m.Source != m.Target && p.tier < Namespaces {
			return &Refusal{fmt.Sprintf("it wants %s at %s, which needs isolation namespaces: %s", m.Source, m.Target, r.Why(Namespaces))}
		}
	}
	return nil
}

// network returns the kind of network that the program gets.
func (p plan) network(asked bool) string {
	switch {
	case p.has(LayerEgress):
		return "guarded"
	case asked:
		return "machine"
	case p.tier >= Namespaces:
		return "loopback"
	}
	return "none"
}
