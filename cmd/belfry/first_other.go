//go:build !linux

package main

func runAsFirst() {}
