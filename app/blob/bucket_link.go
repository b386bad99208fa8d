package blob

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/belfry-run/belfry/task"
)

// linker signs links that are valid from now on, by the clock of the options: with one that is behind, the SDK would sign links
// that have ended.
func linker(c *s3.Client, now func() time.Time) *s3.PresignClient {
	return s3.NewPresignClient(c, func(o *s3.PresignOptions) {
		o.Presigner = presigner{v4.NewSigner(func(s *v4.SignerOptions) { s.DisableURIPathEscaping = true }), now} // as S3 wants it
	})
}

type presigner struct {
	*v4.Signer
	now func() time.Time
}

func (p presigner) PresignHTTP(ctx context.Context, by aws.Credentials, r *http.Request, payload, service, region string, _ time.Time, options ...func(*v4.SignerOptions)) (string, http.Header, error) {
	return p.Signer.PresignHTTP(ctx, by, r, payload, service, region, p.now(), options...)
}

// SignPut returns a link for these bytes. Length, checksum and If-None-Match are
// signed headers: a request without them, or with other values, is refused.
// Older versions of the SDK moved the checksum to the query, where AWS accepts
// it without a comparison (aws/aws-sdk-go-v2#2610); a test guards against that.
func (b *Bucket) SignPut(ctx context.Context, up Upload, expires time.Duration) (SignedRequest, error) {
	if err := cmp.Or(checkUpload(up, b.options.MaxSize), checkExpires(expires)); err != nil {
		return SignedRequest{}, err
	}
	return b.signPut(ctx, b.public, up, expires)
}

func (b *Bucket) signPut(ctx context.Context, by *s3.PresignClient, up Upload, expires time.Duration) (SignedRequest, error) {
	until := b.options.Now().Add(expires)
	signed, err := by.PresignPutObject(ctx, &s3.PutObjectInput{
		Bucket: &b.place.Bucket, Key: b.key(up.Digest), ContentLength: &up.Size,
		ChecksumSHA256: aws.String(checksum(up.Digest)), IfNoneMatch: aws.String("*"),
	}, s3.WithPresignExpires(expires))
	if err != nil {
		return SignedRequest{}, b.fault("sign a link", "", err)
	}
	q := linkOf(signed, until)
	// The signature does not cover a length of 0; the checksum implies it.
	q.Headers["Content-Length"] = strconv.FormatInt(up.Size, 10)
	return q, nil
}

// SignGet returns a link to the artifact.
func (b *Bucket) SignGet(ctx context.Context, digest string, expires time.Duration) (SignedRequest, error) {
	if err := cmp.Or(task.CheckDigest(digest), checkExpires(expires)); err != nil {
		return SignedRequest{}, err
	}
	until := b.options.Now().Add(expires)
	signed, err := b.public.PresignGetObject(ctx, &s3.GetObjectInput{
		Bucket: &b.place.Bucket, Key: b.key(digest),
	}, s3.WithPresignExpires(expires))
	if err != nil {
		return SignedRequest{}, b.fault("sign a link", "", err)
	}
	return linkOf(signed, until), nil
}

// Origin returns the scheme and host of links, for the content security policy
// of pages. It needs no credentials.
func (b *Bucket) Origin(ctx context.Context) (string, error) {
	o := b.outside.Options()
	to, err := o.EndpointResolverV2.ResolveEndpoint(ctx, s3.EndpointParameters{
		Bucket: &b.place.Bucket, Region: &o.Region, Endpoint: o.BaseEndpoint, ForcePathStyle: &o.UsePathStyle,
	}.WithDefaults())
	if err != nil {
		return "", b.fault("find the address of the bucket", "", err)
	}
	return to.URI.Scheme + "://" + to.URI.Host, nil
}

// linkOf converts a signed request, without the header Host, which every client sends by itself.
func linkOf(signed *v4.PresignedHTTPRequest, until time.Time) SignedRequest {
	q := SignedRequest{Method: signed.Method, URL: signed.URL, Headers: make(map[string]string), Expires: until.Truncate(time.Second)}
	for name := range signed.SignedHeader {
		if name = http.CanonicalHeaderKey(name); name != "Host" {
			q.Headers[name] = signed.SignedHeader.Get(name)
		}
	}
	return q
}
