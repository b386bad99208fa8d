package blob

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/belfry-run/belfry/core"
)

// A part is a store below the address of another. Parts share no bytes: bytes
// that are sent to one part do not exist in another. So the part of one owner
// reveals nothing to other owners.

// Part returns the address of a part. [core.ValidName] must accept its name.
func Part(address, name string) (string, error) {
	if err := core.ValidName("part", name); err != nil {
		return "", err
	}
	kind, rest, _ := strings.Cut(address, ":")
	switch kind {
	case "folder":
		return "folder:" + filepath.Join(rest, partFile(name)), nil
	case "s3":
		path, query, asked := strings.Cut(rest, "?")
		address = "s3:" + strings.TrimRight(path, "/") + "/" + partFile(name)
		if asked {
			address += "?" + query
		}
		return address, nil
	}
	return "", core.InvalidField("artifacts", "", "the address names neither a folder nor a bucket", addressHint)
}

// Parts returns the names of the existing parts, in the order of their
// addresses.
func Parts(ctx context.Context, address string) ([]string, error) {
	kind, rest, _ := strings.Cut(address, ":")
	switch kind {
	case "folder":
		return folderParts(rest)
	case "s3":
		place, err := parsePlace(rest)
		if err != nil {
			return nil, err
		}
		b, err := OpenBucket(ctx, place, Options{})
		if err != nil {
			return nil, err
		}
		defer func() { _ = b.Close() }() // closes idle connections
		return b.parts(ctx)
	}
	return nil, core.InvalidField("artifacts", "", "the address names neither a folder nor a bucket", addressHint)
}

func folderParts(path string) (names []string, err error) {
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if name, is := partName(e.Name()); is && e.IsDir() {
			names = append(names, name)
		}
	}
	return names, err
}

func (b *Bucket) parts(ctx context.Context) (names []string, err error) {
	prefix := b.place.Prefix
	if prefix != "" {
		prefix += "/"
	}
	pages := s3.NewListObjectsV2Paginator(b.client, &s3.ListObjectsV2Input{Bucket: &b.place.Bucket, Prefix: &prefix, Delimiter: aws.String("/")})
	for pages.HasMorePages() {
		page, err := b.page(ctx, "list namespaces of artifacts", pages)
		if err != nil {
			return nil, err
		}
		for _, p := range page.CommonPrefixes {
			file := strings.TrimSuffix(strings.TrimPrefix(aws.ToString(p.Prefix), prefix), "/")
			if name, is := partName(file); is {
				names = append(names, name)
			}
		}
	}
	return names, nil
}

// partFile writes a capital letter as = and the small letter: a disk may ignore
// case.
func partFile(name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		if 'A' <= c && c <= 'Z' {
			b.WriteByte('=')
			c += 'a' - 'A'
		}
		b.WriteByte(c)
	}
	return b.String()
}

// partName reverses partFile.
func partName(file string) (name string, is bool) {
	var b strings.Builder
	for i := 0; i < len(file); i++ {
		c := file[i]
		if c == '=' && i+1 < len(file) {
			i++
			c = file[i] - ('a' - 'A')
		}
		b.WriteByte(c)
	}
	name = b.String()
	return name, core.ValidName("part", name) == nil && partFile(name) == file
}
