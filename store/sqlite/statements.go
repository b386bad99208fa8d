package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
)

// statements are the prepared statements of a connection.
type statements struct {
	names prefix
	conn  *sql.Conn
	kept  map[string]statement // by text without a prefix
}

// statement is a prepared statement, and the remembered tables that it may write.
type statement struct {
	*sql.Stmt
	written []string
}

// maxStatements exceeds the number of texts in the store. It bounds the number of dynamic ones.
const maxStatements = 400

func (s *statements) take(conn *sql.Conn) { s.conn, s.kept = conn, map[string]statement{} }

// discard closes the connection, so that the next use gets a new one. It does not go back to the pool, which hands out
// connections as they are: inside an unfinished transaction it would fail every statement.
func (s *statements) discard() {
	if s.conn == nil {
		return
	}
	for _, stmt := range s.kept {
		_ = stmt.Close()
	}
	discard(s.conn)
	s.conn, s.kept = nil, nil
}

// discard closes a connection of a pool.
func discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = conn.Close() // it may be closed already
}

func (s *statements) prepared(ctx context.Context, query string) (statement, error) {
	if stmt, ok := s.kept[query]; ok {
		return stmt, nil
	}
	prepared, err := s.conn.PrepareContext(ctx, s.names.sql(query))
	if err != nil {
		return statement{}, fmt.Errorf("%w\n%s", err, query)
	}
	if len(s.kept) >= maxStatements {
		for text, old := range s.kept {
			_ = old.Close()
			delete(s.kept, text)
			break
		}
	}
	stmt := statement{prepared, written(query)}
	s.kept[query] = stmt
	return stmt, nil
}
