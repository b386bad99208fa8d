// Package deploy_test renders the chart with Helm's own engine and reads what
// comes out with the types of Kubernetes, strictly. It is a module of its own,
// so that neither gets into the product's graph.
package deploy_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the manifests of deploy/kubernetes anew")

const (
	chartDir  = "../helm/belfry"
	manifests = "../kubernetes"
)

// render is the chart with some values, by template.
func render(t *testing.T, values map[string]any) (map[string]string, error) {
	t.Helper()
	c, err := loader.Load(chartDir)
	must(t, err)
	v, err := chartutil.ToRenderValues(c, values, chartutil.ReleaseOptions{Name: "belfry", Namespace: "belfry", IsInstall: true}, chartutil.DefaultCapabilities)
	must(t, err)
	return engine.Render(c, v)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type values = map[string]any

// variants are what people set.
var variants = map[string]values{
	"default":  {},
	"job":      {"pods": values{"enabled": true, "kind": "Job", "parallelism": 3, "queues": []any{"builds", "tests"}}},
	"keda":     {"pods": values{"enabled": true}, "autoscale": values{"kind": "keda"}, "artifactStore": []any{values{"cidr": "10.20.0.0/24", "port": 443}}},
	"hpa":      {"autoscale": values{"kind": "hpa"}},
	"postgres": {"server": values{"replicas": 3, "database": values{"secretName": "db"}}, "artifacts": "s3://bytes/belfry?region=eu-central-1"},
	"remote":   {"server": values{"enabled": false}, "serverURL": "https://belfry.example.com", "workerToken": values{"secretName": "token"}},
	"tls":      {"server": values{"tls": values{"secretName": "cert"}}, "pods": values{"enabled": true, "kind": "Job"}},
	"public":   {"server": values{"tls": values{"secretName": "cert", "caKey": ""}}, "pods": values{"enabled": true, "kind": "Job"}},
	"own":      {"secrets": values{"existing": "mine"}},
}

// documents are the objects of a rendering.
func documents(t *testing.T, rendered map[string]string) (docs [][]byte) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		if strings.HasSuffix(name, ".tpl") || strings.HasSuffix(name, ".txt") { // parts, and notes for people
			continue
		}
		for _, doc := range strings.Split(rendered[name], "\n---") {
			if text := strings.TrimSpace(strings.TrimPrefix(doc, "---")); text != "" {
				docs = append(docs, []byte(text))
			}
		}
	}
	return docs
}

// pod is a pod that something makes.
type pod struct {
	of   string
	spec corev1.PodSpec
	meta map[string]string
}

// read decodes an object strictly, and gives the pod that it makes, if any.
func read(t *testing.T, doc []byte) (any, *pod) {
	t.Helper()
	var head struct {
		Kind     string `json:"kind"`
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
	}
	must(t, yaml.Unmarshal(doc, &head))
	strict := func(into any) any {
		if err := yaml.UnmarshalStrict(doc, into, yaml.DisallowUnknownFields); err != nil {
			t.Fatalf("%s %s: %v\n%s", head.Kind, head.Metadata.Name, err, doc)
		}
		return into
	}
	of := head.Kind + " " + head.Metadata.Name
	made := func(s corev1.PodTemplateSpec) *pod { return &pod{of, s.Spec, s.Labels} }
	switch head.Kind {
	case "Deployment":
		d := strict(&appsv1.Deployment{}).(*appsv1.Deployment)
		return d, made(d.Spec.Template)
	case "StatefulSet":
		s := strict(&appsv1.StatefulSet{}).(*appsv1.StatefulSet)
		return s, made(s.Spec.Template)
	case "Job":
		j := strict(&batchv1.Job{}).(*batchv1.Job)
		return j, made(j.Spec.Template)
	case "ScaledJob":
		s := strict(&scaledJob{}).(*scaledJob)
		return s, made(s.Spec.JobTargetRef.Template)
	case "ScaledObject":
		return strict(&scaledObject{}), nil
	case "HorizontalPodAutoscaler":
		return strict(&autoscalingv2.HorizontalPodAutoscaler{}), nil
	case "NetworkPolicy":
		return strict(&networkingv1.NetworkPolicy{}), nil
	case "Service":
		return strict(&corev1.Service{}), nil
	case "Secret":
		return strict(&corev1.Secret{}), nil
	}
	t.Fatalf("a %s is not looked at here", of)
	return nil, nil
}

// Nodes on PostgreSQL are replaced one by one, the new beside the old.
func TestServersOnPostgreSQLAreReplacedOneByOne(t *testing.T) {
	deployments := 0
	for name, v := range variants {
		rendered, err := render(t, v)
		must(t, err)
		for _, doc := range documents(t, rendered) {
			thing, _ := read(t, doc)
			d, ok := thing.(*appsv1.Deployment)
			if !ok || !strings.HasSuffix(d.Name, "-server") {
				continue
			}
			deployments++
			s := d.Spec.Strategy
			if s.Type != appsv1.RollingUpdateDeploymentStrategyType || s.RollingUpdate == nil || s.RollingUpdate.MaxUnavailable.IntValue() != 0 || s.RollingUpdate.MaxSurge.IntValue() != 1 {
				t.Errorf("%s: strategy %+v", name, s)
			}
		}
	}
	if deployments == 0 {
		t.Error("no variant has servers on PostgreSQL")
	}
}

func TestEveryPodIsRestricted(t *testing.T) {
	for name, v := range variants {
		t.Run(name, func(t *testing.T) {
			rendered, err := render(t, v)
			must(t, err)
			pods := 0
			for _, doc := range documents(t, rendered) {
				if _, p := read(t, doc); p != nil {
					pods++
					p.check(t)
				}
			}
			if pods == 0 {
				t.Error("there is no pod")
			}
		})
	}
}

// check is the restricted pod security standard, and what we want beside it.
func (p *pod) check(t *testing.T) {
	t.Helper()
	s := p.spec
	bad := func(format string, args ...any) { t.Errorf(p.of+": "+format, args...) }
	if s.AutomountServiceAccountToken == nil || *s.AutomountServiceAccountToken {
		bad("it gets a token of the cluster")
	}
	if s.HostNetwork || s.HostPID || s.HostIPC {
		bad("it shares namespaces of the host")
	}
	sc := s.SecurityContext
	if sc == nil || sc.RunAsNonRoot == nil || !*sc.RunAsNonRoot || sc.RunAsUser == nil || *sc.RunAsUser == 0 || sc.SeccompProfile == nil || sc.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		bad("security context %+v", sc)
	}
	for _, v := range s.Volumes {
		if v.HostPath != nil || v.EmptyDir != nil && v.EmptyDir.SizeLimit == nil {
			bad("volume %s is the host's or has no limit", v.Name)
		}
	}
	for _, c := range slices.Concat(s.InitContainers, s.Containers) {
		x := c.SecurityContext
		if x == nil || x.AllowPrivilegeEscalation == nil || *x.AllowPrivilegeEscalation || x.ReadOnlyRootFilesystem == nil || !*x.ReadOnlyRootFilesystem ||
			x.Capabilities == nil || len(x.Capabilities.Add) > 0 || !slices.Contains(x.Capabilities.Drop, "ALL") || x.RunAsUser != nil {
			bad("container %s: %+v", c.Name, x)
		}
		if c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() {
			bad("container %s has no bounds", c.Name)
		}
	}
}

func TestOnlyTheFirstContainerOfAProgramSeesTheToken(t *testing.T) {
	rendered, err := render(t, variants["job"])
	must(t, err)
	for _, doc := range documents(t, rendered) {
		_, p := read(t, doc)
		if p == nil || p.meta["app.kubernetes.io/component"] != "program" {
			continue
		}
		if p.spec.RestartPolicy != corev1.RestartPolicyNever {
			t.Error("Kubernetes would start it again")
		}
		sees := func(c corev1.Container) bool {
			return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == "token" })
		}
		if !sees(p.spec.InitContainers[0]) || sees(p.spec.Containers[0]) {
			t.Error("the worker's token is where it should not be")
		}
		for _, e := range p.spec.Containers[0].Env {
			if strings.Contains(e.Name, "TOKEN") || e.ValueFrom != nil {
				t.Errorf("the second container gets %s", e.Name)
			}
		}
		return
	}
	t.Error("there is no pod for programs")
}

func TestNetworkPolicyLimitsTraffic(t *testing.T) {
	rendered, err := render(t, variants["keda"])
	must(t, err)
	seen := 0
	for _, doc := range documents(t, rendered) {
		o, _ := read(t, doc)
		n, is := o.(*networkingv1.NetworkPolicy)
		if !is || strings.HasSuffix(n.Name, "-server") {
			continue
		}
		seen++
		if len(n.Spec.Ingress) > 0 || len(n.Spec.PolicyTypes) != 2 {
			t.Errorf("%s lets something in: %+v", n.Name, n.Spec)
		}
		for _, e := range n.Spec.Egress {
			if len(e.To) == 0 || len(e.Ports) == 0 {
				t.Errorf("%s lets everything out: %+v", n.Name, e)
			}
		}
	}
	if seen != 2 {
		t.Errorf("%d policies, want those of workers and of programs", seen)
	}
}

func TestNonsenseIsRefused(t *testing.T) {
	for name, v := range map[string]values{
		"needs PostgreSQL":         {"server": values{"replicas": 2}},
		"artifacts must name":      {"server": values{"database": values{"secretName": "db"}}},
		"workerToken.secretName":   {"server": values{"enabled": false}},
		"is not none, keda or hpa": {"autoscale": values{"kind": "magic"}},
	} {
		if _, err := render(t, v); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The plain manifests are the chart's, for who does not use Helm.
func TestManifestsAreThoseOfTheChart(t *testing.T) {
	for file, v := range map[string]values{"belfry.yaml": {"secrets": values{"existing": "belfry-secrets"}}, "program-job.yaml": {
		"server": values{"enabled": false}, "worker": values{"enabled": false}, "serverURL": "http://belfry-server.belfry.svc:7420",
		"workerToken": values{"secretName": "belfry-secrets", "key": "worker-token"},
		"pods":        values{"enabled": true, "kind": "Job"},
	}} {
		rendered, err := render(t, v)
		must(t, err)
		var b bytes.Buffer
		fmt.Fprintf(&b, "# Made of the chart in ../helm by: go test ./... -update in ../test. Apply with: kubectl apply -n belfry -f %s\n", file)
		for _, doc := range documents(t, rendered) {
			fmt.Fprintf(&b, "---\n%s\n", bytes.ReplaceAll(doc, []byte("    app.kubernetes.io/managed-by: Helm\n"), nil))
		}
		path := filepath.Join(manifests, file)
		if *update {
			must(t, os.WriteFile(path, b.Bytes(), 0o644)) //nolint:gosec // it is published
		}
		got, err := os.ReadFile(path)
		must(t, err)
		if !bytes.Equal(got, b.Bytes()) {
			t.Errorf("%s is not what the chart renders: go test ./... -update", path)
		}
	}
}

// systemd reads the units; the program they start need not be installed here.
func TestUnitsAreValid(t *testing.T) {
	verify, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Fatal("systemd-analyze is needed: apt-get install systemd")
	}
	units, err := filepath.Glob("../systemd/*.service")
	must(t, err)
	for _, unit := range units {
		text, err := os.ReadFile(unit)
		must(t, err)
		copied := filepath.Join(t.TempDir(), filepath.Base(unit))
		must(t, os.WriteFile(copied, bytes.ReplaceAll(text, []byte("/usr/local/bin/belfry"), []byte("/bin/true")), 0o600))
		out, err := exec.Command(verify, "verify", "--man=no", copied).CombinedOutput()
		// What other units of this machine lack is not ours.
		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, filepath.Base(unit)) {
				t.Error(line)
			}
		}
		if err != nil && len(out) == 0 {
			t.Error(unit, err)
		}
		for _, want := range []string{"Delegate=yes", "NoNewPrivileges=yes", "ProtectSystem=strict", "KillMode=mixed",
			"SystemCallArchitectures=native", "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK"} {
			if !strings.Contains(string(text), "\n"+want+"\n") {
				t.Errorf("%s does not say %s", unit, want)
			}
		}
		// What sandboxes need, and what would take it from them.
		for _, never := range []string{"ProtectHostname=yes", "RestrictNamespaces=", "SystemCallFilter=", "PrivateUsers=yes", "ProtectControlGroups=yes", "ProtectKernelTunables=yes"} {
			if strings.Contains(string(text), "\n"+never) {
				t.Errorf("%s says %s, under which programs cannot be kept apart", unit, never)
			}
		}
	}
}

// A secret without the key that a volume names keeps its pods from starting.
func TestTheAuthorityIsMountedWhereItsSecretHasIt(t *testing.T) {
	t.Parallel()
	for variant, want := range map[string]bool{"default": false, "tls": true, "public": false} {
		rendered, err := render(t, variants[variant])
		must(t, err)
		for _, doc := range documents(t, rendered) {
			if got := bytes.Contains(doc, []byte("ca.crt")) && bytes.Contains(doc, []byte("BELFRY_CA_FILE")); got != want && bytes.Contains(doc, []byte("BELFRY_TOKEN_FILE")) {
				t.Errorf("%s: the authority is mounted: %t\n%s", variant, got, doc)
			}
		}
	}
}
