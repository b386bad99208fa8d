package cli

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/exchange"
)

// TransferTime is how long a file may take on its way to or from a store: a minute
// and what it needs at 64 KiB a second.
func (s *Conn) TransferTime(size int64) time.Duration {
	return cmp.Or(s.Transfer, time.Minute) + time.Duration(size>>16)*time.Second
}

// Stalled is the error of a transfer, told as that of a store that stalls if the
// transfer's own time ended it.
func Stalled(caller, transfer context.Context, err error) error {
	if err == nil || caller.Err() != nil || transfer.Err() == nil {
		return err
	}
	return core.Errorf(core.Unavailable, "the artifact store did not take or give the bytes in time")
}

// StoreClient follows no redirect: a link is for one place.
var StoreClient = &http.Client{
	Transport:     exchange.Transport{RoundTripper: http.DefaultTransport},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}
