package sqlite

import (
	"context"
	"database/sql"
	"fmt"
)

// statements are prepared on a connection and kept.
type statements struct {
	conn *sql.Conn
	kept map[string]statement
}

// statement is one that was prepared, and what of the remembered it may write.
type statement struct {
	*sql.Stmt
	written []string
}

// maxStatements is more than the store has texts; it bounds what dynamic ones
// could add.
const maxStatements = 400

func (s *statements) take(conn *sql.Conn) { s.conn, s.kept = conn, map[string]statement{} }

// giveUp gives the connection back, so that the next use gets a sound one.
func (s *statements) giveUp() {
	if s.conn == nil {
		return
	}
	for _, stmt := range s.kept {
		_ = stmt.Close()
	}
	_ = s.conn.Close()
	s.conn, s.kept = nil, nil
}

func (s *statements) prepared(ctx context.Context, query string) (statement, error) {
	if stmt, ok := s.kept[query]; ok {
		return stmt, nil
	}
	prepared, err := s.conn.PrepareContext(ctx, query)
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
