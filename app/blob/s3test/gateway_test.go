// Package s3test runs the conformance suite of artifact stores against
// versitygw, a whole S3 server, in this process. It compares checksums and
// lengths, honours If-None-Match and checks every signature.
package s3test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
)

const (
	accessKey = "belfry-test"
	secretKey = "belfry-test-secret"
	region    = "eu-central-1"
)

// gateway is the one server of this process: versitygw has globals.
var gateway struct {
	endpoint string
	client   *s3.Client
	buckets  atomic.Int32
}

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	folder, err := os.MkdirTemp("", "belfry-s3-")
	if err != nil {
		return complain(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stopped, err := start(ctx, folder)
	if err != nil {
		return complain(err)
	}
	// The credentials come as an operator gives them, and from nowhere else.
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": accessKey, "AWS_SECRET_ACCESS_KEY": secretKey, "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
	} {
		if err := os.Setenv(name, value); err != nil {
			return complain(err)
		}
	}
	code := m.Run()
	cancel()
	if err := <-stopped; err != nil && !errors.Is(err, context.Canceled) {
		return complain(err)
	}
	return code
}

func complain(err error) int {
	fmt.Fprintln(os.Stderr, "S3 server of the tests:", err)
	return 1
}

// start returns when the server answers.
func start(ctx context.Context, folder string) (stopped <-chan error, err error) {
	objects, extra := filepath.Join(folder, "objects"), filepath.Join(folder, "extra")
	if err := errors.Join(os.Mkdir(objects, 0o700), os.Mkdir(extra, 0o700)); err != nil {
		return nil, err
	}
	// Beside the files, because not every disk has extended attributes.
	sidecar, err := meta.NewSideCar(extra)
	if err != nil {
		return nil, err
	}
	backend, err := posix.New(objects, sidecar, posix.PosixOpts{SideCarDir: extra})
	if err != nil {
		return nil, err
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	gateway.endpoint = "http://" + address
	gateway.client = s3.New(s3.Options{
		Region: region, BaseEndpoint: &gateway.endpoint, UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(accessKey, secretKey, ""),
	})
	ended := make(chan error, 1)
	go func() {
		ended <- embedgw.RunVersityGW(ctx, backend, &embedgw.Config{
			RootUserAccess: accessKey, RootUserSecret: secretKey, Region: region, Ports: []string{address},
			MaxConnections: 1000, MaxRequests: 1000, MultipartMaxParts: 100, KeepAlive: true, Quiet: true,
		})
	}()
	for ctx.Err() == nil {
		if _, err := gateway.client.ListBuckets(ctx, &s3.ListBucketsInput{}); err == nil {
			return ended, nil
		}
		select {
		case err := <-ended:
			return nil, err
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil, ctx.Err()
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// newBucket makes an empty bucket.
func newBucket(t *testing.T) (name string) {
	t.Helper()
	name = fmt.Sprintf("artifacts-%d", gateway.buckets.Add(1))
	if _, err := gateway.client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String(name)}); err != nil {
		t.Fatal(err)
	}
	return name
}
