package s3test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/belfry-run/belfry/app/blob"
	"github.com/belfry-run/belfry/app/blob/blobtest"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/signed"
)

func TestBucket(t *testing.T) {
	t.Parallel()
	for name, prefix := range map[string]string{"whole bucket": "", "prefix": "/belfry/prod"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			blobtest.Run(t, func(t *testing.T) blob.Store { return open(t, newBucket(t)+prefix, "") })
		})
	}
}

func open(t *testing.T, place, options string) blob.Store {
	t.Helper()
	address := "s3://" + place + "?region=" + region + "&endpoint=" + gateway.endpoint + options
	st, err := blob.Open(t.Context(), address, blob.Options{MaxSize: blobtest.MaxSize})
	must(t, err)
	return st
}

// Short names of helpers that the suite shares.
var (
	must     = blobtest.Must
	wantCode = blobtest.WantCode
	announce = blobtest.Announce
	program  = blobtest.Program
)

// strangerPuts writes an object as somebody else would, without a checksum of
// our kind.
func strangerPuts(t *testing.T, bucket, key string, body []byte) {
	t.Helper()
	_, err := gateway.client.PutObject(t.Context(), &s3.PutObjectInput{
		Bucket: &bucket, Key: &key, Body: bytes.NewReader(body), ChecksumAlgorithm: types.ChecksumAlgorithmCrc32,
	})
	must(t, err)
}

func TestLinksLeadThroughThePublicEndpoint(t *testing.T) {
	t.Parallel()
	public := strings.Replace(gateway.endpoint, "127.0.0.1", "localhost", 1)
	st := open(t, newBucket(t), "&public_endpoint="+public)
	up := announce(program)
	to, err := st.SignPut(t.Context(), up, time.Minute)
	must(t, err)
	if !strings.HasPrefix(to.URL, public+"/") {
		t.Fatal(to.URL)
	}
	must(t, signed.Send(t.Context(), http.DefaultClient, to, bytes.NewReader(program)))
	must(t, blob.Verify(t.Context(), st, up))
	to.URL = strings.Replace(to.URL, public, gateway.endpoint, 1) // the host is signed
	wantCode(t, signed.Send(t.Context(), http.DefaultClient, to, bytes.NewReader(program)), core.Forbidden)

	// Belfry itself does not go through it: here nobody could.
	st = open(t, newBucket(t), "&public_endpoint=http://127.0.0.1:1")
	must(t, st.Put(t.Context(), up, bytes.NewReader(program)))
	must(t, blob.Verify(t.Context(), st, up))
}

func TestKeysOfOthersArePassedOver(t *testing.T) {
	t.Parallel()
	bucket := newBucket(t)
	st := open(t, bucket+"/belfry", "")
	up := announce(program)
	must(t, st.Put(t.Context(), up, bytes.NewReader(program)))
	for _, key := range []string{"belfry/sha256/0000-notes", "belfry/sha256/zz", "belfry/sha256x", "belfry/sha256/" + up.Digest + ".bak", "sha256/" + up.Digest, "other"} {
		strangerPuts(t, bucket, key, program)
	}
	for _, n := range []int{1, 2, blob.MaxList} {
		all, err := st.List(t.Context(), "", n)
		must(t, err)
		if len(all) != 1 || all[0].Digest != up.Digest || all[0].Size != up.Size {
			t.Errorf("by %d: %+v", n, all)
		}
	}
}

func TestUploadsWithoutAServiceChecksumAreRead(t *testing.T) {
	t.Parallel()
	bucket := newBucket(t)
	st := open(t, bucket, "")
	up := announce(program)
	for _, c := range []struct {
		body []byte
		want core.Code
	}{
		{program, ""},
		{bytes.Repeat([]byte("x"), len(program)), core.Conflict},
		{program[1:], core.Conflict},
	} {
		strangerPuts(t, bucket, "sha256/"+up.Digest, c.body)
		info, err := st.Stat(t.Context(), up.Digest)
		must(t, err)
		if info.Verified {
			t.Error("nobody compared it")
		}
		wantCode(t, blob.Verify(t.Context(), st, up), c.want)
	}
	wantCode(t, st.Put(t.Context(), up, bytes.NewReader(program)), core.Conflict)
}

func TestABucketThatIsNotThereSaysSo(t *testing.T) {
	t.Parallel()
	st := open(t, "nowhere", "")
	up := announce(program)
	_, list := st.List(t.Context(), "", 1)
	_, read := st.Open(t.Context(), up.Digest)
	for _, err := range []error{st.Check(t.Context()), list, read, st.Put(t.Context(), up, bytes.NewReader(program))} {
		wantCode(t, err, core.Unavailable)
	}
}

// TestCredentialsThatAreRefused is not parallel: they are the process's.
func TestCredentialsThatAreRefused(t *testing.T) {
	bucket := newBucket(t)
	t.Setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
	st := open(t, bucket, "")
	up := announce(program)
	_, stat := st.Stat(t.Context(), up.Digest)
	_, list := st.List(t.Context(), "", 1)
	for _, err := range []error{stat, list, st.Check(t.Context()), st.Delete(t.Context(), up.Digest), st.Put(t.Context(), up, bytes.NewReader(program))} {
		wantCode(t, err, core.Unavailable)
		for _, secret := range []string{"hunter2", accessKey, "X-Amz", gateway.endpoint} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%q is in: %v", secret, err)
			}
		}
	}
	objects, err := gateway.client.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: aws.String(bucket)})
	must(t, err)
	if len(objects.Contents) != 0 {
		t.Error("something was written")
	}
}
