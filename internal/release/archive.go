package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"time"
)

// file is a file of an archive.
type file struct {
	name    string
	mode    fs.FileMode
	content []byte
}

// tarGz writes files below a folder, without a particular owner.
func tarGz(w io.Writer, folder string, files []file, at time.Time) error {
	zw, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	tw := tar.NewWriter(zw)
	for _, f := range files {
		header := tar.Header{Name: folder + "/" + f.name, Mode: int64(f.mode), Size: int64(len(f.content)), ModTime: at, Format: tar.FormatPAX}
		if err := tw.WriteHeader(&header); err != nil {
			return err
		}
		if _, err := tw.Write(f.content); err != nil {
			return err
		}
	}
	return errors.Join(tw.Close(), zw.Close())
}

func zipped(w io.Writer, folder string, files []file, at time.Time) error {
	zw := zip.NewWriter(w)
	for _, f := range files {
		header := zip.FileHeader{Name: folder + "/" + f.name, Method: zip.Deflate, Modified: at}
		header.SetMode(f.mode)
		entry, err := zw.CreateHeader(&header)
		if err != nil {
			return err
		}
		if _, err := entry.Write(f.content); err != nil {
			return err
		}
	}
	return zw.Close()
}
