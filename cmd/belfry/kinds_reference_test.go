package main

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/setting"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
)

// kindsReference is the table of kinds of task.
func kindsReference() string {
	var b strings.Builder
	b.WriteString(`# Kinds of tasks and monitors

Made from the program by ` + "`go test ./cmd/belfry -run TestReference -update`" + `.

A task has the settings of exactly one kind, in an object of the kind's name, such as ` + "`http: {url: https://example.com}`" + `.
Every task has a name, queue, priority, timeout and retry policy besides. A monitor is a check with a schedule and a state. Its
kind is one of those with a flag below, which ` + "`belfry monitor create`" + ` takes. [Conditions](conditions.md) describes the values.

`)
	for _, k := range task.KindTable {
		var t task.Task
		settings := k.Edit(&t)
		if k.Kind == task.KindHeartbeat { // no task: a monitor waits for calls
			settings = &monitor.Heartbeat{}
		}
		text := cmp.Or(k.Does, k.Text)
		if k.Does != "" && k.Text != "" {
			text = "As a task: " + k.Does + "\n\nAs a monitor: " + k.Text
		}
		writeKind(&b, string(k.Kind), text, settings, k.Fields)
		if k.Values != "" {
			fmt.Fprintf(&b, "Conditions may use `%s`.\n\n", strings.ReplaceAll(k.Values, " ", "`, `"))
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// channelsReference is the table of kinds of channel.
func channelsReference() string {
	var b strings.Builder
	b.WriteString(`# Kinds of channels

Made from the program by ` + "`go test ./cmd/belfry -run TestReference -update`" + `.

A channel has the settings of exactly one kind, in an object of the kind's name, such as
` + "`ntfy: {topic: night-watch}`" + `. ` + "`belfry channel create`" + ` takes the flags. Secrets are kept sealed and never
shown. [Alerts](../guides/alerts.md) describes rules and messages.

`)
	for _, k := range alert.Kinds {
		var c alert.Channel
		writeKind(&b, k.Name, "", k.Edit(&c), k.Fields)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func writeKind(b *strings.Builder, name, text string, settings any, fields []setting.Field) {
	fmt.Fprintf(b, "## %s\n\n", name)
	if text != "" {
		b.WriteString(text + "\n\n")
	}
	if settings == nil {
		b.WriteString("It has no settings.\n\n")
		return
	}
	flags := map[string]setting.Field{}
	for _, f := range fields {
		flags[f.Path] = f
	}
	b.WriteString("| setting | type | flag | meaning |\n|---|---|---|---|\n")
	writeSettings(b, "", reflect.TypeOf(settings).Elem(), flags)
	b.WriteString("\n")
}

// writeSettings writes a row for each setting of a struct, and for those of the structs in it.
func writeSettings(b *strings.Builder, prefix string, of reflect.Type, flags map[string]setting.Field) {
	for _, f := range reflect.VisibleFields(of) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" || f.Tag.Get("readOnly") != "" {
			continue
		}
		path, kind := prefix+name, f.Type
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		if inner := kind; inner.Kind() == reflect.Struct {
			writeSettings(b, path+".", inner, flags)
			continue
		}
		field, flag := flags[path], ""
		if field.Flag != "" {
			flag = "`--" + field.Flag + "`"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", path, typeText(kind, f.Tag.Get("enum")), flag, cell(cmp.Or(f.Tag.Get("doc"), sentence(field.Usage), field.Label)))
		if kind.Kind() == reflect.Slice && kind.Elem().Kind() == reflect.Struct {
			writeSettings(b, path+"[].", kind.Elem(), flags)
		}
	}
}

// sentence begins with a capital, as the descriptions of settings do.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// typeText is the type of a setting as a definition has it.
func typeText(of reflect.Type, choices string) string {
	if choices != "" {
		return strings.ReplaceAll(choices, ",", ", ")
	}
	switch of {
	case reflect.TypeFor[core.Duration]():
		return "duration"
	case reflect.TypeFor[core.Secret]():
		return "secret"
	}
	switch of.Kind() {
	case reflect.Bool:
		return "yes or no"
	case reflect.Int, reflect.Int64:
		return "whole number"
	case reflect.Float64:
		return "number"
	case reflect.Map:
		return "map of " + typeText(of.Elem(), "")
	case reflect.Slice:
		if of.Elem().Kind() == reflect.Uint8 {
			return "JSON"
		}
		return "list of " + typeText(of.Elem(), "")
	case reflect.Struct:
		return "object"
	}
	return "text"
}
