package blob_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/blob"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/hostile"
)

// What Bucket does with a server is in app/blob/s3test, a module of its own. Here
// is what it does without one.

const (
	accessKey = "AKIAEXAMPLE"
	secretKey = "wJalrXUtnFEMI-secret"
)

// credentials sets these, and nothing else, for a test.
func credentials(t *testing.T, access, secret string) {
	t.Helper()
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": access, "AWS_SECRET_ACCESS_KEY": secret, "AWS_SESSION_TOKEN": "", "AWS_PROFILE": "", "AWS_REGION": "", "AWS_DEFAULT_REGION": "",
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_ENDPOINT_URL": "", "AWS_ENDPOINT_URL_S3": "",
	} {
		t.Setenv(name, value)
	}
}

func openBucket(t *testing.T, address string) blob.Store {
	t.Helper()
	st, err := blob.Open(t.Context(), address, blob.Options{})
	must(t, err)
	t.Cleanup(func() { must(t, st.Close()) })
	return st
}

// TestBucketSignsHeaders is not covered by a server that is not AWS: others
// compare a checksum in the query too, and AWS does not.
func TestBucketSignsHeaders(t *testing.T) {
	credentials(t, accessKey, secretKey)
	st := openBucket(t, "s3://artifacts?region=eu-central-1")
	up := announce(program)
	q, err := st.SignPut(t.Context(), up, time.Hour)
	must(t, err)
	sum, err := hex.DecodeString(up.Digest)
	must(t, err)
	for name, want := range map[string]string{
		"Content-Length": strconv.Itoa(len(program)), "If-None-Match": "*", "X-Amz-Checksum-Sha256": base64.StdEncoding.EncodeToString(sum),
	} {
		if got := q.Headers[name]; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if len(q.Headers) != 3 {
		t.Errorf("more is to be sent than what is known here: %v", q.Headers)
	}
	u, err := url.Parse(q.URL)
	must(t, err)
	signed := strings.Split(u.Query().Get("X-Amz-SignedHeaders"), ";")
	if want := []string{"content-length", "host", "if-none-match", "x-amz-checksum-sha256"}; !slices.Equal(signed, want) {
		t.Errorf("signed: %v, want %v", signed, want)
	}
	for name := range u.Query() {
		if l := strings.ToLower(name); strings.Contains(l, "checksum") || strings.Contains(l, "crc") || strings.Contains(l, "sdk") {
			t.Errorf("%s is in the query, where AWS does not compare it", name)
		}
	}
	if got := u.Query().Get("X-Amz-Expires"); got != "3600" {
		t.Errorf("ends after %s", got)
	}
	if strings.Contains(q.URL, secretKey) {
		t.Error("the secret is in the link")
	}
}

func TestLinksLeadToTheBucketAsClientsReachIt(t *testing.T) {
	credentials(t, accessKey, secretKey)
	up := announce(program)
	for address, want := range map[string]string{
		"s3://artifacts?region=eu-central-1":                                                        "https://artifacts.s3.eu-central-1.amazonaws.com/sha256/",
		"s3://artifacts/belfry/prod/?region=eu-central-1":                                           "https://artifacts.s3.eu-central-1.amazonaws.com/belfry/prod/sha256/",
		"s3://artifacts?region=eu-central-1&path_style=true":                                        "https://s3.eu-central-1.amazonaws.com/artifacts/sha256/",
		"s3://artifacts?endpoint=http://minio:9000":                                                 "http://minio:9000/artifacts/sha256/",
		"s3://artifacts?endpoint=http://minio:9000&path_style=false":                                "http://artifacts.minio:9000/sha256/",
		"s3://artifacts/x?endpoint=http://minio:9000&public_endpoint=https://s3.example.org":        "https://s3.example.org/artifacts/x/sha256/",
		"s3://artifacts?region=eu-central-1&public_endpoint=https%3A%2F%2Fs3.example.org%2Fthrough": "https://artifacts.s3.example.org/through/sha256/",
	} {
		st := openBucket(t, address)
		put, err := st.SignPut(t.Context(), up, time.Hour)
		must(t, err)
		get, err := st.SignGet(t.Context(), up.Digest, time.Hour)
		must(t, err)
		if put.Method != http.MethodPut || get.Method != http.MethodGet || len(get.Headers) != 0 {
			t.Errorf("%+v %+v", put, get)
		}
		if origin, err := st.(*blob.Bucket).Origin(t.Context()); err != nil || !strings.HasPrefix(want, origin+"/") {
			t.Errorf("%s: its origin is %q, %v", address, origin, err)
		}
		for _, q := range []blob.SignedRequest{put, get} {
			if !strings.HasPrefix(q.URL, want+up.Digest+"?") {
				t.Errorf("%s: %s, want %s", address, q.URL, want)
			}
		}
	}
}

func TestABucketWithoutCredentialsSaysSo(t *testing.T) {
	credentials(t, "", "")
	st := openBucket(t, "s3://artifacts?region=eu-central-1")
	_, err := st.SignPut(t.Context(), announce(program), time.Hour)
	wantCode(t, err, core.Unavailable)
	if !strings.Contains(err.Error(), "credentials") {
		t.Error(err)
	}
}

func TestAServiceThatIsAwaySaysNoSecret(t *testing.T) {
	credentials(t, accessKey, secretKey)
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	gone := newServer(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	st := openBucket(t, "s3://artifacts?endpoint="+gone)
	up := announce(program)
	_, stat := st.Stat(t.Context(), up.Digest)
	_, list := st.List(t.Context(), "", 1)
	for _, err := range []error{stat, list, st.Check(t.Context()), st.Delete(t.Context(), up.Digest), st.Put(t.Context(), up, bytes.NewReader(program))} {
		wantCode(t, err, core.Unavailable)
		if !strings.Contains(err.Error(), "the network") { // each has a hint
			t.Errorf("no way out: %v", err)
		}
		for _, secret := range []string{accessKey, secretKey, "Signature", gone} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%q is in: %v", secret, err)
			}
		}
	}
}

func TestAddressesThatAreRefused(t *testing.T) {
	credentials(t, accessKey, secretKey)
	for _, address := range []string{
		"", "/var/lib", "file:/x", "folder:", "s3:", "s3:bucket", "s3://", "s3://ab?region=x", "s3://b_\u00e9t?region=x",
		"s3://KEYID:hunter2@bucket?region=x", "s3://bucket", "s3://bucket?region=x&region=y", "s3://bucket?region=x&secret=hunter2",
		"s3://bucket?region=x&path_style=perhaps", "s3://bucket/../x?region=x", "s3://bucket/a//b?region=x", "s3://bucket/a%0ab?region=x",
		"s3://bucket?endpoint=minio:9000", "s3://bucket?endpoint=ftp://minio", "s3://bucket?endpoint=http://KEYID:hunter2@minio",
		"s3://bucket?endpoint=http://minio&public_endpoint=https://x?hunter2", "s3://bucket?region=x;hunter2", "s3://bucket?region=x#hunter2",
	} {
		st, err := blob.Open(t.Context(), address, blob.Options{})
		if core.CodeOf(err) != core.Invalid || st != nil {
			t.Errorf("%q: %v, %v", address, st, err)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("a secret is in: %v", err)
		}
	}
	for _, o := range []blob.Options{{MaxSize: -1}, {URL: "https://KEYID:hunter2@x"}, {URL: "https://x/?hunter2"}} {
		if _, err := blob.OpenFolder(t.TempDir(), o); core.CodeOf(err) != core.Invalid || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := blob.Open(t.Context(), "s3://bucket?region=x", blob.Options{MaxSize: 6 << 30}); core.CodeOf(err) != core.Invalid {
		t.Error(err)
	}
}

// TestBucketThatNeverAnswers is one whose service takes the connection: each
// question ends by itself, says so, and lets go of its socket.
func TestBucketThatNeverAnswers(t *testing.T) {
	credentials(t, accessKey, secretKey)
	service := hostile.Serve(t, hostile.HTTP[0])
	bucket, is := openBucket(t, "s3://artifacts?endpoint=http://"+service.Address).(*blob.Bucket)
	if !is {
		t.Fatal("this is no bucket")
	}
	bucket.Hurry(300 * time.Millisecond)
	ctx, digest := t.Context(), announce(program).Digest
	_, stat := bucket.Stat(ctx, digest)
	_, list := bucket.List(ctx, "", 10)
	for what, err := range map[string]error{"stat": stat, "list": list, "delete": bucket.Delete(ctx, digest), "check": bucket.Check(ctx)} {
		if core.CodeOf(err) != core.Unavailable || !strings.Contains(err.Error(), "did not answer within 300ms") {
			t.Errorf("%s: %v", what, err)
		}
	}
	service.Closed(t, "bucket")
}

// A node whose own clock is wrong signs links that are valid now.
func TestBucketLinksAreOfTheClockOfTheOptions(t *testing.T) {
	credentials(t, accessKey, secretKey)
	now := time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)
	st, err := blob.Open(t.Context(), "s3://artifacts?region=eu-central-1", blob.Options{Now: func() time.Time { return now }})
	must(t, err)
	t.Cleanup(func() { must(t, st.Close()) })
	put, err := st.SignPut(t.Context(), announce(program), time.Hour)
	must(t, err)
	get, err := st.SignGet(t.Context(), announce(program).Digest, time.Hour)
	must(t, err)
	for _, q := range []blob.SignedRequest{put, get} {
		u, err := url.Parse(q.URL)
		must(t, err)
		if at, lasts := u.Query().Get("X-Amz-Date"), u.Query().Get("X-Amz-Expires"); at != "20310203T040506Z" || lasts != "3600" || !q.Expires.Equal(now.Add(time.Hour)) {
			t.Errorf("%s: signed at %s for %s s, until %s", q.Method, at, lasts, q.Expires)
		}
	}
}
