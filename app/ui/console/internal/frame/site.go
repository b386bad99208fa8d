package frame

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/belfry-run/belfry/app/ui/console/internal/fresh"
	"github.com/belfry-run/belfry/app/ui/internal/asset"
)

// Site is the console that pages belong to.
type Site struct {
	Log     *slog.Logger
	Public  bool   // a public URL is configured
	Origin  string // where people reach it, such as https://example.com; empty: where they asked
	Prefix  string // prefix of all paths in links
	Version string
	Now     func() time.Time
	Status  func(error) int // the HTTP status of an error
	Uploads Uploads
	Inspect func(file io.ReaderAt) (arch string, err error) // refuses a file that is not a program
	Assets  func() asset.Set

	// ReadDefinition reads a definition as people write it into v, a pointer to a struct. Its faults are of the field
	// "definition". WriteDefinition writes one. PlaceDefinition says where the fields of an error stand in a text that was
	// read like that into a new v.
	ReadDefinition  func(text, what string, v any) error
	WriteDefinition func(v any) (string, error)
	PlaceDefinition func(text string, v any, err error) error

	Nav   []NavItem
	Pages map[string]bool // patterns of all routes

	fresh fresh.Memory
}

// Asset is the address of a file of the assets.
func (s *Site) Asset(name string) string { return s.Prefix + "/assets/" + s.Assets().Link(name) }

// Secure reports whether a cookie is sent over TLS only. It is not for a request from the machine itself, which may bypass the
// proxy that has the certificate.
func (s *Site) Secure(r *http.Request) bool {
	return r.TLS != nil || strings.HasPrefix(s.Origin, "https:") && !IsLoopback(r.Host)
}

// IsLoopback reports whether an address is the machine itself.
func IsLoopback(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Base is where people reach the node, for commands to be copied.
func (s *Site) Base(r *http.Request) string {
	switch {
	case s.Origin != "":
		return s.Origin + s.Prefix
	case r.TLS != nil:
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// OfPort is the name of a cookie without TLS. Browsers send the cookies of a host to all of its ports, so two nodes on one
// machine need two names, or a sign-in at one ends the session at the other.
func OfPort(name string, r *http.Request) string {
	_, port, err := net.SplitHostPort(r.Host)
	if err != nil || strings.Trim(port, "0123456789") != "" {
		return name
	}
	return name + "_" + port
}

// SetCookie sets a cookie, or removes it with an age of -1.
func (s *Site) SetCookie(w http.ResponseWriter, r *http.Request, name, value string, age int) {
	http.SetCookie(w, &http.Cookie{
		Name: name, Value: value, Path: s.Prefix + "/", MaxAge: age,
		// Lax, so that a person who follows a link in an alert is signed in.
		HttpOnly: true, Secure: s.Secure(r), SameSite: http.SameSiteLaxMode,
	})
}

// LocalPath returns a path of this console, or that of the overview for a text that a browser could read as another host.
func LocalPath(text string) string {
	if !strings.HasPrefix(text, "/") || strings.HasPrefix(text, "//") || strings.Contains(text, "\\") || strings.ContainsFunc(text, unicode.IsControl) {
		return "/"
	}
	return text
}
