package postgres

import (
	"context"
	"errors"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store/base"
)

// translate gives a driver's error a code, by its SQLSTATE and never by its text.
func translate(err error) error {
	var own *core.Error
	if err == nil || errors.As(err, &own) || errors.Is(err, context.Canceled) {
		return err
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return translateState(err, pg)
	}
	var connect *pgconn.ConnectError
	var network net.Error
	switch {
	case errors.As(err, &connect), errors.As(err, &network), pgconn.Timeout(err),
		errors.Is(err, net.ErrClosed), pgconn.SafeToRetry(err):
		return coded(core.Unavailable, err, "the database cannot be reached", "it is tried again; check the server and the address")
	}
	if strings.Contains(err.Error(), "closed pool") {
		return coded(core.Unavailable, err, "the pool is closed", "close it after the store")
	}
	if strings.Contains(err.Error(), "unexpected EOF") || strings.Contains(err.Error(), "conn closed") {
		// pgx has no type for a connection that the server dropped.
		return coded(core.Unavailable, err, "the connection to the database was cut", "it is tried again")
	}
	return err
}

func translateState(err error, pg *pgconn.PgError) error {
	switch class := pg.Code[:2]; {
	case pg.Code == "57014":
		return coded(core.Unavailable, err, "the database has canceled a statement: "+pg.Message, "raise statement_timeout of its role, or see who canceled it")
	case pg.Code == "25006", pg.Code == "XX000" && strings.Contains(pg.Message, "during recovery"):
		return base.ReadOnly(err, "it is a standby, or set to read only", "it is tried again; with several hosts in the address, add target_session_attrs=read-write")
	case pg.Code == "53100":
		return base.NoRoom(err)
	case noConnection(pg):
		return coded(core.Unavailable, err, "the database is not available: "+pg.Message, "lower max_conns of nodes, end other clients, or raise the limit of the role, max_connections of the server or max_client_conn of PgBouncer")
	case class == "08", class == "57", class == "53", pg.Code == "3D000", pg.Code == "25P03", pg.Code == "25P04":
		return coded(core.Unavailable, err, "the database is not available: "+pg.Message, "it is tried again; check the server")
	case class == "28": // like a missing right, not for the caller to fix: an error code of tokens would end workers
		return coded(core.Unavailable, err, "the database refused the login", "check user and password of the database address")
	case class == "40":
		return coded(core.Unavailable, err, "the database was too busy to settle who goes first", "try again")
	case pg.Code == "55P03":
		return coded(core.Unavailable, err, "another client holds a table of the database: "+pg.Message, "try again; a backup or a long transaction holds one until it ends")
	case pg.Code == "22021", pg.Code == "22P05":
		return base.NoText(err)
	case pg.Code == "42501":
		return coded(core.Unavailable, err, "the database user lacks a right: "+pg.Message, "grant it, or migrate as another user")
	case class == "58", class == "XX", errors.As(err, new(*pgconn.ConnectError)):
		return coded(core.Unavailable, err, "the database is not available: "+pg.Message, "it is tried again; check the server")
	}
	return err
}

func coded(code core.Code, err error, message, hint string) error {
	return &core.Error{Code: code, Message: message, Hint: hint, Err: err}
}
