package sqlite

import (
	"database/sql"
	"fmt"
	"regexp"

	"modernc.org/sqlite"
)

// versions number what the writer has seen of the tables that the store
// remembers rows of. A number never comes again.
type versions struct {
	all  int64 // changes without a known table
	of   map[string]int64
	file uint32 // of the file, after the last commit; 0: not known
}

// remembered are those tables, as words of a statement.
var remembered = regexp.MustCompile(`\b(tasks|queues|sessions|namespaces|leftovers|hook_version)\b`)

// How a statement that writes elsewhere reads one of them. That is all which is
// known to be no write: what is missing here costs a look, and what is too much
// would leave an old row in use.
var (
	removes = regexp.MustCompile(`(?i)\bdelete\s+from\b`)
	looksAt = regexp.MustCompile(`(?i)\b(from|join)\s+belfry\.(tasks|queues|sessions|namespaces|leftovers|hook_version)\b`)
)

// written are the tables of those that a statement may write to. One that names
// a table is taken to write to it, unless it only reads there.
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
		if t == "namespaces" || t == "leftovers" { // which are remembered along with the queues
			t = "queues"
		}
		if v.of == nil {
			v.of = map[string]int64{}
		}
		v.of[t]++
	}
}

// fileVersion is a number that every commit to the file changes, as far as this
// connection has seen it.
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
