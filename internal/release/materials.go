package main

import (
	"debug/buildinfo"
	"encoding/json"
	"io"
	"strings"
	"time"
)

// component is a module in CycloneDX 1.6.
type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	URL     string `json:"purl"`
}

// dependency has the components of which a component is built.
type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn,omitempty"`
}

// own is the path of the project's first module, with which those of its other modules begin.
const own = "github.com/belfry-run/belfry"

// materials writes the bill of materials of a program: the compiled-in modules, which the build information of the program
// lists, and the standard library.
func materials(w io.Writer, program, version string, at time.Time) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	self := module("application", own, version)
	all := []component{module("library", "std", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, m := range info.Deps {
		if m.Path == own || strings.HasPrefix(m.Path, own+"/") {
			continue // the program itself
		}
		all = append(all, module("library", m.Path, m.Version))
	}
	relation := dependency{Ref: self.Ref}
	for _, c := range all {
		relation.DependsOn = append(relation.DependsOn, c.Ref)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(map[string]any{
		"bomFormat":    "CycloneDX",
		"specVersion":  "1.6",
		"version":      1,
		"metadata":     map[string]any{"timestamp": at.Format(time.RFC3339), "component": self},
		"components":   all,
		"dependencies": []dependency{relation},
	})
}

func module(kind, path, version string) component {
	url := "pkg:golang/" + path + "@" + version
	return component{Type: kind, Ref: url, Name: path, Version: version, URL: url}
}
