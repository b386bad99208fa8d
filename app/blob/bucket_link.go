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

// SignPut makes a link for these bytes. Length, checksum and If-None-Match are
// headers of it: a request without them, or with others, is refused. Older
// versions of the SDK moved the checksum to the query, where AWS accepts it and
// does not compare it (aws/aws-sdk-go-v2#2610); a test watches over that.
func (b *Bucket) SignPut(ctx context.Context, up Upload, expires time.Duration) (SignedRequest, error) {
	if err := cmp.Or(checkUpload(up, b.options.MaxSize), checkExpires(expires)); err != nil {
		return SignedRequest{}, err
	}
	return b.signPut(ctx, b.public, up, expires)
}

func (b *Bucket) signPut(ctx context.Context, by *s3.PresignClient, up Upload, expires time.Duration) (SignedRequest, error) {
	until := time.Now().Add(expires)
	signed, err := by.PresignPutObject(ctx, &s3.PutObjectInput{
		Bucket: &b.place.Bucket, Key: b.key(up.Digest), ContentLength: &up.Size,
		ChecksumSHA256: aws.String(checksum(up.Digest)), IfNoneMatch: aws.String("*"),
	}, s3.WithPresignExpires(expires))
	if err != nil {
		return SignedRequest{}, b.fault("sign a link", "", err)
	}
	q := linkOf(signed, until)
	// The signature leaves out a length of nothing; the checksum says as much.
	q.Headers["Content-Length"] = strconv.FormatInt(up.Size, 10)
	return q, nil
}

// SignGet makes a link that gives the artifact.
func (b *Bucket) SignGet(ctx context.Context, digest string, expires time.Duration) (SignedRequest, error) {
	if err := cmp.Or(task.CheckDigest(digest), checkExpires(expires)); err != nil {
		return SignedRequest{}, err
	}
	until := time.Now().Add(expires)
	signed, err := b.public.PresignGetObject(ctx, &s3.GetObjectInput{
		Bucket: &b.place.Bucket, Key: b.key(digest),
	}, s3.WithPresignExpires(expires))
	if err != nil {
		return SignedRequest{}, b.fault("sign a link", "", err)
	}
	return linkOf(signed, until), nil
}

// Origin is the scheme and host that links lead to, for pages that must say
// beforehand where they may send something. It takes no credentials.
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

// linkOf leaves out the host, which every client sends by itself.
func linkOf(signed *v4.PresignedHTTPRequest, until time.Time) SignedRequest {
	q := SignedRequest{Method: signed.Method, URL: signed.URL, Headers: make(map[string]string), Expires: until.Truncate(time.Second)}
	for name := range signed.SignedHeader {
		if name = http.CanonicalHeaderKey(name); name != "Host" {
			q.Headers[name] = signed.SignedHeader.Get(name)
		}
	}
	return q
}
