package job

import (
	"regexp"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
)

// LogQuery selects a part of a job's log as plain text, by byte.
type LogQuery struct {
	Attempt int    // 0: all
	Stream  Stream // default: all
	Offset  int64  // of the first byte; negative: counted from the end
	Limit   int    // bytes; default: 64 KiB; at most 1 MiB
	Tail    int    // number of last lines, within the limit; instead of Offset
	// Grep is a text to search for: the answer has the matching lines in Found
	// instead of the text. With Regexp it is an expression of Go's package regexp.
	// A search reads up to 8 MiB at a time.
	Grep   string
	Regexp bool
}

// Limits of a [LogQuery].
const (
	MaxLogText   = 1 << 20
	MaxLogSearch = 8 << 20
	MaxLogFound  = 1000
)

// Bound returns the number of bytes to return.
func (q LogQuery) Bound() int { return min(max(core.Or(q.Limit, 64<<10), 1), MaxLogText) }

// Match returns the predicate for matching lines, or nil without a search.
func (q LogQuery) Match() (func(line string) bool, error) {
	switch {
	case q.Attempt < 0 || q.Limit < 0 || q.Tail < 0:
		return nil, core.InvalidField("limit", "", "attempt, limit and tail are not negative", "")
	case q.Grep == "":
		return nil, nil
	case len(q.Grep) > MaxJobQuery:
		return nil, core.InvalidField("grep", q.Grep, "is too long", "")
	case !q.Regexp:
		return func(line string) bool { return strings.Contains(line, q.Grep) }, nil
	}
	re, err := regexp.Compile(q.Grep)
	if err != nil {
		return nil, core.InvalidField("grep", q.Grep, err.Error(), "an expression of Go's regexp")
	}
	return re.MatchString, nil
}

// LogText is a part of a log. Bytes are counted over the pieces that the query
// selects, attempt by attempt.
type LogText struct {
	Offset int64      `json:"offset" doc:"Where the text begins"`
	Next   int64      `json:"next" doc:"Where to go on; the size at the end"`
	Size   int64      `json:"size" doc:"Of the log as far as it is written"`
	Text   string     `json:"text,omitempty"`
	Found  []LogFound `json:"found,omitempty" doc:"Lines that a search found"`
	At     time.Time  `json:"at,omitzero" doc:"Of the first piece that the text is from"`
}

// LogFound is a line that a search found.
type LogFound struct {
	Offset int64  `json:"offset" doc:"Where the line begins"`
	Line   string `json:"line" doc:"Up to 1000 bytes of it"`
}

// Find adds the matching lines of text, which begins at t.Offset, and returns the
// offset at which to continue: before an unfinished last line, unless the text
// has no other line.
func (t *LogText) Find(text string, match func(line string) bool) int64 {
	at := 0
	for at < len(text) && len(t.Found) < MaxLogFound {
		end := strings.IndexByte(text[at:], '\n')
		whole := end >= 0
		if !whole {
			if at > 0 && t.Offset+int64(len(text)) < t.Size {
				break
			}
			end = len(text) - at
		}
		if line := text[at : at+end]; match(line) {
			line, _ = core.CleanText(line, 1000)
			t.Found = append(t.Found, LogFound{t.Offset + int64(at), line})
		}
		if at += end; whole {
			at++
		}
	}
	return t.Offset + int64(at)
}

// Lines of the stream [Log] that mark missing parts of a log.
const (
	LogOverLimit = "belfry: %d bytes of output over the limit of %d were cut\n"
	LogLeftOut   = "belfry: here %d bytes of output are left out, because the task keeps %d (limits.log)\n"
	LogLost      = "belfry: %d bytes of output were lost because the log could not be delivered in time\n"
	LogEnded     = "belfry: the log ends here, and the job goes on: %s; %s\n"
)

var logGap = regexp.MustCompile(`^belfry: ((here )?\d+ bytes of output |the log ends here, )`)

// IsLogGap reports whether a line of the stream [Log] marks a missing part.
func IsLogGap(line string) bool { return logGap.MatchString(line) }
