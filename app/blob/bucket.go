package blob

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/belfry-run/belfry/app/internal/awsfault"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/exchange"
	"github.com/belfry-run/belfry/internal/signed"
	"github.com/belfry-run/belfry/task"
)

// Bucket stores artifacts in an S3 service, under prefix/sha256/digest.
type Bucket struct {
	place   Place
	options Options
	client  *s3.Client
	inner   *s3.PresignClient // links for Belfry itself
	public  *s3.PresignClient // links for clients
	outside *s3.Client        // with the options of public
	sender  *http.Client
	within  time.Duration // askWithin
}

var _ Store = (*Bucket)(nil)

// maxPut is the maximum size of one PUT to S3.
const maxPut = 5 << 30

// OpenBucket finds the credentials and the region. It does not call the service,
// so that a node starts while the service is down: see [Bucket.Check].
func OpenBucket(ctx context.Context, place Place, o Options) (*Bucket, error) {
	o, err := o.filled()
	if err != nil {
		return nil, err
	}
	if err := place.check(); err != nil {
		return nil, err
	}
	if o.MaxSize > maxPut {
		return nil, core.InvalidField("max_size", fmt.Sprint(o.MaxSize), "is more than S3 takes in one request", "at most 5 GiB")
	}
	settings, err := awsconfig.LoadDefaultConfig(ctx, func(l *awsconfig.LoadOptions) error {
		l.Region = place.Region
		return nil
	})
	if err != nil {
		return nil, core.Errorf(core.Invalid, "the settings of the AWS tools cannot be read: %w", err)
	}
	if settings.Region == "" && place.Endpoint != "" {
		settings.Region = "us-east-1" // the default of services other than AWS
	}
	if settings.Region == "" {
		return nil, badPlace("names no region, and the AWS tools have none set")
	}
	if settings.HTTPClient == nil {
		settings.HTTPClient = awshttp.NewBuildableClient()
	}
	carrier := awsfault.Carrier(settings)
	settings.HTTPClient = bounded{settings.HTTPClient}
	client := s3.NewFromConfig(settings, func(so *s3.Options) { place.apply(so, place.Endpoint) })
	outside := s3.NewFromConfig(settings, func(so *s3.Options) {
		place.apply(so, cmp.Or(place.PublicEndpoint, place.Endpoint))
	})
	return &Bucket{
		place: place, options: o, client: client,
		inner: linker(client, o.Now), public: linker(outside, o.Now), outside: outside, sender: signed.Client(carrier), within: askWithin,
	}, nil
}

// apply sets the options of S3. Checksums are sent only where required: default
// checksums break services other than AWS. Belfry's own checksum is always required.
func (p Place) apply(o *s3.Options, endpoint string) {
	o.UsePathStyle = p.PathStyle
	o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
	o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	if endpoint != "" {
		o.BaseEndpoint = &endpoint
	}
}

// askWithin limits one call to the service, with the retries of the AWS SDK.
// Transfers of bytes have only the deadline of the caller.
const askWithin = time.Minute

// ask calls the service within askWithin, and translates its error.
func (b *Bucket) ask(ctx context.Context, doing, digest string, how func(context.Context) error) error {
	asking, cancel := context.WithTimeout(ctx, b.within)
	defer cancel()
	var last lastTry
	err := how(context.WithValue(asking, lastTry{}, &last))
	if errors.Is(err, context.DeadlineExceeded) && last.err != nil { // the time ended between two tries
		return b.fault(doing, digest, last.err)
	}
	if err != nil && ctx.Err() == nil && asking.Err() != nil {
		return core.Errorf(core.Unavailable, "%s: the service did not answer within %s", doing, core.Duration(b.within)).WithHint(bucketHint)
	}
	return b.fault(doing, digest, err)
}

// bounded is an HTTP client for the AWS SDK whose calls end with their context.
type bounded struct{ aws.HTTPClient }

// lastTry has the error of the last of several tries of a call, unless the end of the call ended it.
type lastTry struct{ err error }

// Do implements [aws.HTTPClient].
func (b bounded) Do(r *http.Request) (*http.Response, error) {
	answer, err := exchange.RoundTrip(b, r)
	if last, is := r.Context().Value(lastTry{}).(*lastTry); is && r.Context().Err() == nil {
		last.err = err
	}
	return answer, err
}

// RoundTrip sends a request with the inner client.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) { return b.HTTPClient.Do(r) }

func (b *Bucket) key(digest string) *string { return aws.String(b.prefix() + digest) }

func (b *Bucket) prefix() string {
	if b.place.Prefix == "" {
		return shardRoot + "/"
	}
	return b.place.Prefix + "/" + shardRoot + "/"
}

// Stat returns the metadata of an artifact. It is Verified only if the SHA-256
// of the service equals the digest.
func (b *Bucket) Stat(ctx context.Context, digest string) (Info, error) {
	if err := task.CheckDigest(digest); err != nil {
		return Info{}, err
	}
	var head *s3.HeadObjectOutput
	err := b.ask(ctx, "look for artifact "+digest, digest, func(ctx context.Context) (err error) {
		head, err = b.client.HeadObject(ctx, &s3.HeadObjectInput{
			Bucket: &b.place.Bucket, Key: b.key(digest), ChecksumMode: types.ChecksumModeEnabled,
		})
		return err
	})
	if err != nil {
		return Info{}, err
	}
	return Info{
		Digest: digest, Size: aws.ToInt64(head.ContentLength), Changed: aws.ToTime(head.LastModified),
		Verified: aws.ToString(head.ChecksumSHA256) == checksum(digest),
	}, nil
}

// checksum returns a digest in the notation of S3.
func checksum(digest string) string {
	sum, _ := hex.DecodeString(digest) // the digest was checked before
	return base64.StdEncoding.EncodeToString(sum)
}

// Open reads an artifact.
func (b *Bucket) Open(ctx context.Context, digest string) (io.ReadCloser, error) {
	if err := task.CheckDigest(digest); err != nil {
		return nil, err
	}
	object, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.place.Bucket, Key: b.key(digest)})
	if err != nil {
		return nil, b.fault("read artifact "+digest, digest, err)
	}
	return object.Body, nil
}

// putExpires is the life of the link of a Put: the service must begin to read
// within it.
const putExpires = 15 * time.Minute

// Put sends the bytes of r through a link, like a client: the service makes the
// same checks, and r is read only once.
func (b *Bucket) Put(ctx context.Context, up Upload, r io.Reader) error {
	if err := checkUpload(up, b.options.MaxSize); err != nil {
		return err
	}
	if info, err := b.Stat(ctx, up.Digest); err == nil {
		if info.Size != up.Size { // another upload left wrong bytes, which must be deleted first
			return notThese("the bucket holds %d bytes under the digest of %d", info.Size, up.Size)
		}
		return nil
	}
	to, err := b.signPut(ctx, b.inner, up, putExpires)
	if err != nil {
		return err
	}
	body := newExact(ctx, r, up)
	if up.Size == 0 { // without a body, exact cannot refuse it
		if _, err := io.Copy(io.Discard, body); err != nil {
			return err
		}
	}
	err = signed.Send(ctx, b.sender, to, body)
	if signed.IsUntrusted(err) {
		return core.Errorf(core.Unavailable, "the artifact cannot be kept: %w", err).WithHint(reachHint)
	}
	switch core.CodeOf(err) {
	case core.Forbidden, core.NotFound: // not a fault of the caller
		return core.Errorf(core.Unavailable, "the artifact cannot be kept: %w", err).WithHint(bucketHint)
	}
	return err
}

// Delete deletes an artifact. A bucket with versioning keeps the old version.
func (b *Bucket) Delete(ctx context.Context, digest string) error {
	if err := task.CheckDigest(digest); err != nil {
		return err
	}
	err := b.ask(ctx, "remove artifact "+digest, digest, func(ctx context.Context) error {
		_, err := b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.place.Bucket, Key: b.key(digest)})
		return err
	})
	if core.CodeOf(err) == core.NotFound {
		return nil
	}
	return err
}

// List returns artifacts in the order of their digests. It skips keys that are
// not artifacts.
func (b *Bucket) List(ctx context.Context, after string, n int) ([]Info, error) {
	if err := checkPage(after, n); err != nil {
		return nil, err
	}
	prefix := b.prefix()
	pages := s3.NewListObjectsV2Paginator(b.client, &s3.ListObjectsV2Input{
		Bucket: &b.place.Bucket, Prefix: &prefix, StartAfter: aws.String(prefix + after),
		MaxKeys: aws.Int32(int32(n)),
	})
	var found []Info
	for pages.HasMorePages() && len(found) < n {
		page, err := b.page(ctx, "list artifacts", pages)
		if err != nil {
			return nil, err
		}
		for _, object := range page.Contents {
			digest := aws.ToString(object.Key)[len(prefix):]
			if task.IsDigest(digest) && len(found) < n {
				found = append(found, Info{Digest: digest, Size: aws.ToInt64(object.Size), Changed: aws.ToTime(object.LastModified)})
			}
		}
	}
	return found, nil
}

// page returns the next page of a list.
func (b *Bucket) page(ctx context.Context, doing string, pages *s3.ListObjectsV2Paginator) (page *s3.ListObjectsV2Output, err error) {
	err = b.ask(ctx, doing, "", func(ctx context.Context) error {
		page, err = pages.NextPage(ctx)
		return err
	})
	return page, err
}

// Check checks that the bucket can be reached.
func (b *Bucket) Check(ctx context.Context) error {
	return b.ask(ctx, "look for bucket "+b.place.Bucket, "", func(ctx context.Context) error {
		_, err := b.client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &b.place.Bucket})
		return err
	})
}

// Close closes idle connections.
func (b *Bucket) Close() error {
	b.sender.CloseIdleConnections()
	return nil
}
