package sqlite

import (
	"database/sql"
	"fmt"
	"regexp"

	"modernc.org/sqlite"
)

// versions are the versions, as seen by the writer, of the tables whose rows the store caches. A number is never used again.
type versions struct {
	all  int64 // changes to unknown tables
	of   map[string]int64
	file uint32 // of the file, after the last commit; 0: unknown
}

// remembered matches these tables as words of a statement.
var remembered = regexp.MustCompile(`\b(tasks|queues|sessions|namespaces|leftovers|hook_version)\b`)

// These patterns match a statement that writes elsewhere and only reads one of the tables. Everything else counts as a write. A
// missing pattern costs an additional read, and a pattern too much would leave an outdated row in use.
var (
	removes = regexp.MustCompile(`(?i)\bdelete\s+from\b`)
	looksAt = regexp.MustCompile(`(?i)\b(from|join)\s+belfry\.(tasks|queues|sessions|namespaces|leftovers|hook_version)\b`)
)

// written returns the cached tables that a statement may write to. A statement that names a table counts as a write to it,
// unless it only reads there.
func written(query string) []string {
	if reads(query) {
		return nil
	}
	query = removes.ReplaceAllString(query, "delete")
	return remembered.FindAllString(looksAt.ReplaceAllString(query, "$1"), -1)
}

func (v *versions) version(table string) int64 { return v.all + v.of[table] }

func (v *versions) touch(tables []string) {
	for _, t := range tables {
		if t == "namespaces" || t == "leftovers" { // cached together with the queues
			t = "queues"
		}
		if v.of == nil {
			v.of = map[string]int64{}
		}
		v.of[t]++
	}
}

// fileVersion returns a number that changes with every commit to the file, as far as this connection has seen it.
func fileVersion(conn *sql.Conn) (version uint32, err error) {
	err = conn.Raw(func(driver any) error {
		c, ok := driver.(sqlite.FileControl)
		if !ok {
			return fmt.Errorf("the driver's connection is a %T, which cannot tell the file's version", driver)
		}
		version, err = c.FileControlDataVersion("main")
		return err
	})
	return version, err
}
