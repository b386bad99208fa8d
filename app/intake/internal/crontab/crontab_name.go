package crontab

import (
	"regexp"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/app/intake/internal/base"
)

// commandSlug is a name for a command: the program, without shell words and
// wrappers around it, and its first argument.
func commandSlug(command string) string {
	command, _, _ = percent(command)
	var parts []string
	list := strings.Fields(strings.NewReplacer(";", " ; ", "(", " ", ")", " ", "{", " ", "}", " ", "`", " ").Replace(base.CutText(command, 2000)))
	for i := 0; i < len(list) && len(parts) < 3; i++ {
		word := strings.Trim(list[i], `"'`)
		switch {
		case strings.ContainsAny(word, "|&;<>") && len(parts) > 0:
			i = len(list)
		case len(parts) == 0 && slices.Contains([]string{"cd", "test", "[", "[[", "sleep", "command", "umask", "export", ".", "source", "if", "set"}, word):
			for i+1 < len(list) && !strings.ContainsAny(list[i], ";") && list[i] != "&&" && list[i] != "||" {
				i++
			}
		case len(parts) == 0 && (word == "-u" || word == "-g"): // sudo: as whom
			i++
		case word == "" || word[0] == '-' || word[0] == '$' || strings.ContainsAny(word, "|&;<>="):
		case len(parts) == 0 && (wrappers[word[strings.LastIndexByte(word, '/')+1:]] || durationRule.MatchString(word)):
			if strings.HasSuffix(word, "flock") { // its file follows
				for i+1 < len(list) && list[i+1][0] == '-' {
					i++
				}
				i++
			}
		default:
			if p := base.Slug(baseName(word)); p != "" {
				parts = append(parts, p)
			}
		}
	}
	return base.OrWord(base.CutText(strings.Join(parts, "-"), 60), "command")
}

var durationRule = regexp.MustCompile(`^[0-9]+[smhd]?$`)

// wrappers run another program, which is the one to be named.
var wrappers = words("sudo nice ionice nohup exec time chronic env eatmydata timeout flock run-one then do sh bash dash zsh php python python2 python3 perl ruby node setsid systemd-cat")

// baseName is the last part of a path, without the suffix of a language.
func baseName(word string) string {
	word = strings.TrimRight(word, "/")
	word = word[strings.LastIndexByte(word, '/')+1:]
	for _, ext := range []string{".sh", ".bash", ".py", ".pl", ".rb", ".php", ".js"} {
		if len(word) > len(ext) {
			word = strings.TrimSuffix(word, ext)
		}
	}
	return word
}
