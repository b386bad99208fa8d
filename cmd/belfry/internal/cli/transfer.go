package cli

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/signed"
)

// TransferTime is the time limit to transfer a file to or from a store: a minute
// plus the time at 64 KiB/s.
func (s *Conn) TransferTime(size int64) time.Duration {
	return cmp.Or(s.Transfer, time.Minute) + time.Duration(size>>16)*time.Second
}

// Stalled returns the error of a transfer. If the time limit of the transfer ended
// it, the error says that the store stalled.
func Stalled(caller, transfer context.Context, err error) error {
	if err == nil || caller.Err() != nil || transfer.Err() == nil {
		return err
	}
	return core.Errorf(core.Unavailable, "the artifact store did not take or give the bytes in time")
}

// StoreClient returns the client for links. It trusts the same authorities as the client of the server, which may be the store.
func (s *Conn) StoreClient() (*http.Client, error) {
	roots, err := signed.Authorities(s.CAFile)
	if err != nil {
		return nil, err
	}
	return signed.Client(signed.Transport(roots)), nil
}
