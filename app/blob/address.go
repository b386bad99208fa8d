package blob

import (
	"context"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/belfry-run/belfry/core"
)

// Options of a store. The zero value works.
type Options struct {
	// URL is the address of a folder's handler, as clients reach it, such as
	// https://belfry.example.org/artifacts. Links of the folder lead there.
	// Default: /artifacts, a path of the server that returned the link. A bucket
	// ignores it.
	URL string
	// MaxSize is the maximum size of an artifact in bytes. Default:
	// [DefaultMaxSize]. A bucket accepts at most 5 GiB in one request.
	MaxSize int64
	// KeepFree is how many bytes a folder leaves free on its disk, which it may
	// share with the database. Default: 128 MiB. Negative: none.
	KeepFree int64
	// Now is the clock of links. Nodes that share a folder need one clock, such as that of their database.
	// Default: that of this machine.
	Now func() time.Time
	// Logger logs errors of a folder's handler. Default: none.
	Logger *slog.Logger
}

const (
	defaultURL      = "/artifacts"
	defaultKeepFree = 128 << 20
)

func (o Options) filled() (Options, error) {
	if o.URL == "" {
		o.URL = defaultURL
	}
	if u, err := url.Parse(o.URL); err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return o, core.InvalidField("url", "", "is not the address of a handler", "such as https://belfry.example.org/artifacts")
	}
	if o.MaxSize < 0 {
		return o, core.InvalidField("max_size", strconv.FormatInt(o.MaxSize, 10), "is negative", "")
	}
	return o.withDefaults(), nil
}

func (o Options) withDefaults() Options {
	if o.MaxSize == 0 {
		o.MaxSize = DefaultMaxSize
	}
	if o.KeepFree == 0 {
		o.KeepFree = defaultKeepFree
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// addressHint shows both forms of an address.
const addressHint = "folder:/var/lib/belfry/artifacts or s3://bucket/prefix?region=eu-central-1"

// Open opens the store at an address:
//
//	folder:/var/lib/belfry/artifacts
//	s3://bucket/prefix?region=eu-central-1
//	s3://bucket?endpoint=http://minio:9000&public_endpoint=https://s3.example.org&path_style=true
//
// Options of S3: region has the default of the AWS tools. endpoint is a service
// other than AWS. public_endpoint is the endpoint of clients, if it differs; it
// appears in links. path_style puts the bucket into the path; it is the default
// with an endpoint. Credentials come from the sources of the AWS tools: the
// environment, the shared files, the role of the machine. Links that were signed
// with the credentials of a role end with its session.
//
// A folder is also an [http.Handler], which must be served at Options.URL.
func Open(ctx context.Context, address string, o Options) (Store, error) {
	kind, rest, _ := strings.Cut(address, ":")
	switch kind {
	case "folder":
		return openStore(OpenFolder(rest, o))
	case "s3":
		place, err := parsePlace(rest)
		if err != nil {
			return nil, err
		}
		return openStore(OpenBucket(ctx, place, o))
	}
	return nil, core.InvalidField("artifacts", "", "the address names neither a folder nor a bucket", addressHint)
}

// openStore keeps a nil pointer from becoming a Store.
func openStore[S Store](st S, err error) (Store, error) {
	if err != nil {
		return nil, err
	}
	return st, nil
}

// Place is the location of a bucket.
type Place struct {
	Bucket         string
	Prefix         string // of every key; without slashes at its ends
	Region         string
	Endpoint       string // of the service; empty: AWS
	PublicEndpoint string // of the service, for clients; default: Endpoint
	PathStyle      bool   // the bucket is in the path, not in the name of the host
}

// parsePlace reads the rest of an address after "s3:". Its errors do not repeat
// the input, which may hold a secret in the wrong place.
func parsePlace(rest string) (Place, error) {
	u, err := url.Parse("s3:" + rest)
	if err != nil || !strings.HasPrefix(rest, "//") || u.Fragment != "" {
		return Place{}, badPlace("is not an address of S3")
	}
	if u.User != nil {
		return Place{}, badPlace("holds a credential; those come from the environment, as the AWS tools take them")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return Place{}, badPlace("has a query that cannot be read")
	}
	p := Place{Bucket: u.Host, Prefix: strings.Trim(u.Path, "/"), PathStyle: query.Get("endpoint") != ""}
	for name, values := range query {
		if len(values) != 1 {
			return Place{}, badPlace("has " + name + " more than once")
		}
		if err := p.set(name, values[0]); err != nil {
			return Place{}, err
		}
	}
	return p, nil
}

func (p *Place) set(name, value string) (err error) {
	switch name {
	case "region":
		p.Region = value
	case "endpoint":
		p.Endpoint = value
	case "public_endpoint":
		p.PublicEndpoint = value
	case "path_style":
		if p.PathStyle, err = strconv.ParseBool(value); err != nil {
			return badPlace("has a path_style that is neither true nor false")
		}
	default:
		return badPlace("has an option that is not known; these are: region, endpoint, public_endpoint, path_style")
	}
	return nil
}

// check refuses places that cannot work, and prefixes that would lead to other keys.
func (p Place) check() error {
	if !isBucket(p.Bucket) {
		return badPlace("names no valid bucket")
	}
	for part := range strings.SplitSeq(p.Prefix, "/") {
		if part == "." || part == ".." || (part == "" && p.Prefix != "") || strings.ContainsFunc(part, unicode.IsControl) {
			return badPlace("has a prefix that is not a plain path")
		}
	}
	for name, endpoint := range map[string]string{"endpoint": p.Endpoint, "public_endpoint": p.PublicEndpoint} {
		if endpoint == "" {
			continue
		}
		u, err := url.Parse(endpoint)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" ||
			u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return badPlace("has an " + name + " that is not plainly http:// or https:// and a host")
		}
	}
	return nil
}

func isBucket(name string) bool {
	if len(name) < 3 || len(name) > 255 {
		return false
	}
	return !strings.ContainsFunc(name, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("._-", c)
	})
}

func badPlace(message string) error {
	return core.InvalidField("artifacts", "", message, addressHint)
}
