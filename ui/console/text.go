package console

import (
	"fmt"
	"html/template"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
)

// funcs are what all templates may call besides the methods of [page]. Each is
// a plain function of its arguments.
var funcs = template.FuncMap{
	"number": func(n any) string { return numberText(whole(n)) }, "count": countText, "bytes": core.SizeText, "percent": percentText,
	"span":    func(d any) string { return spanText(whole(d)) },
	"latency": func(d any) string { return latencyText(whole(d)) },
	"join":    strings.Join, "words": words, "short": short,
	"chip": newChip, "empty": newEmpty, "bar": newBar, "field": newField, "tab": newTab, "stat": newStat,
	"tabs": func(ts ...tab) []tab { return ts }, "stats": func(ss ...stat) []stat { return ss },
	"themes":   func() []string { return []string{"auto", "light", "dark"} },
	"sentence": sentence,
	"add":      func(a, b int) int { return a + b },
	"faults":   faultsOf, "problem": problemOf, "above": above, "plural": plural, "countOver": countOver,

	// What jobs, tasks, workers and queues are like.
	"assignments": assignments, "commandLine": commandLine, "document": newDocument, "environment": environment, "exit": exit,
	"attemptRan": attemptRan, "bulkVerbs": verbsFor, "firstLine": firstLineShort, "foundText": foundText, "groupSearch": groupSearch,
	"jobChip": jobChip, "jobTook": jobTook, "jobRows": newJobRows, "kindNames": kindNames, "kindSettings": kindSettings, "taskKindText": taskKindText, "taskName": taskName, "typed": typed,
	"heldLimits": heldLimits, "isolation": isolationText, "offeredMemory": offeredMemory, "twin": twin,
	"workerMachine": workerMachine, "workerSlots": workerSlots, "workerWord": workerWord,
	"loadLag": loadLag, "loadRate": loadRate, "loadWord": loadWord, "waited": waited, "throughput": throughput, "queueState": queueState, "share": share,

	// Schedules, calendars and cycles.
	"backfillBar": backfillBar, "backfillFields": backfillFields, "ranFor": ranFor, "reason": reasonText, "ruleKinds": func() any { return ruleKinds },
	"closingKinds": func() any { return closingKinds }, "closingLike": closingLike, "closingText": closingText, "scheduleSettings": settings,
	"cycleProgress": cycleProgress, "cycleState": cycleState, "dueMembers": dueMembers,

	// Monitors, incidents, alerts and what is around them.
	"capital": capital, "cause": cause, "endedBy": endedBy, "incidentState": incidentState, "latencyOrNone": latencyOrNone,
	"monitorKinds": func() any { return monitorKinds }, "outcomeChip": outcomeChip, "phases": phases, "signs": signs, "target": targetText, "uptimeStats": uptimeStats,
	"channelGoal": channelGoal, "channelKind": channelKind, "channelTitle": channelTitle, "notices": notices, "ruleFor": ruleFor,
	"statusPageShows": statusPageShows, "windowFor": windowFor, "windowWhen": windowWhen,

	// Settings.
	"auditNouns": auditNounsText, "scopeNames": scopeNames,
}

// whole is any whole number, durations too.
func whole(v any) int64 { return reflect.ValueOf(v).Int() }

// numberText writes a whole number with thin spaces between thousands.
func numberText[T ~int | ~int64](n T) string {
	text := strconv.FormatInt(int64(n), 10)
	sign := ""
	if strings.HasPrefix(text, "-") {
		sign, text = "−", text[1:]
	}
	var b strings.Builder
	for i, digit := range text {
		if i > 0 && (len(text)-i)%3 == 0 {
			b.WriteRune('\u202f')
		}
		b.WriteRune(digit)
	}
	return sign + b.String()
}

// countText writes a number that was counted up to core.CountLimit.
func countText(n int) string {
	if n > core.CountLimit {
		return "over " + numberText(core.CountLimit)
	}
	return numberText(n)
}

// percentText writes a ratio, and never rounds up to all.
func percentText(ratio float64) string {
	switch {
	case ratio >= 1:
		return "100 %"
	case ratio > 0.999:
		return "99.9 %"
	}
	return strings.TrimSuffix(strconv.FormatFloat(ratio*100, 'f', 1, 64), ".0") + " %"
}

// spanText writes a length of time for people, in its two largest units.
func spanText[D ~int64](length D) string {
	d := time.Duration(length)
	if d < 0 {
		return "−" + spanText(-d)
	}
	if d < time.Second {
		return latencyText(d)
	}
	if d < 10*time.Second {
		return strings.TrimSuffix(strconv.FormatFloat(d.Seconds(), 'f', 1, 64), ".0") + " s"
	}
	d = d.Truncate(time.Second)
	units := []struct {
		size time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}}
	for i, u := range units {
		if d < u.size {
			continue
		}
		text := fmt.Sprintf("%d %s", d/u.size, u.name)
		if i+1 < len(units) {
			if rest := d % u.size / units[i+1].size; rest > 0 {
				text += fmt.Sprintf(" %d %s", rest, units[i+1].name)
			}
		}
		return text
	}
	return "0 s"
}

// latencyText writes a short length of time with three digits.
func latencyText[D ~int64](length D) string {
	d := time.Duration(length)
	switch {
	case d >= time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 2, 64) + " s"
	case d >= 100*time.Millisecond || d == 0:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d >= time.Millisecond:
		return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 1, 64) + " ms"
	}
	return fmt.Sprintf("%d µs", d.Microseconds())
}

// words writes what machines call a thing as people do.
func words(v any) string { return strings.ReplaceAll(fmt.Sprint(v), "_", " ") }

// short cuts a text for a table.
func short(n int, text string) string {
	cut, was := core.CleanText(text, n)
	if was && len(text) > n {
		return cut + "…"
	}
	return cut
}

// assignments are names with their values, in the order of the names.
func assignments(values map[string]string) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		all = append(all, name+"="+values[name])
	}
	return all
}
