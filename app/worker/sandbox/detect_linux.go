package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/belfry-run/belfry/app/worker/sandbox/internal/cgroup"
	"github.com/belfry-run/belfry/app/worker/sandbox/internal/child"
	"github.com/belfry-run/belfry/app/worker/sandbox/internal/seccomp"
)

// trialTime is the time limit of one trial, also on a busy machine.
const trialTime = 20 * time.Second

// detect tries every layer in a child.
func (s *Sandbox) detect(ctx context.Context) Report {
	var r Report
	found := func(l Layer, err error, detail string) bool {
		if err != nil {
			detail = reason(err)
		}
		r.Findings = append(r.Findings, Finding{Layer: l, OK: err == nil, Detail: detail})
		return err == nil
	}
	locks := s.tryAll(ctx, LayerUID, LayerSeccomp, LayerLandlock)
	uid := []Layer{LayerUID}
	if !found(LayerUID, locks[LayerUID], fmt.Sprintf("%d and up", s.options.UIDBase)) {
		uid = nil
	}
	found(LayerSeccomp, locks[LayerSeccomp], "")
	abi, err := child.LandlockABI()
	if err == nil {
		err = locks[LayerLandlock]
	}
	if found(LayerLandlock, err, fmt.Sprintf("version %d", abi)) {
		found(LayerScope, tryScope(abi), "")
	}
	s.detectNamespaces(found, func(layers ...Layer) error { return s.try(ctx, layers) }, uid)
	groups := s.tryAll(ctx, cgroup.Layers...)
	for _, l := range cgroup.Layers {
		found(l, groups[l], fmt.Sprintf("cgroup v%d", s.groups.By[l].Version))
	}
	err = s.tryGVisor(ctx, r.Has)
	found(LayerGVisor, err, s.runsc)
	return r
}

// tryAll tries layers in one child, and only if that fails each in a child of its
// own. It returns why layers do not work.
func (s *Sandbox) tryAll(ctx context.Context, layers ...Layer) map[Layer]error {
	failed := map[Layer]error{}
	var able []Layer
	for _, l := range layers {
		if failed[l] = s.cannot(l); failed[l] == nil {
			able = append(able, l)
		}
	}
	if len(able) == 0 || s.try(ctx, able) == nil {
		return failed
	}
	for _, l := range able {
		failed[l] = s.try(ctx, []Layer{l})
	}
	return failed
}

// cannot returns why a layer does not work, if that is known without a trial.
func (s *Sandbox) cannot(l Layer) error {
	switch {
	case l == LayerUID && os.Geteuid() != 0:
		return errors.New("the worker is not root")
	case l == LayerSeccomp && seccomp.Arch == 0:
		return errors.New("there is no list of system calls for " + runtime.GOARCH)
	case s.groups.Why[l] != "":
		return errors.New(s.groups.Why[l])
	}
	return nil
}

// detectNamespaces prefers namespaces in a user namespace, where not even the
// init is the machine's root. If user namespaces are forbidden, root can do
// without.
func (s *Sandbox) detectNamespaces(found func(Layer, error, string) bool, try func(...Layer) error, uid []Layer) {
	if os.Geteuid() == 0 && uid == nil {
		err := errors.New("a worker that is root needs other user ids for its programs")
		found(LayerUserNS, err, "")
		found(LayerNamespaces, err, "")
		return
	}
	err := try(append(slices.Clone(uid), LayerUserNS, LayerNamespaces)...)
	if found(LayerUserNS, err, "") {
		found(LayerNamespaces, nil, "")
		return
	}
	if uid != nil {
		err = try(append(slices.Clone(uid), LayerNamespaces)...)
	}
	found(LayerNamespaces, err, "without a user namespace")
}

// reason returns the text of an error that explains why a layer does not work.
func reason(err error) string {
	text := strings.TrimPrefix(err.Error(), "sandbox: ")
	var fault *Fault
	switch {
	case errors.As(err, &fault) && fault.TooLow(): // it says so
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		text += " (neither root nor allowed by the kernel or the container around)"
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EOPNOTSUPP):
		text += " (this kernel does not have it)"
	case errors.Is(err, unix.EINVAL) && strings.Contains(text, "setgid"):
		text += " (the container around does not have these user ids)"
	case errors.Is(err, unix.ENOSPC):
		text += " (the kernel's number of namespaces is limited to none)"
	}
	return text
}

// try sets up a child with the layers, and checks in the child that they are in force.
func (s *Sandbox) try(ctx context.Context, layers []Layer) error {
	ctx, cancel := context.WithTimeout(ctx, trialTime)
	defer cancel()
	spec := Spec{Argv: []string{"/trial"}, Dir: "/", Network: !slices.Contains(layers, LayerNamespaces)}
	// The trial writes almost nothing, and a mount would outlive a worker that is killed meanwhile.
	spec.Limits = Limits{Tmp: -1}.WithDefaults()
	_, said, err := s.start(ctx, spec, plan{layers: layers}, true)
	if err == nil && len(said.Broken) > 0 {
		err = errors.New(strings.Join(said.Broken, "; "))
	}
	return err
}

func tryScope(abi int) error {
	if abi < 6 {
		return fmt.Errorf("version %d of Landlock; it takes 6, which Linux 6.12 has", abi)
	}
	return nil
}
