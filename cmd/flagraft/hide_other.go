//go:build !linux

package main

func blot(string) {}

func keepFilesPrivate() {}
