package main

import (
	"syscall"
	"unsafe"
)

// blot overwrites a part of an argument where the kernel shows it: the strings
// of os.Args are that very memory, which is the process's own to write.
func blot(part string) {
	b := unsafe.Slice(unsafe.StringData(part), len(part))
	for i := range b {
		b[i] = '*'
	}
}

// keepFilesPrivate makes new files this user's alone; Raft's snapshots would be readable by all.
func keepFilesPrivate() { syscall.Umask(0o077) }
